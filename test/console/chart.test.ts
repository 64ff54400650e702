/** The geometry of the console's chart. */
import { describe, expect, test } from "vitest";
import { outlineOf, placeAfter, placesTo, ticksTo } from "../../src/console/model/chart.ts";

describe("ticks", () => {
  test("are round, begin at 0, and reach the highest value", () => {
    expect(ticksTo(0.0037, 4)).toEqual([0, 0.001, 0.002, 0.003, 0.004]);
    expect(ticksTo(12, 4)).toEqual([0, 5, 10, 15]);
    expect(ticksTo(4, 4)).toEqual([0, 1, 2, 3, 4]);
    for (const most of [1e-6, 0.3, 0.7, 1, 9.99, 1_234]) {
      const ticks = ticksTo(most, 4);
      expect(ticks.at(-1)).toBeGreaterThanOrEqual(most);
      expect(ticks.length).toBeLessThanOrEqual(6);
    }
  });

  test("are 0 alone when nothing cost anything", () => {
    expect(ticksTo(0, 4)).toEqual([0]);
  });

  test("name the first beat and round ones, and every beat of a few", () => {
    expect(placesTo(3, 8)).toEqual([1, 2, 3]);
    expect(placesTo(2_000, 4)).toEqual([1, 500, 1_000, 1_500, 2_000]);
  });
});

describe("outline", () => {
  test("goes along each value, and ends where it began: at the bottom", () => {
    expect(outlineOf([1, 2], 4)).toBe("M0 100V75H1V50H2V100Z");
  });

  test("lies at the bottom when all values are 0", () => {
    expect(outlineOf([0, 0], 0)).toBe("M0 100V100H1V100H2V100Z");
  });

  test("keeps the highest of the values that share a column", () => {
    const values = Array.from({ length: 2_000 }, (_, index) => (index === 1_001 ? 10 : 1));
    const path = outlineOf(values, 10);
    expect(path.match(/H/g)).toHaveLength(500);
    expect(path).toContain("V0H1004V90");
    expect(path.endsWith("H2000V100Z")).toBe(true);
  });
});

test("keys lead to the next, the previous, a tenth further, the first and the last value, and no further", () => {
  const after = (key: string, at: number) => placeAfter(key, at, 50);
  expect(["ArrowRight", "ArrowLeft", "PageDown", "PageUp", "Home", "End"].map((key) => after(key, 20))).toEqual([
    21, 19, 15, 25, 0, 49,
  ]);
  expect([after("ArrowRight", 49), after("ArrowLeft", 0), after("ArrowRight", -1)]).toEqual([49, 0, 0]);
  expect(after("a", 3)).toBe(null);
});
