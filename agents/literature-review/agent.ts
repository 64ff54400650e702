/**
 * A researcher: it searches a library, reads every section of the papers that it finds, notes what they
 * say, and submits a review whose claims link to their sources. That takes hundreds of observations of more than 4,000
 * tokens. Neither a killed process nor a deploy makes it fetch a section again or submit a second review.
 */
import { join } from "node:path";
import { type RunView, check, defineAgent, defineChaos, react, tool } from "cairn-run";
import { z } from "zod";
import { SUBJECTS, task } from "./assignment.ts";
import {
  type Chapter,
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
import { changedOf, deliver, search } from "./library.ts";
import { model, price, summaries } from "./model.ts";

const source = z.object({ paper: z.string(), section: z.string(), etag: z.string() });
const submitted = z.object({ review: z.string(), words: z.int(), papers: z.int() });

export const literatureReview = defineAgent({
  name: "literature-review",
  version: "1",
  model,
  ...(price === undefined ? {} : { price }),
  instructions:
    "You write a literature review from the papers of a library, and from nothing else. Search each subject. For each " +
    "paper that you find, fetch every section with its etag, read the whole of it with cairn_read, 12,000 characters at " +
    "a time, and keep the sentences that report figures, findings, disagreements and limitations word for word with " +
    "keepNotes. Your context is short, so read two sections at a time: what is not in a note is lost. When all papers are noted, write one chapter per subject with findNotes " +
    "and writeChapter: what was measured, where studies agree, where they disagree and why. Link each claim to its " +
    "source as [paper](library:paper/section@etag#paragraph). Then check the sources; read again what has changed, " +
    "and rewrite the chapters that it concerns. At last read the chapters and submit the review. " +
    "Say in its opening what earlier reviews found that you were told of, with their numbers.",
  task,
  topology: react({ maxBeats: 600 }),
  budget: { usd: 50, beats: 600, wall: "4h" },
  // Two sections that are read, or five that are shown by head and tail with the notes of five, fit into a fifth of this.
  context: {
    tokensMax: 80_000,
    model: summaries,
    instructions:
      "where the review stands: which subjects are searched, which papers are noted, which chapters " +
      "are written, and each paper that is still to be read, with the etags of its sections and what cairn_read calls " +
      "them, and each sentence to note of those that are read. Notes are kept elsewhere.",
  },
  // What a finished review found is recalled by later ones on near subjects.
  memory: {
    recall: ({ subjects }) => subjects.join(", "),
    learn: ({ calls }) => {
      const { review } = submittedIn(calls);
      return [...chaptersIn(calls).values()].map(({ subject, lead }) => ({
        ...{ text: `On ${subject}: ${lead}`, tags: ["finding"], source: `review ${review}` },
      }));
    },
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
      // The memory of the agent keeps each section with its etag. The library is asked only whether it has changed.
      run: async ({ input: { paper, section, etag: wanted }, key, memory }) => {
        const { etag, content } = await memory.fetch(`library:${paper}/${section}`, async (kept) =>
          deliver({ paper, section }, { key, copy: kept?.etag ?? null }),
        );
        return etag === wanted ? content : `The library has a newer version with the etag ${etag}.\n\n${content}`;
      },
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
    ...submittedIn(calls),
    sources: sourcesCited(calls),
  }),
});

type Calls = RunView["calls"];

const succeeded = (calls: Calls, name: string): Calls =>
  calls.filter(({ tool: called, outcome }) => called === name && outcome === "succeeded");

const submittedIn = (calls: Calls): z.output<typeof submitted> =>
  submitted.parse(succeeded(calls, "submitReview").at(-1)?.result);

/** The newest chapter about each subject. */
const chaptersIn = (calls: Calls): ReadonlyMap<string, Chapter> =>
  new Map(
    succeeded(calls, "writeChapter").map(({ args }) => {
      const written = chapter.parse(args);
      return [written.subject, written];
    }),
  );

/** The sections that the chapters link to, such as `okafor2021/results@1f0a…`. */
function sourcesCited(calls: Calls): readonly string[] {
  const cited = [...chaptersIn(calls).values()].flatMap(({ body }) => citedIn(body));
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
  standIns: { fetchSection: "service", keepNotes: "service", writeChapter: "service", submitReview: "service" },
  effects: (dir) =>
    reviewsIn(join(dir, "library")).map(({ key, reader }) => ({ tool: "submitReview", id: key, of: reader })),
  // The number of a review, and what it recalls of others, depend on which task was submitted first.
  normalise: (result) => z.object({ sources: z.array(z.string()) }).parse(result),
});
