/**
 * What the conversation shows of the work so far. Calls that a compaction has replaced are read from the summary that
 * stands in their place: the scripted model knows what a real model would know, and nothing else.
 */
import { type Conversation } from "cairn-run";
import { z } from "zod";
import { chapter, noted } from "./desk.ts";
import { type Found, foundIn } from "./extract.ts";

/** A section with the etag of the version that is to be read. */
export interface Reading {
  readonly section: string;
  readonly etag: string;
}

/** A section that is fetched: what `cairn_read` calls it, and its beginning as far as it is read. */
export interface Fetched {
  readonly result: string;
  readonly bytes: number;
  readonly text: string;
}

export interface Progress {
  readonly searched: Set<string>;
  /** The papers that are still to be noted, with their sections, in the order in which they are read. */
  readonly open: Map<string, { readonly title: string; readonly sections: readonly Reading[] }>;
  /** The papers that are noted. */
  readonly noted: Set<string>;
  /** What is fetched, by `paper/section@etag`. */
  readonly fetched: Map<string, Fetched>;
  /** What was found in sections that are read and not noted yet, by `paper/section@etag`. */
  readonly found: Map<string, readonly Found[]>;
  /** Subjects whose chapter stands. */
  readonly written: Set<string>;
  /** Lines of notes by subject, since its chapter was last written. */
  readonly lines: Map<string, readonly string[]>;
  readonly chapters: readonly { readonly subject: string; readonly lead: string }[] | null;
  /** Whether no source has changed since it was noted, as far as the run has asked. */
  readonly isChecked: boolean;
  readonly isSubmitted: boolean;
}

const hit = z.object({ paper: z.string(), title: z.string(), sections: z.record(z.string(), z.string()) });
const source = z.object({ paper: z.string(), section: z.string(), etag: z.string() });
const changes = z.object({ changed: z.array(source.extend({ title: z.string() })) });
const bySubject = z.object({ subject: z.string() });
const read = z.object({ result: z.string() });
const part = z.object({ offset: z.int(), text: z.string(), next: z.int().nullable() });
const notes = z.object({ paper: z.string(), sections: z.array(noted) });
const leads = z.array(z.object({ subject: z.string(), lead: z.string() }));

export const nameOf = (paper: string, { section, etag }: Reading): string => `${paper}/${section}@${etag}`;

type Draft = { -readonly [Key in keyof Progress]: Progress[Key] };

export function progressOf({ messages, calls }: Conversation, papersMax: number): Progress {
  const summary = messages.findLast(({ text }) => text.includes(SUMMARY_BEGINS))?.text;
  const progress: Draft = {
    ...{ searched: new Set(), open: new Map(), noted: new Set(), fetched: new Map(), found: new Map() },
    ...{ written: new Set(), lines: new Map(), chapters: null, isChecked: false, isSubmitted: false },
  };
  if (summary !== undefined) addSummary(progress, summary);
  for (const call of calls) if (call.outcome === "succeeded") addCall(progress, call, papersMax);
  return progress;
}

type Call = Conversation["calls"][number];

function addCall(progress: Draft, { tool, args, result }: Call, papersMax: number): void {
  switch (tool) {
    case "search":
      progress.searched.add(bySubject.parse(args).subject);
      for (const { paper, title, sections } of z.array(hit).parse(result)) {
        if (progress.noted.has(paper) || progress.noted.size + progress.open.size >= papersMax) continue;
        if (progress.open.has(paper)) continue;
        progress.open.set(paper, {
          title,
          sections: Object.entries(sections).map(([section, etag]) => ({ section, etag })),
        });
      }
      return;
    case "fetchSection":
      addFetched(progress, nameOf(source.parse(args).paper, source.parse(args)), z.string().parse(result));
      return;
    case "cairn_read":
      addPart(progress, read.parse(args).result, part.parse(result));
      return;
    case "keepNotes": {
      const { paper, sections } = notes.parse(args);
      progress.open.delete(paper);
      progress.noted.add(paper);
      for (const section of sections) {
        progress.found.delete(nameOf(paper, section));
        // A chapter that was written before the note has to be written again.
        for (const { subject } of section.evidence) progress.written.delete(subject);
      }
      return;
    }
    case "findNotes": {
      const { subject } = bySubject.parse(args);
      progress.lines.set(subject, [...(progress.lines.get(subject) ?? []), ...z.array(z.string()).parse(result)]);
      return;
    }
    case "writeChapter":
      progress.written.add(chapter.parse(args).subject);
      progress.lines.delete(chapter.parse(args).subject);
      return;
    case "checkSources": {
      const { changed } = changes.parse(result);
      progress.isChecked = changed.length === 0;
      for (const { paper, title } of changed) {
        const sections = changed.filter((each) => each.paper === paper);
        progress.open.set(paper, { title, sections });
        progress.noted.delete(paper);
      }
      return;
    }
    case "readChapters":
      progress.chapters = leads.parse(result);
      return;
    case "submitReview":
      progress.isSubmitted = true;
      return;
    default:
  }
}

