/** The page about what is kept names each field of the state, and no other. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { storedState } from "../../src/codec/schema/state.ts";

const PAGE = readFileSync(join(import.meta.dirname, "..", "..", "docs", "persistence.md"), "utf8");

test("the page about stored data names each field of the state", () => {
  const rows = PAGE.split("\n").filter((line) => /^\| (?!what|-)/.test(line));
  const named = rows.flatMap((row) => [...(row.split("|")[2] ?? "").matchAll(/`(\w+)`/g)].map(([, field]) => field));
  const { properties = {} } = z.toJSONSchema(storedState, { unrepresentable: "any" });
  expect(new Set(named)).toEqual(new Set(Object.keys(properties)));
});
