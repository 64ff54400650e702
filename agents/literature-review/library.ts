/**
 * The library of the example: a service that finds papers and delivers their sections. It charges for each section that
 * it delivers in full. A request with the etag of a copy gets "not modified" if the section is still the same, and a
 * repeated request with its idempotency key gets the first delivery again; neither is charged.
 */
import type { SourceAnswer } from "cairn-run";
import { type Paper, PAPERS, type Section, etagOf, isSection, paperOf, sectionsOf } from "./corpus/papers.ts";
import { textOf } from "./corpus/text.ts";
import { count, openLibrary } from "./library-file.ts";

export interface Source {
  readonly paper: string;
  readonly section: string;
  readonly etag: string;
}

const HITS_MAX = 12;

/** The papers that fit the query best, with the etags of their sections. */
export function search(query: string) {
  using file = openLibrary();
  const wanted = stemsOf(query);
  const hits = PAPERS.map((paper) => ({ paper, score: scoreOf(paper, wanted) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .slice(0, HITS_MAX);
  count(file, { what: "search", subject: query, answer: `${hits.length} papers` });
  return hits.map(({ paper: { id, label, title } }) => ({
    paper: id,
    label,
    title,
    sections: Object.fromEntries(sectionsOf(id, revisionOf(file, id)).map(({ section, etag }) => [section, etag])),
  }));
}

/** Delivers a section as it is today. `copy` is the etag of the copy that the reader has, or null. */
export function deliver(
  of: { readonly paper: string; readonly section: string },
  { key, copy }: { readonly key: string; readonly copy: string | null },
): SourceAnswer {
  const { paper, section } = sectionOf(of);
  using file = openLibrary();
  const revision = revisionOf(file, paper.id);
  const etag = etagOf(paper.id, section, revision);
  const subject = `${paper.id}/${section}@${etag}`;
  if (copy === etag) {
    count(file, { what: "fetch", subject, answer: "not modified" });
    return { kind: "unchanged" };
  }
  // What it charges for and what it counts are one transaction, whenever its process dies.
  file.exec("BEGIN IMMEDIATE");
  const { changes } = file
    .prepare("INSERT INTO deliveries VALUES (?, ?, ?, ?) ON CONFLICT (key) DO NOTHING")
    .run(key, paper.id, section, etag);
  count(file, { what: "fetch", subject, answer: changes === 1 ? "full" : "delivered again" });
  file.exec("COMMIT");
  return { kind: "fetched", etag, content: textOf(paper, section, revision) };
}

/** Which of these sections have changed, with their etags of today. */
export function changedOf(sources: readonly Source[]): readonly (Source & { readonly title: string })[] {
  using file = openLibrary();
  return sources.flatMap((source) => {
    const { paper, section } = sectionOf(source);
    const etag = etagOf(paper.id, section, revisionOf(file, paper.id));
    const isSame = etag === source.etag;
    count(file, {
      what: "check",
      subject: `${paper.id}/${section}@${etag}`,
      answer: isSame ? "not modified" : "changed",
    });
    return isSame ? [] : [{ paper: paper.id, title: paper.title, section, etag }];
  });
}

/** Publishes a revision of a paper: its sections get new etags, and its first figure is corrected. */
export function revise(dir: string, paper: string): void {
  using file = openLibrary(dir);
  file
    .prepare("INSERT INTO revisions VALUES (?, 1) ON CONFLICT (paper) DO UPDATE SET revision = revision + 1")
    .run(paper);
}

/** How a paper is listed among the references of a review. */
export function referenceTo(id: string): string {
  const { authors, year, title, venue } = known(id);
  return `${authors.join(", ")} (${year}). *${title}*. ${venue}.`;
}

export const labelOf = (id: string): string => known(id).label;

/** How many requests there were, by what was asked and how it was answered. */
export function requestsIn(dir: string): readonly { what: string; subject: string; answer: string; times: number }[] {
  using file = openLibrary(dir);
  const rows = file
    .prepare("SELECT what, subject, answer, count(*) AS times FROM requests GROUP BY what, subject, answer")
    .all();
  return rows.map(({ what, subject, answer, times }) => ({
    what: String(what),
    subject: String(subject),
    answer: String(answer),
    times: Number(times),
  }));
}

function sectionOf(of: { readonly paper: string; readonly section: string }): { paper: Paper; section: Section } {
  const paper = known(of.paper);
  if (!isSection(of.section)) {
    const names = sectionsOf(paper.id, 0).map(({ section }) => section);
    throw new Error(`${of.paper} has no section "${of.section}"; its sections are ${names.join(", ")}`);
  }
  return { paper, section: of.section };
}

function known(id: string): Paper {
  const paper = paperOf(id);
  if (paper === null) throw new Error(`the library has no paper "${id}"; use an ID that a search returned`);
  return paper;
}

type LibraryFile = ReturnType<typeof openLibrary>;

const revisionOf = (file: LibraryFile, paper: string): number =>
  Number(file.prepare("SELECT revision FROM revisions WHERE paper = ?").get(paper)?.revision ?? 0);

const TITLE_WEIGHT = 3;

/** Words of the query in the title and among the subjects. */
function scoreOf({ title, subjects, findings }: Paper, wanted: ReadonlySet<string>): number {
  const overlap = (text: string): number => [...stemsOf(text)].filter((stem) => wanted.has(stem)).length;
  const [main = 0, ...others] = subjects.map(({ name }) => overlap(name));
  const best = Math.max(0, ...findings.map(({ words }) => overlap(words)));
  return TITLE_WEIGHT * overlap(title) + 2 * main + Math.max(0, ...others) + best;
}

const SMALL = new Set(
  "a an and are at be by each for from in is it its of on or the that they to while who with".split(" "),
);

const stemsOf = (text: string): ReadonlySet<string> =>
  new Set((text.toLowerCase().match(/[\p{L}]+/gu) ?? []).filter((word) => !SMALL.has(word)).map(stem));

const stem = (word: string): string => word.replace(/(ing|ies|ed|es|s)$/, "");
