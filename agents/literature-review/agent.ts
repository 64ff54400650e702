/**
 * The researcher of seed 3: it searches a library, reads every section of the papers that it finds, notes what they
 * say, and submits a review whose claims link to their sources. That takes hundreds of observations of more than 4,000
 * tokens. Neither a killed process nor a deploy makes it fetch a section again or submit a second review.
 */
import { join } from "node:path";
import { type RunView, check, defineAgent, defineChaos, react, tool } from "cairn-run";
import { z } from "zod";
import { SUBJECTS, task } from "./assignment.ts";
import {
  chapter,
  chaptersOf,
  citedIn,
  findNotes,
  keepChapter,
  keepNotes,
  noted,
  reviewsIn,
  sourcesOf,
  submit,
} from "./desk.ts";
import { changedOf, search } from "./library.ts";
import { model, price, summaries } from "./model.ts";
import { findIn, obtain } from "./shelf.ts";

const source = z.object({ paper: z.string(), section: z.string(), etag: z.string() });
const submitted = z.object({ review: z.string(), words: z.int(), papers: z.int() });

export const literatureReview = defineAgent({
  name: "literature-review",
  version: "1",
  model,
  ...(price === undefined ? {} : { price }),
  instructions:
    "You write a literature review from the papers of a library, and from nothing else. Search each subject. For each " +
    "paper that you find, fetch every section with its etag, look for the sentences that report figures, findings, " +
    "disagreements and limitations with findInSection, and keep them word for word with keepNotes. Your context is " +
    "short, so what is not in a note is lost. When all papers are noted, write one chapter per subject with findNotes " +
    "and writeChapter: what was measured, where studies agree, where they disagree and why. Link each claim to its " +
    "source as [paper](library:paper/section@etag#paragraph). Then check the sources; read again what has changed, " +
    "and rewrite the chapters that it concerns. At last read the chapters and submit the review.",
  task,
  topology: react({ maxBeats: 600 }),
  budget: { usd: 25, beats: 600, wall: "4h" },
  // A section is shown by its head and its tail. Eight of them with their notes fit into a fifth of this.
  context: {
    tokensMax: 48_000,
    model: summaries,
    instructions:
      "where the review stands: which subjects are searched, which papers are noted, which chapters " +
      "are written, and each paper that is still to be read, with the etags of its sections. Notes are kept elsewhere.",
  },

  tools: {
    search: tool({
      description: "Finds the papers about a subject, with the etags of their sections.",
      input: z.object({ subject: z.string().min(3) }),
      effect: "none",
      run: ({ input }) => search(input.subject),
    }),

    fetchSection: tool({
      description: "Fetches a section of a paper, which the library charges for. Its paragraphs are numbered: ¶1, ¶2.",
      input: source,
      effect: "keyed",
      // The library delivers what it has charged for again under the same key, to whichever run asks.
      key: ({ paper, section, etag }) => `fetch_${paper}_${section}_${etag}`,
      run: ({ input, key }) => {
        const { etag, text } = obtain(input, key);
        return etag === input.etag ? text : `The library has a newer version with the etag ${etag}.\n\n${text}`;
      },
    }),

    findInSection: tool({
      description: "Finds the sentences of a fetched section that contain one of the phrases, with their paragraphs.",
      input: source.extend({ phrases: z.array(z.string().min(3)).min(1).max(20) }),
      effect: "none",
      run: ({ input: { phrases, ...of } }) => findIn(of, phrases),
    }),

    keepNotes: tool({
      description: "Keeps sentences of a paper's sections, word for word. It replaces earlier notes on these sections.",
      input: z.object({ paper: z.string(), sections: z.array(noted).min(1).max(8) }),
      effect: "keyed",
      run: ({ input, run }) => {
        keepNotes(run, input);
        return { kept: input.sections.reduce((sum, { evidence }) => sum + evidence.length, 0) };
      },
    }),

    findNotes: tool({
      description: "Finds your notes on a subject that contain one of the phrases: link | paper | sentence.",
      input: z.object({ subject: z.string(), phrases: z.array(z.string().min(3)).min(1).max(20) }),
      effect: "none",
      run: ({ input, run }) => findNotes(run, input),
    }),

    writeChapter: tool({
      description: "Writes or replaces the chapter about a subject. The lead is the sentence that stands for it.",
      input: chapter,
      effect: "keyed",
      run: ({ input, run }) => {
        keepChapter(run, input);
        return { sources: citedIn(input.body).length };
      },
    }),

    checkSources: tool({
      description: "Asks the library which of the sections that you have noted have changed since you read them.",
      input: z.object({}),
      effect: "none",
      run: ({ run }) => {
        const sources = sourcesOf(run);
        const changed = changedOf(sources);
        return { unchanged: sources.length - changed.length, changed };
      },
    }),

    readChapters: tool({
      description: "Lists the chapters that are written, each with its lead.",
      input: z.object({}),
      effect: "none",
      run: ({ run }) => chaptersOf(run).map(({ subject, lead }) => ({ subject, lead })),
    }),

    submitReview: tool({
      description: "Submits the review: your opening, the chapters, your closing. It cannot be taken back.",
      input: z.object({ title: z.string(), opening: z.string(), closing: z.string() }),
      output: submitted,
      effect: "keyed",
      key: (_, { run, restart }) => `review_${run}_v${restart}`,
      externalId: (result) => submitted.safeParse(result).data?.review ?? null,
      run: ({ input, run, task: of, key }) => submit({ run, reader: task.parse(of).reader, ...input }, key),
    }),
  },

  done: [
    check<z.output<typeof task>>("covers-each-subject", ({ calls, task: { subjects } }) => {
      const missing = subjects.filter((subject) => !chaptersIn(calls).has(subject));
      return missing.length === 0 || `there is no chapter about ${missing.join(", ")}`;
    }),
    check("cites-what-it-read", ({ calls }) => {
      const read = new Set(succeeded(calls, "keepNotes").flatMap(sectionsNoted));
      const unread = sourcesCited(calls).filter((each) => !read.has(each));
      return unread.length === 0 || `you have no note on ${unread.slice(0, 5).join(", ")}, and a chapter cites it`;
    }),
    check("is-submitted", ({ calls }) => succeeded(calls, "submitReview").length > 0 || "the review is not submitted"),
  ],

  result: ({ calls }) => ({
    ...submitted.parse(succeeded(calls, "submitReview").at(-1)?.result),
    sources: sourcesCited(calls),
  }),
});