const LONG = /^This value has (\d+) bytes.*? its `result` is "([0-9a-f]+)"/s;

/** A section that is too long to show is named, and is read later. */
function addFetched(progress: Draft, name: string, shown: string): void {
  const [, bytes, result] = LONG.exec(shown) ?? [];
  if (result === undefined) progress.found.set(name, foundIn(shown));
  else progress.fetched.set(name, { result, bytes: Number(bytes), text: "" });
}

/** A part that follows what is read already. With the last one the section is read. */
function addPart(progress: Draft, result: string, { offset, text, next }: z.output<typeof part>): void {
  for (const [name, fetched] of progress.fetched) {
    if (fetched.result !== result || fetched.text.length !== offset) continue;
    progress.fetched.set(name, { ...fetched, text: fetched.text + text });
    if (next === null) progress.found.set(name, foundIn(fetched.text + text));
  }
}

const SUMMARY_BEGINS = "Where the review stands:";

/**
 * The summary that the model writes when its context is made shorter. What is kept at the desk is only named. A section
 * that is fetched has its name for `cairn_read`; one that is read has the sentences to note.
 */
export function summaryOf(progress: Progress): string {
  const { searched, open, noted: done, written, isChecked } = progress;
  return [
    SUMMARY_BEGINS,
    `Searched: ${[...searched].join("; ")}`,
    `Noted, with the notes kept at the desk: ${[...done].join("; ")}`,
    `Chapters written: ${[...written].join("; ")}`,
    `Sources checked: ${isChecked ? "yes" : "no"}`,
    "Papers to read, with their sections:",
    ...[...open].flatMap(([paper, { title, sections }]) => [
      `* ${paper} | ${title}`,
      ...sections.flatMap((each) => sectionLines(progress, paper, each)),
    ]),
  ].join("\n");
}

function sectionLines({ fetched, found }: Progress, paper: string, { section, etag }: Reading): readonly string[] {
  const name = nameOf(paper, { section, etag });
  const known = fetched.get(name);
  const sentences = found.get(name);
  const state =
    sentences !== undefined ? "read" : known === undefined ? "to fetch" : `${known.bytes} bytes in ${known.result}`;
  const line = `  * ${section} ${etag}: ${state}`;
  return [line, ...(sentences ?? []).map(({ paragraph, sentence }) => `    ¶${paragraph} ${sentence}`)];
}

function addSummary(progress: Draft, text: string): void {
  const listed = (name: string): readonly string[] => {
    const line = text.split("\n").find((each) => each.startsWith(`${name}: `));
    return (line ?? "")
      .slice(name.length + 2)
      .split("; ")
      .filter((each) => each !== "");
  };
  for (const subject of listed("Searched")) progress.searched.add(subject);
  for (const paper of listed("Noted, with the notes kept at the desk")) progress.noted.add(paper);
  for (const subject of listed("Chapters written")) progress.written.add(subject);
  progress.isChecked = listed("Sources checked").includes("yes");
  for (const [, paper = "", title = "", rest = ""] of text.matchAll(/^\* (\S+) \| (.*)$((?:\n {2}.*$)*)/gm)) {
    const sections = rest.split(/\n(?= {2}\*)/).flatMap((lines) => addSection(progress, paper, lines));
    progress.open.set(paper, { title, sections });
  }
}

/** A section of the summary: its line, then the sentences to note if it is read. */
function addSection(progress: Draft, paper: string, lines: string): readonly Reading[] {
  const [, section, etag = "", state = ""] = /^ *\* (\S+) (\S+): (.*)$/m.exec(lines) ?? [];
  if (section === undefined) return [];
  const name = nameOf(paper, { section, etag });
  const [, bytes, result] = /^(\d+) bytes in (\S+)$/.exec(state) ?? [];
  if (result !== undefined) progress.fetched.set(name, { result, bytes: Number(bytes), text: "" });
  if (state === "read") {
    const sentences = [...lines.matchAll(/^ {4}¶(\d+) (.*)$/gm)];
    progress.found.set(
      name,
      sentences.map(([, paragraph, sentence = ""]) => ({ paragraph: Number(paragraph), sentence })),
    );
  }
  return [{ section, etag }];
}
