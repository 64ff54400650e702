/**
 * The seven scenarios in docs/choosing.md each name a test that exists, and a mutant in
 * `test/mutation/mutants.txt` switches off what that test shows: `npm run mutants` sees that the test fails then.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readMutants } from "../mutation/table.ts";

const DOCS = join(import.meta.dirname, "../../docs");
const rows = [
  ...readFileSync(join(DOCS, "choosing.md"), "utf8").matchAll(/\]\(\.\.\/(\S+\.test\.ts)\) "([^"]+)" *\|$/gm),
].map(([, file = "", title = ""]) => ({ file, title }));

test("each of the seven scenarios names one test, by its file and its title", () => {
  expect(rows).toHaveLength(7);
  for (const { file, title } of rows) {
    const source = readFileSync(join(DOCS, "..", file), "utf8");
    expect(source.match(new RegExp(`^ *(test|it)\\("${RegExp.escape(title)}", async`, "gm")), title).toHaveLength(1);
  }
});

test("each of them has a mutant that its own test kills", () => {
  const mutants = readMutants();
  const unseen = rows.filter(({ file, title }) => {
    const [schedule] = /^schedule \d+: /.exec(title) ?? [];
    return !mutants.some(({ name, killedBy }) =>
      killedBy.kind === "tests"
        ? killedBy.file === file && killedBy.test !== undefined && title.includes(killedBy.test)
        : schedule !== undefined && name.startsWith(schedule),
    );
  });
  expect(unseen).toEqual([]);
});
