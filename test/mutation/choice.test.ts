/** The choice of the mutants that a diff touches: by source, by suite, by the row itself, and by shared helpers. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chooseMutants } from "./choice.ts";
import { parseTable } from "./table.ts";

const FILES = {
  "test/a.test.ts":
    'import { type Run, start } from "./support/start.ts";\nimport type { Only } from "./support/types.ts";\n',
  "test/b.test.ts": 'import { a } from "../src/a.ts";\nconst late = await import("./support/late.ts");\n',
  "test/schedules/claims.test.ts": 'test("schedule 7: refused", () => {});\n',
  "test/support/start.ts": 'import {\n  deep,\n} from "./deep.ts";\nexport * from "./start.ts";\n',
  "test/support/deep.ts": "",
  "test/support/late.ts": "",
  "test/support/types.ts": "",
  "scripts/sim.ts": 'import { simulate } from "../test/simulation/simulate.ts";\n',
  "test/simulation/simulate.ts": 'import { deep } from "../support/deep.ts";\n',
  "src/a.ts": 'import "./b.ts";\n',
};
const TABLE = [
  "# src/a.ts",
  ...["a [test/a.test.ts]", "  - x", "b [test/b.test.ts]", "  - y"],
  ...["s [40 seeds]", "  - z", "schedule 7: c", "  - c", "  @ src/other.ts", "  - d"],
];
const MUTANTS = parseTable(TABLE.join("\n"));

const root = mkdtempSync(join(tmpdir(), "cairn-choice-"));
beforeAll(() => {
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
});
afterAll(() => rmSync(root, { recursive: true }));

function chosen(paths: readonly string[], before: readonly string[] = TABLE) {
  const diff = { paths: new Set(paths), before: parseTable(before.join("\n")) };
  const { touched, nearby } = chooseMutants(MUTANTS, diff, root);
  return { touched: touched.map(({ name }) => name), nearby: nearby.map(({ name }) => name) };
}

test.each([
  ["a source of one mutant", ["src/other.ts"], { touched: ["schedule 7: c"], nearby: [] }],
  ["a source of all", ["src/a.ts"], { touched: ["a", "b", "s", "schedule 7: c"], nearby: [] }],
  ["a suite", ["test/b.test.ts"], { touched: ["b"], nearby: [] }],
  ["the suite of a schedule", ["test/schedules/claims.test.ts"], { touched: ["schedule 7: c"], nearby: [] }],
  ["anything of the simulation", ["test/simulation/new.ts"], { touched: ["s"], nearby: [] }],
  ["a helper of two suites", ["test/support/deep.ts"], { touched: [], nearby: ["a", "s"] }],
  ["a helper that is loaded late", ["test/support/late.ts"], { touched: [], nearby: ["b"] }],
  ["the script of the simulation", ["scripts/sim.ts"], { touched: [], nearby: ["s"] }],
  ["a file of types", ["test/support/types.ts"], { touched: [], nearby: [] }],
  ["a source that no mutant names", ["src/b.ts"], { touched: [], nearby: [] }],
])("chooses what is touched by %s", (_, paths, expected) => {
  expect(chosen(paths)).toEqual(expected);
});

test("chooses a row that is new, that has another text or another suite, and no row that moved", () => {
  const table = ["test/mutation/mutants.txt"];
  expect(chosen(table)).toEqual({ touched: [], nearby: [] });
  expect(chosen(table, ["// a line more", ...TABLE])).toEqual({ touched: [], nearby: [] });
  expect(chosen(table, [])).toEqual({ touched: ["a", "b", "s", "schedule 7: c"], nearby: [] });
  const otherwise = (from: string, to: string) => chosen(table, TABLE.join("\n").replace(from, to).split("\n"));
  expect(otherwise("  - y", "  - yy")).toEqual({ touched: ["b"], nearby: [] });
  expect(otherwise("[40 seeds]", "[41 seeds]")).toEqual({ touched: ["s"], nearby: [] });
  expect(otherwise("a [test/a.test.ts]", 'a [test/a.test.ts "title"]')).toEqual({ touched: ["a"], nearby: [] });
});
