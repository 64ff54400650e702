/** The page about acts without a request names tests that exist. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const DOCS = join(import.meta.dirname, "../../docs/contributing");

test("each row of the page names a test, and each test that it names is there", () => {
  const page = readFileSync(join(DOCS, "unasked-acts.md"), "utf8");
  const rows = page.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| kind"));
  const named = rows.map((row) => [...row.matchAll(/\[([^\]]+)\]\((\.\.\/\.\.\/test\/[^)]+)\)/g)]);
  expect(named.filter((tests) => tests.length === 0)).toEqual([]);
  const absent = named.flat().filter(([, title = "", path = ""]) => {
    const source = readFileSync(join(DOCS, path), "utf8");
    // A title of a test, and no sentence within one.
    return !source.split("\n").some((line) => line.includes(title) && /^\s*(test|it|["`])/.test(line));
  });
  expect(absent.map(([link]) => link)).toEqual([]);
});
