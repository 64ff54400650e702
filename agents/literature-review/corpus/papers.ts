/**
 * The papers of the corpus: who wrote what, when, about which subjects, with which figures and findings. All of it is
 * made up, and all of it is drawn from one seed. Their texts are generated from this list (`text.ts`).
 */
import { createHash } from "node:crypto";
import { type Chance, chanceOf } from "./chance.ts";
import { type Measure, type Question, SUBJECTS, type Subject } from "./subjects.ts";

const SECTIONS = ["introduction", "methods", "results", "related-work", "discussion"] as const;

export type Section = (typeof SECTIONS)[number];

/** A figure of a paper, as its text words it. */
export interface Figure {
  readonly measure: Measure;
  readonly value: string;
  readonly setting: string;
}

export interface Finding {
  readonly question: Question;
  readonly answer: "yes" | "no";
  readonly words: string;
}

export interface Paper {
  /** Such as `okafor2021`. */
  readonly id: string;
  readonly title: string;
  readonly authors: readonly string[];
  /** Such as `Okafor and Lindqvist (2021)`. */
  readonly label: string;
  readonly year: number;
  readonly venue: string;
  readonly subjects: readonly Subject[];
  /** How many runs it killed. */
  readonly runs: number;
  readonly figures: readonly Figure[];
  readonly findings: readonly Finding[];
  readonly limit: string;
}

const PAPERS_MAX = 48;
const FIRST_YEAR = 2013;
const PAPERS_PER_YEAR = 4;

export const paperOf = (id: string): Paper | null => byId.get(id) ?? null;

export const isSection = (name: string): name is Section => (SECTIONS as readonly string[]).includes(name);

/** The entity tag of a section: it changes when the paper is revised. */
export const etagOf = (paper: string, section: Section, revision: number): string =>
  createHash("sha256").update(`${paper}/${section}/${revision}`).digest("hex").slice(0, 10);

export const sectionsOf = (paper: string, revision: number) =>
  SECTIONS.map((section) => ({ section, etag: etagOf(paper, section, revision) }));

function makePapers(): readonly Paper[] {
  const families = chanceOf("families").shuffle(FAMILIES);
  const used = new Map<string, number>();
  return Array.from({ length: PAPERS_MAX }, (_, index) => {
    const chance = chanceOf("paper", index);
    const year = FIRST_YEAR + Math.floor(index / PAPERS_PER_YEAR);
    const names = [0, 1, 2].slice(0, chance.whole(1, 3)).map((each) => family(families, index + 17 * each));
    const first = `${asciiOf(names[0] ?? "")}${year}`;
    const times = used.get(first) ?? 0;
    used.set(first, times + 1);
    const main = subjectAt(index);
    const other = subjectAt(index + 1 + (Math.floor(index / SUBJECTS.length) % (SUBJECTS.length - 1)));
    return {
      id: times === 0 ? first : `${first}${"bcd"[times - 1]}`,
      title: titleOf(main, index, chance),
      authors: names.map((name) => `${name}, ${chance.pick(INITIALS)}.`),
      label: `${labelOf(names)} (${year})`,
      year,
      venue: chance.pick(VENUES),
      subjects: [main, other],
      runs: 40 * chance.whole(3, 60),
      figures: [...main.measures, chance.pick(other.measures)].map((measure) => figureOf(measure, chance)),
      findings: [...main.questions, chance.pick(other.questions)].map((question) => findingOf(question, chance)),
      limit: chance.pick(main.limits),
    };
  });
}

function subjectAt(index: number): Subject {
  const subject = SUBJECTS[index % SUBJECTS.length];
  if (subject === undefined) throw new Error("the corpus has no subjects");
  return subject;
}

const family = (families: readonly string[], index: number): string => families[index % families.length] ?? "";

/** The first papers of a subject have its bare titles, and later ones say where they looked. */
function titleOf({ titles }: Subject, index: number, chance: Chance): string {
  const round = Math.floor(index / SUBJECTS.length);
  const title = titles[round % titles.length] ?? "";
  return round < titles.length ? title : `${title}, Revisited ${chance.pick(PLACES)}`;
}

function labelOf([first = "", second, third]: readonly string[]): string {
  if (second === undefined) return first;
  return third === undefined ? `${first} and ${second}` : `${first} et al.`;
}

function figureOf(measure: Measure, chance: Chance): Figure {
  const { words, from, to } = chance.pick(measure.settings);
  const value = (from + (to - from) * chance.next()).toFixed(measure.digits);
  return { measure, value, setting: words };
}

const NO_SHARE = 0.35;

function findingOf(question: Question, chance: Chance): Finding {
  const answer = chance.next() < NO_SHARE ? "no" : "yes";
  return { question, answer, words: chance.pick(question[answer]) };
}

const asciiOf = (name: string): string =>
  name
    .normalize("NFD")
    .replaceAll(/[^A-Za-z]/g, "")
    .toLowerCase();

const FAMILIES = [
  ...["Okafor", "Lindqvist", "Marchetti", "Nakagawa", "Petrov", "Alvarez", "Haddad", "Brandt", "Osei", "Tanaka"],
  ...["Kowalski", "Moreau", "Ibarra", "Svensson", "Chaudhary", "Delgado", "Fischer", "Rahman", "Novak", "Quispe"],
  ...["Eriksen", "Banerjee", "Castellano", "Dube", "Farouk", "Grünwald", "Horvath", "Ivanova", "Jansen", "Kimura"],
  ...["Laurent", "Mbeki", "Nyström", "Oyelaran", "Pereira", "Rossi", "Sokolova", "Thorne", "Umarov", "Villanueva"],
  ...["Whitaker", "Yamada", "Zieliński", "Abebe", "Bergström", "Cohen", "Doyle", "Engel"],
] as const;

const INITIALS = [..."ABCDEFGHJKLMNPRSTVWY"];

const VENUES = [
  "Proceedings of the Workshop on Durable Programs",
  "Journal of Recoverable Systems",
  "Annual Symposium on Long-Running Computation",
  "Transactions on Operating Services",
  "Proceedings of the Conference on Agents in Production",
] as const;

const PLACES = [
  "in a Hospital",
  "in a Newsroom",
  "at a Bank",
  "in a Research Library",
  "at a Logistics Company",
  "in a Public Office",
  "at a Small Company",
] as const;

/** All papers, the oldest first. It stands below the tables that it is drawn from. */
export const PAPERS: readonly Paper[] = makePapers();

const byId = new Map(PAPERS.map((paper) => [paper.id, paper]));
