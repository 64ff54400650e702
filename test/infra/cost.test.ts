/** The cost limits of beats: the measured cost passes them, and a higher cost does not. */
import { expect, test } from "vitest";
import { BOUNDS, tooDear } from "../../scripts/cost-bounds.ts";

test.each([
  [1, 0.0356],
  [10, 0.0083],
  [25, 0.0066],
  [50, 0.006],
])("with %i beats per invocation, 1,000 beats may cost $%d plus 3 %%", (beats, dollars) => {
  expect(tooDear(beats, dollars)).toBeNull();
  expect(tooDear(beats, dollars * 1.029)).toBeNull();
  expect(tooDear(beats, dollars * 1.031)).toMatch(/more than \$0\.0/);
});

test("a number of beats without a limit is refused", () => {
  expect([...BOUNDS.keys()]).toEqual([1, 10, 25, 50]);
  expect(tooDear(7, 0)).toContain("no bound");
});
