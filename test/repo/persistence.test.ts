/** The page about what is stored has one row for each field of the state, from the table that the doctor checks. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { BOUNDARY, boundaryTable, groupsTable } from "../../src/history/boundary.ts";
import { storedState } from "../../src/codec/schema/state.ts";

const PAGE = readFileSync(join(import.meta.dirname, "..", "..", "docs", "persistence.md"), "utf8");

test("the boundary has a row for each field of the stored state, and no other", () => {
  const { properties = {} } = z.toJSONSchema(storedState, { unrepresentable: "any" });
  expect(new Set(Object.keys(BOUNDARY))).toEqual(new Set(Object.keys(properties)));
});

test("the page about stored data has the tables of the boundary (npm run operations)", () => {
  for (const line of [...groupsTable().split("\n"), ...boundaryTable().split("\n")]) {
    const cells = line.split("|").map((cell) => cell.trim());
    if (/^-+$/.test(cells[1] ?? "")) continue;
    expect(
      PAGE.split("\n").map((each) =>
        each
          .split("|")
          .map((cell) => cell.trim())
          .join("|"),
      ),
    ).toContain(cells.join("|"));
  }
});
