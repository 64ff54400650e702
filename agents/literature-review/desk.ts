/**
 * The desk of the library: it keeps the notes and the chapters of a review that is being written, by run, and takes the
 * finished review. Notes and chapters are replaced by later ones about the same thing. A review is taken once per key.
 */
import { z } from "zod";
import { count, openLibrary } from "./library-file.ts";
import { type Source, labelOf, referenceTo } from "./library.ts";

/** A sentence of a section, word for word, and what it is about. */
const evidence = z.object({
  subject: z.string(),
  /** The number in front of its paragraph. */
  paragraph: z.int().positive(),
  sentence: z.string(),
});

/** What a run notes about a section, with the etag of the copy that it read. */
export const noted = z.object({ section: z.string(), etag: z.string(), evidence: z.array(evidence) });

/** Replaces the notes of a run about these sections of a paper. */
export function keepNotes(run: string, note: { readonly paper: string; readonly sections: readonly Noted[] }): void {
  using file = openLibrary();
  const put = file.prepare(
    `INSERT INTO notes VALUES (?, ?, ?, ?, ?) ON CONFLICT (run, paper, section)
     DO UPDATE SET etag = excluded.etag, evidence = excluded.evidence`,
  );
  for (const { section, etag, evidence: said } of note.sections) {
    put.run(run, note.paper, section, etag, JSON.stringify(said));
  }
  count(file, { what: "note", subject: note.paper, answer: "kept" });
}

export type Noted = z.output<typeof noted>;

/**
 * The notes of a run about a subject whose sentences contain one of these phrases, a line each: link, paper, sentence.
 */
export function findNotes(run: string, { subject, phrases }: { subject: string; phrases: readonly string[] }) {
  using file = openLibrary();
  const rows = file.prepare("SELECT * FROM notes WHERE run = ? ORDER BY paper, section").all(run);
  count(file, { what: "notes", subject, answer: "found" });
  return rows.flatMap(({ paper, section, etag, evidence: said }) =>
    evidence
      .array()
      .parse(JSON.parse(String(said)))
      .filter((each) => each.subject === subject && contains(each.sentence, phrases))
      .map((each) => {
        const link = `library:${String(paper)}/${String(section)}@${String(etag)}#${each.paragraph}`;
        return `${link} | ${labelOf(String(paper))} | ${each.sentence}`;
      }),
  );
}

const contains = (sentence: string, phrases: readonly string[]): boolean =>
  phrases.some((phrase) => sentence.toLowerCase().includes(phrase.toLowerCase()));

/** The sections that a run has notes about, with the etags of the copies that it read. */
export function sourcesOf(run: string): readonly Source[] {
  using file = openLibrary();
  const rows = file.prepare("SELECT paper, section, etag FROM notes WHERE run = ? ORDER BY paper, section").all(run);
  return rows.map(({ paper, section, etag }) => ({
    paper: String(paper),
    section: String(section),
    etag: String(etag),
  }));
}

export const chapter = z.object({ subject: z.string(), lead: z.string(), body: z.string() });

export type Chapter = z.output<typeof chapter>;

export function keepChapter(run: string, { subject, lead, body }: Chapter): void {
  using file = openLibrary();
  file
    .prepare(
      `INSERT INTO chapters VALUES (?, ?, ?, ?)
       ON CONFLICT (run, subject) DO UPDATE SET lead = excluded.lead, body = excluded.body`,
    )
    .run(run, subject, lead, body);
  count(file, { what: "chapter", subject, answer: "kept" });
}

export function chaptersOf(run: string): readonly Chapter[] {
  using file = openLibrary();
  const rows = file.prepare("SELECT subject, lead, body FROM chapters WHERE run = ? ORDER BY rowid").all(run);
  return rows.map((row) => chapter.parse({ ...row }));
}

/** A link of a review to its source, such as `[okafor2021](library:okafor2021/results@1f…#12)`. */
const LINK = /\(library:([\w-]+)\/([\w-]+)@(\w+)#(\d+)\)/g;

export interface Cited {
  readonly paper: string;
  readonly section: string;
  readonly etag: string;
  readonly paragraph: number;
}

/** The sources that a text links to, each once. */
export function citedIn(text: string): readonly Cited[] {
  const all = [...text.matchAll(LINK)].map(([link, paper = "", section = "", etag = "", paragraph]) => ({
    link,
    cited: { paper, section, etag, paragraph: Number(paragraph) },
  }));
  return [...new Map(all.map(({ link, cited }) => [link, cited])).values()];
}

export interface Submission {
  readonly run: string;
  readonly reader: string;
  readonly title: string;
  readonly opening: string;
  readonly closing: string;
}

/**
 * Binds opening, chapters, closing and references to a review, and takes it once per key. A link shows the number of its
 * paper among the references.
 */
export function submit({ run, reader, title, opening, closing }: Submission, key: string) {
  const chapters = chaptersOf(run).map(({ subject, body }) => `## ${headline(subject)}\n\n${body}`);
  const text = [`# ${title}`, opening, ...chapters, "## What follows", closing].join("\n\n");
  const papers = [...new Set(citedIn(text).map(({ paper }) => paper))].toSorted();
  const numbered = text.replaceAll(/\[[^\]]*\](?=\(library:([\w-]+)\/)/g, (_, paper: string) => {
    return `[${papers.indexOf(paper) + 1}]`;
  });
  const references = papers.map((paper, index) => `${index + 1}. ${referenceTo(paper)}`);
  const body = `${numbered}\n\n## References\n\n${references.join("\n")}\n`;
  using file = openLibrary();
  const row = file
    .prepare(
      `INSERT INTO reviews (key, reader, title, body) VALUES (?, ?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET requests = requests + 1 RETURNING id`,
    )
    .get(key, reader, title, body);
  count(file, { what: "review", subject: title, answer: "taken" });
  return { review: `R${Number(row?.id)}`, words: body.split(/\s+/).length, papers: papers.length };
}

const headline = (subject: string): string => subject.charAt(0).toUpperCase() + subject.slice(1);

/** All reviews that were taken. */
export function reviewsIn(dir: string) {
  using file = openLibrary(dir);
  const rows = file.prepare("SELECT key, reader, title, body, requests FROM reviews ORDER BY id").all();
  return rows.map(({ key, reader, title, body, requests }) => ({
    key: String(key),
    reader: String(reader),
    title: String(title),
    body: String(body),
    requests: Number(requests),
  }));
}
