/** The seven scenarios of seed 3 in docs/choosing.md each name a test that exists. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const DOCS = join(import.meta.dirname, "../../docs");
const rows = [...readFileSync(join(DOCS, "choosing.md"), "utf8").matchAll(/\]\((\S+\.test\.ts)\) "([^"]+)" *\|$/gm)];

test("each of the seven scenarios names one test, by its file and its title", () => {
  expect(rows).toHaveLength(7);
  for (const [, file = "", title = ""] of rows) {
    expect(readFileSync(join(DOCS, file), "utf8"), file).toMatch(new RegExp(`(test|it)\\("${RegExp.escape(title)}"`));
  }
});
