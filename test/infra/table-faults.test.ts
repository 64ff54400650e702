/** A table that a user brings is compared with the layout that the adapter needs. */
import { expect, test } from "vitest";
import { FITTING_TABLE } from "../../infra/made-up.ts";
import { type FoundTable, tableFaults } from "../../infra/table-faults.ts";

const withoutDue = FITTING_TABLE.globalSecondaryIndexes.filter(({ name }) => name !== "due");

test("a table with keys, indexes, time to live and stream of cairn's layout fits", () => {
  expect(tableFaults(FITTING_TABLE)).toEqual([]);
  expect(tableFaults({ ...FITTING_TABLE, streamViewType: "NEW_AND_OLD_IMAGES" })).toEqual([]);
});

test.each<[string, Partial<FoundTable>, string]>([
  ["another sort key", { rangeKey: "sk" }, "its keys must be"],
  ["a key that is no text", { attributes: [] }, "its keys must be"],
  ["no index for runs that are due", { globalSecondaryIndexes: withoutDue }, "its index due must have the keys"],
  ["no time to live", { ttl: { enabled: false, attributeName: "" } }, "its time to live must be on"],
  [
    "time to live on another attribute",
    { ttl: { enabled: true, attributeName: "ttl" } },
    "with the attribute expiresAtSec",
  ],
  ["no stream", { streamEnabled: false }, "its stream must be on, with the view OLD_IMAGE"],
  ["a stream of keys", { streamViewType: "KEYS_ONLY" }, "its stream must be on, with the view OLD_IMAGE"],
])("a table with %s does not", (_, changed, fault) => {
  expect(tableFaults({ ...FITTING_TABLE, ...changed }).join("\n")).toContain(fault);
});

test("an index that projects too little does not fit", () => {
  const globalSecondaryIndexes = FITTING_TABLE.globalSecondaryIndexes.map((each) => ({
    ...each,
    nonKeyAttributes: [],
  }));
  expect(tableFaults({ ...FITTING_TABLE, globalSecondaryIndexes })).toEqual([
    expect.stringMatching(/^its index byStatus must have .+ and project \w+$/),
  ]);
});
