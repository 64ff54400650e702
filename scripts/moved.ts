/**
 * `npm run moved`: writes `docs/adr/moved.md`, where files are today that a design record names by an older path. A record
 * keeps its paths, since it describes the moment of its decision. The history of the checkout says what became of a file.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const RECORDS = join(ROOT, "docs", "adr");
export const MOVED_PAGE = join(RECORDS, "moved.md");

const HEAD = `# Where files are today

A design record keeps the paths of its moment. This page has every path that a record names and that is elsewhere today,
or nowhere. \`npm run moved\` writes it.

| path in a record | today | records |
|---|---|---|
`;

const PATH = /(?<![\w/.-])(?:\.\.\/\.\.\/)?((?:src|test|scripts|infra|functions|localstack|bench|agents)\/[\w./-]*\w)/g;

/** The paths that the records name and that are not there, with the numbers of these records. */
export function goneFromRecords(): ReadonlyMap<string, readonly string[]> {
  const gone = new Map<string, string[]>();
  for (const name of readdirSync(RECORDS).filter((each) => /^\d{4}-/.test(each))) {
    const paths = [...readFileSync(join(RECORDS, name), "utf8").matchAll(PATH)].map(([, path]) => path ?? "");
    // A word in capitals stands for any name.
    for (const path of new Set(paths.filter((each) => !/\b[A-Z]+\b/.test(each) && !existsSync(join(ROOT, each)))))
      gone.set(path, [...(gone.get(path) ?? []), name.slice(0, 4)]);
  }
  return new Map([...gone].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** What each file was moved to, one move at a time. */
function moves(): ReadonlyMap<string, string> {
  // A file that was merged into a smaller one counts as moved there, too.
  const how = ["--diff-filter=R", "--find-renames=40%", "--break-rewrites=30%/90%"];
  const log = ["log", "--reverse", "--format=", ...how, "--name-status"];
  const lines = execFileSync("git", log, { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 28 }).split("\n");
  return new Map(
    lines.map((line) => line.split("\t")).flatMap(([, from, to]) => (to === undefined ? [] : [[from ?? "", to]])),
  );
}

function writePage(): void {
  const moved = moves();
  const todayOf = (path: string, seen: readonly string[] = []): string | null =>
    existsSync(join(ROOT, path))
      ? path
      : seen.includes(path) || !moved.has(path)
        ? null
        : todayOf(moved.get(path) ?? "", [...seen, path]);
  const rows = [...goneFromRecords()].map(([path, records]) => {
    const today = todayOf(path);
    return `| \`${path}\` | ${today === null ? "removed" : `[\`${today}\`](../../${today})`} | ${records.join(", ")} |\n`;
  });
  writeFileSync(MOVED_PAGE, HEAD + rows.join(""));
}

if (import.meta.main) writePage();
