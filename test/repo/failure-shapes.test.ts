/** The page of topologies names tests for each failure. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ALL_CRACKS } from "../../src/core/topologies/cracks.ts";

const DOCS = join(import.meta.dirname, "..", "..", "docs");
const PAGE = readFileSync(join(DOCS, "topologies.md"), "utf8");
const [, TABLE = ""] = /<!-- shapes:begin -->\n([^]*)\n<!-- shapes:end -->/.exec(PAGE) ?? [];
const ROWS = TABLE.split("\n").slice(2);

const cellsOf = (row: string): readonly string[] => row.split(" | ").map((cell) => cell.replaceAll(/^\| | \|$/g, ""));

test("each failure has a row, and each row has a cell for signal, crash and kill", () => {
  const named = ROWS.map((row) => cellsOf(row).slice(0, 2).join(" "));
  expect(named).toEqual(ALL_CRACKS.map(({ topology, crack }) => `${topology} \`${crack}\``));
  for (const row of ROWS) expect({ row, cells: cellsOf(row).length }).toEqual({ row, cells: 5 });
});

test("each test that the table names exists", () => {
  const references = [...TABLE.matchAll(/\]\(([^)]+)\) “([^”]+)”/g)].map(([, file = "", title = ""]) => ({
    file,
    title,
  }));
  expect(references.length).toBeGreaterThan(ROWS.length * 2);
  const missing = references.filter(({ file, title }) => {
    const path = join(DOCS, file);
    return !existsSync(path) || !readFileSync(path, "utf8").includes(title);
  });
  expect(missing).toEqual([]);
});
