/** The names of seeds, and the list of those that the gate always plays. */
import { expect, test } from "vitest";
import { isFamilySeed, parsePinned, pinnedSeeds, seedName } from "./seeds.ts";
import { simulate } from "./simulate.ts";

test("names the seeds of the gate by their number, and those of a night by its date, too", () => {
  expect([seedName("s", 7, undefined), seedName("f", 7, "2026-11-28")]).toEqual(["s7", "f7@2026-11-28"]);
  expect(["f7", "f7@2026-11-28", "s7", "s7@f1"].map(isFamilySeed)).toEqual([true, true, false, false]);
});

test("a night plays other histories than the gate, and the same ones each time", async () => {
  const [gate, night, again] = await Promise.all(
    ["s3", "s3@2026-11-28", "s3@2026-11-28"].map((seed) => simulate(seed)),
  );
  expect(night?.stored).toEqual(again?.stored);
  expect(night?.stored).not.toEqual(gate?.stored);
});

test("reads each pinned seed with its cause", () => {
  expect(parsePinned("// words\n\ns1 plain\n  A cause.\nf2@2026-11-28\n  Another one.\n")).toEqual([
    { seed: "s1", isPlain: true, cause: "A cause." },
    { seed: "f2@2026-11-28", isPlain: false, cause: "Another one." },
  ]);
  expect(pinnedSeeds().length).toBeGreaterThan(10);
});

test.each([["s1\ns2\n  A cause.\n"], ["s1\n"], ["x1\n  A cause.\n"]])(
  "refuses a pinned seed without a cause: %j",
  (text) => {
    expect(() => parsePinned(text)).toThrow("write SEED, then its cause");
  },
);
