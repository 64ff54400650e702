/**
 * The model of this example: a function of the conversation that takes the next step of the review, or a real model that
 * `CAIRN_MODEL` names, such as `anthropic:claude-opus-4-5`.
 */
import { type Conversation, type ModelChoice, type ScriptedReply, scriptedModel } from "cairn-run";
import { SUBJECTS, type Task, task as assignment } from "./assignment.ts";
import { chapterOf } from "./chapter.ts";
import { type Earlier, closingOf, openingOf } from "./ends.ts";
import { type Found, PHRASES, likeness, sayingOf, subjectOf } from "./extract.ts";
import { earlierIn, notesIn } from "./notes.ts";
import { type Fetched, type Progress, type Reading, nameOf, progressOf, summaryOf } from "./progress.ts";

const real = process.env.CAIRN_MODEL;

export const model: ModelChoice = real ?? scriptedModel({ name: "researcher-model", reply });

/** Dollars per million tokens of the scripted model. A real one has its own. */
export const price = real === undefined ? { inUsd: 3, outUsd: 15 } : undefined;

/** A cheaper model writes the summaries of the context: `CAIRN_SUMMARY_MODEL`, or the same one if that is not set. */
export const summaries =
  real === undefined
    ? { model: scriptedModel({ name: "researcher-summaries", reply }), price: { inUsd: 1, outUsd: 5 } }
    : (process.env.CAIRN_SUMMARY_MODEL ?? real);

/** How many subjects it searches in one reply. */
const SEARCHES = 4;

type Call = NonNullable<ScriptedReply["calls"]>[number];

function reply(conversation: Conversation): ScriptedReply {
  const task = assignment.parse(conversation.task.json);
  const progress = progressOf(conversation, task.papersMax);
  if (isAskedForSummary(conversation)) return { text: summaryOf(progress) };
  const calls = nextCalls(task, progress, earlierIn(conversation.instructions));
  return calls.length > 0 ? { calls } : { text: "The review is submitted." };
}

const isAskedForSummary = ({ messages }: Conversation): boolean => {
  const last = messages.at(-1);
  return last?.role === "user" && last.text.includes("Write a summary");
};

function nextCalls(task: Task, progress: Progress, earlier: readonly Earlier[]): readonly Call[] {
  const unsearched = task.subjects.filter((subject) => !progress.searched.has(subject));
  if (unsearched.length > 0) {
    return unsearched.slice(0, SEARCHES).map((subject) => ({ tool: "search", args: { subject } }));
  }
  if (progress.open.size > 0) return reading(task, progress);
  const unwritten = task.subjects.find((subject) => !progress.written.has(subject));
  if (unwritten !== undefined) return writing(unwritten, progress);
  if (progress.isSubmitted) return [];
  if (!progress.isChecked) return [{ tool: "checkSources", args: {} }];
  if (progress.chapters === null) return [{ tool: "readChapters", args: {} }];
  return [{ tool: "submitReview", args: review(task, progress.chapters, earlier) }];
}

/** Fetches the sections of the paper at hand and reads them, or notes it and fetches the next one. */
function reading({ subjects }: Task, progress: Progress): readonly Call[] {
  const [first, second] = [...progress.open];
  if (first === undefined) return [];
  const [paper, { title, sections }] = first;
  const unread = sections.filter((each) => !progress.found.has(nameOf(paper, each)));
  const unfetched = unread.filter((each) => !progress.fetched.has(nameOf(paper, each)));
  if (unfetched.length > 0) return fetching(paper, unfetched);
  if (unread.length > 0) {
    const fetched = unread.flatMap((each) => progress.fetched.get(nameOf(paper, each)) ?? []);
    return fetched.slice(0, SECTIONS).flatMap(readingRest);
  }
  const read = sections.map((each) => ({ ...each, found: progress.found.get(nameOf(paper, each)) ?? [] }));
  const note: Call = { tool: "keepNotes", args: { paper, sections: noted(read, { title, subjects }) } };
  return second === undefined ? [note] : [note, ...fetching(second[0], second[1].sections)];
}

const fetching = (paper: string, sections: readonly Reading[]): readonly Call[] =>
  sections.map((each) => ({ tool: "fetchSection", args: { paper, ...each } }));

/** How many sections it reads in one reply, and how many characters in one call. */
const SECTIONS = 2;
const CHARACTERS = 12_000;

/** Reads what was not read yet of a section. It has at most as many characters as bytes. */
function readingRest({ result, bytes, text }: Fetched): readonly Call[] {
  const calls = Math.max(1, Math.ceil((bytes - text.length) / CHARACTERS));
  return Array.from({ length: calls }, (_, at) => ({
    tool: "cairn_read",
    args: { result, offset: text.length + at * CHARACTERS, length: CHARACTERS },
  }));
}

/** The sentences that say something about a subject of the review. A reason belongs to the contradiction before it. */
function noted(
  read: readonly (Reading & { readonly found: readonly Found[] })[],
  { title, subjects }: { readonly title: string; readonly subjects: readonly string[] },
) {
  const field = [...subjects, ...SUBJECTS.filter((each) => subjects.every((own) => likeness(own, each) < ALIKE))];
  const said = read.flatMap(({ found }) => found.map(({ sentence }) => sayingOf(sentence)));
  const main = subjectOf(said.find((each) => each?.kind === "topic")?.main ?? title, field);
  return read.map(({ section, etag, found }) => {
    let disputed = main;
    const evidence = found.flatMap(({ paragraph, sentence }) => {
      const said = sayingOf(sentence);
      if (said?.kind === "contradiction") disputed = subjectOf(sentence, field);
      const subject = subjectFor(said?.kind ?? "none", { main, disputed, own: subjectOf(sentence, field) });
      return subject !== null && subjects.includes(subject) ? [{ subject, paragraph, sentence }] : [];
    });
    return { section, etag, evidence };
  });
}

/** Subjects that share so many words are one. */
const ALIKE = 0.3;

type Told = NonNullable<ReturnType<typeof sayingOf>>["kind"] | "none";

function subjectFor(kind: Told, of: Readonly<Record<"main" | "disputed" | "own", string | null>>): string | null {
  switch (kind) {
    case "none":
    case "topic":
      return null;
    case "sample":
    case "limit":
      return of.main;
    case "difference":
      return of.disputed;
    case "figure":
    case "finding":
    case "contradiction":
      return of.own;
  }
}

/** Reads the notes on a subject, then writes its chapter. */
function writing(subject: string, { lines }: Progress): readonly Call[] {
  const found = lines.get(subject);
  if (found === undefined) {
    return Object.values(PHRASES).map((phrases) => ({ tool: "findNotes", args: { subject, phrases } }));
  }
  return [{ tool: "writeChapter", args: { subject, ...chapterOf(notesIn(found)) } }];
}

function review({ question }: Task, chapters: NonNullable<Progress["chapters"]>, earlier: readonly Earlier[]) {
  return {
    title: question.replace(/[?.]$/, ""),
    opening: openingOf(question, chapters, earlier),
    closing: closingOf(chapters),
  };
}
