/** The cost limits of beats: the measured cost passes them, and a higher cost does not. */
import { describe, expect, test } from "vitest";
import { BOUNDS, tooDear } from "../../scripts/cost-bounds.ts";

describe.each(["same", "new"] as const)("in the %s process", (process) => {
  test.each([
    [1, { same: 0.0343, new: 0.037 }],
    [10, { same: 0.0064, new: 0.0066 }],
    [25, { same: 0.0046, new: 0.0047 }],
    [50, { same: 0.0042, new: 0.0042 }],
  ])("%i beats per invocation may cost what was measured, plus 3 %%", (beats, dollars) => {
    expect(tooDear(beats, process, dollars[process])).toBeNull();
    expect(tooDear(beats, process, dollars[process] * 1.029)).toBeNull();
    expect(tooDear(beats, process, dollars[process] * 1.031)).toMatch(/more than \$0\.0/);
  });
});

test("a number of beats without a limit is refused", () => {
  expect([...BOUNDS.keys()]).toEqual([1, 10, 25, 50]);
  expect(tooDear(7, "same", 0)).toContain("no bound");
});
