/** The page of the words of the tests names fixtures that test/support exports, and tests that exist. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const TESTS = join(import.meta.dirname, "..");
const PAGE = readFileSync(join(TESTS, "README.md"), "utf8");

const EXPORT = /^export (?:async )?(?:const|function|class) (\w+)/gm;
const SUPPORT = join(TESTS, "support");
const exported = new Set(
  readdirSync(SUPPORT, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .flatMap((name) => [...readFileSync(join(SUPPORT, name), "utf8").matchAll(EXPORT)].map(([, word]) => word)),
);

test("each word in the first column of a table is exported by a file of test/support", () => {
  const cells = [...PAGE.matchAll(/^\| (`[^|]+) \|/gm)].map(([, cell]) => cell ?? "");
  const words = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word ?? ""));
  expect(words).toContain("createHarness");
  expect(words.filter((word) => !exported.has(word))).toEqual([]);
});

test("each layer has a test to read first", () => {
  const layers = PAGE.split(/^## /m).slice(1);
  const missing = layers.filter((layer) => {
    const [, path] = /^[^\n]*\]\(([^)]+\.test\.ts)\)/.exec(layer) ?? [];
    return path === undefined || !existsSync(join(TESTS, path));
  });
  expect(missing).toEqual([]);
});