type Calls = RunView["calls"];

const succeeded = (calls: Calls, name: string): Calls =>
  calls.filter(({ tool: called, outcome }) => called === name && outcome === "succeeded");

/** The newest chapter about each subject. */
const chaptersIn = (calls: Calls): ReadonlyMap<string, string> =>
  new Map(
    succeeded(calls, "writeChapter").map(({ args }) => {
      const { subject, body } = chapter.parse(args);
      return [subject, body];
    }),
  );

/** The sections that the chapters link to, such as `okafor2021/results@1f0a…`. */
function sourcesCited(calls: Calls): readonly string[] {
  const cited = [...chaptersIn(calls).values()].flatMap(citedIn);
  return [...new Set(cited.map(({ paper, section, etag }) => `${paper}/${section}@${etag}`))].toSorted();
}

function sectionsNoted({ args }: Calls[number]): readonly string[] {
  const { paper, sections } = z.object({ paper: z.string(), sections: z.array(noted) }).parse(args);
  return sections.map(({ section, etag }) => `${paper}/${section}@${etag}`);
}

/** For `cairn chaos literature-review`: one reader per task, with one or two subjects and a few papers. */
export const chaos = defineChaos({
  input: (index) => ({
    question: "What should the team of a long-running agent know?",
    reader: `Reader ${index}`,
    subjects: SUBJECTS.slice(index % SUBJECTS.length).slice(0, 1 + (index % 2)),
    papersMax: 3,
  }),
  env: (dir) => ({ LIBRARY: join(dir, "library") }),
  effects: (dir) =>
    reviewsIn(join(dir, "library")).map(({ key, reader }) => ({ tool: "submitReview", id: key, of: reader })),
  // The number of a review depends on which task was submitted first.
  normalise: (result) => z.object({ words: z.int(), sources: z.array(z.string()) }).parse(result),
});
