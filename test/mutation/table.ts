/**
 * Reads `mutants.txt`, the table of mutants: the product with one rule switched off, and the suite that must notice.
 * The table is text and not code, because a mutant is a patch: its reader compares two lines of source, without quotes.
 * A line that cannot be read is an error with its number; `findProblems` compares the table with the checkout.
 */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");

/** Exact text that the file has once, and what replaces it. */
interface Change {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** What must notice: the test of a row of `docs/races.md`, so many seeds of the simulation, or other tests. */
export type Suite =
  | { readonly kind: "schedule"; readonly row: number }
  | { readonly kind: "simulation"; readonly seeds: number }
  | { readonly kind: "tests"; readonly file: string; readonly test?: string };

export interface Mutant {
  /** Unique. It is `schedule N: …` for a rule without which that schedule breaks the product. */
  readonly name: string;
  readonly changes: readonly Change[];
  readonly killedBy: Suite;
  /** Where the table has it, such as `mutants.txt:12`. */
  readonly at: string;
}

interface Draft extends Omit<Mutant, "changes"> {
  readonly changes: { readonly file: string; readonly from: string[]; readonly to: string[] }[];
}

export function readMutants(path = join(import.meta.dirname, "mutants.txt")): readonly Mutant[] {
  return parseTable(readFileSync(path, "utf8"));
}

/** Throws an error that names the line. */
export function parseTable(text: string): readonly Mutant[] {
  const drafts: Draft[] = [];
  let heading = "";
  let file = "";
  for (const [index, written] of text.split("\n").entries()) {
    const at = `mutants.txt:${index + 1}`;
    const line = written.replace(/␠+$/, (marks) => " ".repeat(marks.length));
    const [, sign, rest = ""] = /^(#|\/\/|  [-+@])(?: (.*))?$/.exec(line) ?? [];
    if (line === "" || sign === "//") continue;
    if (sign === "#") heading = file = rest;
    else if (sign === "  @") file = rest;
    else if (sign === undefined) {
      drafts.push({ ...readHead(line, at), changes: [], at });
      file = heading;
    } else addLine(drafts.at(-1), { at, file, isOld: sign === "  -", text: rest });
  }
  return drafts.map(complete);
}

function readHead(line: string, at: string): Pick<Mutant, "name" | "killedBy"> {
  const [, name, suite] = /^(\w.*?)(?: +\[(.+)\])?$/.exec(line) ?? [];
  if (name === undefined) {
    throw new Error(`${at}: begin a line with a name, "# ", "// ", "  - ", "  + " or "  @ ", not like "${line}"`);
  }
  const killedBy = readSuite(suite ?? /^schedule \d+(?=: )/.exec(name)?.[0] ?? "");
  if (killedBy !== null) return { name, killedBy };
  throw new Error(
    `${at}: end "${name}" with what must notice it: [schedule N], [N seeds], [FILE.test.ts] or [FILE.test.ts "TITLE"]`,
  );
}

function readSuite(text: string): Suite | null {
  const [, row, seeds, file, test] = /^(?:schedule (\d+)|(\d+) seeds|(\S+\.test\.ts)(?: "(.+)")?)$/.exec(text) ?? [];
  if (row !== undefined) return { kind: "schedule", row: Number(row) };
  if (seeds !== undefined) return { kind: "simulation", seeds: Number(seeds) };
  if (file === undefined) return null;
  return { kind: "tests", file, ...(test === undefined ? {} : { test }) };
}

/** Old lines after new ones, or in another file, begin another change. */
function addLine(
  draft: Draft | undefined,
  { at, file, isOld, text }: { at: string; file: string; isOld: boolean; text: string },
): void {
  if (draft === undefined) throw new Error(`${at}: a change stands below the name of its mutant`);
  if (file === "") throw new Error(`${at}: a change needs a file: a heading "# FILE", or "@ FILE" above the change`);
  const last = draft.changes.at(-1);
  const current = last !== undefined && last.file === file ? last : null;
  if (!isOld) {
    if (current === null) throw new Error(`${at}: new text (+) replaces old text (-), which stands above it`);
    current.to.push(text);
  } else if (current !== null && current.to.length === 0) current.from.push(text);
  else draft.changes.push({ file, from: [text], to: [] });
}

function complete({ changes, ...rest }: Draft): Mutant {
  if (changes.length === 0) throw new Error(`${rest.at}: "${rest.name}" changes nothing`);
  return {
    ...rest,
    changes: changes.map(({ file, from, to }) => ({ file, from: from.join("\n"), to: to.join("\n") })),
  };
}

/** Each file that a mutant changes, and what it becomes. Throws where an old text is not in its file exactly once. */
export function filesOf({ changes }: Mutant, root = ROOT): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const { file, from, to } of changes) {
    if (!existsSync(join(root, file))) throw new Error(`there is no file ${file}`);
    const before = files.get(file) ?? readFileSync(join(root, file), "utf8");
    const count = from === "" ? 0 : before.split(from).length - 1;
    if (count !== 1) throw new Error(`${file} must have this text once, and has it ${count} times: ${from}`);
    if (from === to) throw new Error(`the old and the new text are the same: ${from}`);
    files.set(
      file,
      before.replace(from, () => to),
    );
  }
  return files;
}

/** The file below `test/schedules` that plays this row; undefined if none does. */
function findScheduleTest(row: number, root = ROOT): string | undefined {
  const names = readdirSync(join(root, "test/schedules")).map((name) => `test/schedules/${name}`);
  return names.find((name) => readFileSync(join(root, name), "utf8").includes(`test("schedule ${row}: `));
}

/** The file of a suite and, if it is not all of it, the title of its tests. */
export const testsOf = (suite: Exclude<Suite, { readonly kind: "simulation" }>, root = ROOT) =>
  suite.kind === "schedule"
    ? { file: String(findScheduleTest(suite.row, root)), test: `schedule ${suite.row}:` }
    : { file: suite.file, test: suite.test };

export function describeSuite(suite: Suite): string {
  if (suite.kind === "simulation") return `simulation, ${suite.seeds} seeds`;
  const { file, test } = testsOf(suite);
  return test === undefined ? file : `${file} "${test}"`;
}

/** Where the table contradicts itself or the checkout, each as one sentence. */
export function findProblems(mutants: readonly Mutant[], root = ROOT): readonly string[] {
  const names = new Set<string>();
  return mutants.flatMap((mutant) => {
    const { at, name, killedBy } = mutant;
    const isKnown = names.has(name);
    names.add(name);
    return [
      isKnown ? "another mutant has the same name" : null,
      findProblemOfSuite(killedBy, root),
      findProblemOfChanges(mutant, root),
    ].flatMap((problem) => (problem === null ? [] : [`${at}: "${name}": ${problem}`]));
  });
}

function findProblemOfSuite(suite: Suite, root: string): string | null {
  if (suite.kind === "simulation") return null;
  if (suite.kind === "schedule") {
    return findScheduleTest(suite.row, root) === undefined
      ? `no test in test/schedules plays schedule ${suite.row}`
      : null;
  }
  if (!existsSync(join(root, suite.file))) return `there is no test file ${suite.file}`;
  // A title that selects no test would let every mutant survive.
  const hasTitle = readFileSync(join(root, suite.file), "utf8").includes(suite.test ?? "");
  return hasTitle ? null : `${suite.file} has no title with "${suite.test}"`;
}

function findProblemOfChanges(mutant: Mutant, root: string): string | null {
  try {
    filesOf(mutant, root);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
