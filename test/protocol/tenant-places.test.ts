/** Who has a place of a tenant: the latest attempt of its run, for a time. */
import { expect, test } from "vitest";
import { type TenantPlaces, withPlace, withoutPlace } from "../../src/protocol/tenant-places.ts";

const place = (epoch: number, retry = 0, until = 1_000) => ({ epoch, retry, holder: `h${epoch}-${retry}`, until });
const BOTH: TenantPlaces = { a: place(1), b: place(1) };
const asked = (run: string, of: ReturnType<typeof place>, now = 0) => withPlace(BOTH, { run, place: of, most: 2, now });

test("a run has a place as long as there are some, and waits otherwise", () => {
  expect(withPlace({}, { run: "a", place: place(1), most: 1, now: 0 })).toEqual({ a: place(1) });
  expect(asked("c", place(4))).toBeNull();
});

test("a place whose time is over is free", () => {
  expect(asked("c", place(4), 999)).toBeNull();
  expect(asked("c", place(4, 0, 2_000), 1_000)).toEqual({ c: place(4, 0, 2_000) });
});

test("a later attempt of a run takes over its place, an earlier one or the same one again does not", () => {
  expect(asked("a", place(2))).toEqual({ ...BOTH, a: place(2) });
  expect(asked("a", place(1, 1))).toEqual({ ...BOTH, a: place(1, 1) });
  for (const stale of [place(1), place(0, 7)]) expect(asked("a", { ...stale, holder: "other" })).toBe(BOTH);
});

test("a retry waits for no place, also if that of its run is another's by then", () => {
  expect(asked("c", place(4, 1))).toEqual({ ...BOTH, c: place(4, 1) });
});

test("only who has a place gives it up", () => {
  expect(withoutPlace(BOTH, { run: "a", holder: "h1-0" })).toEqual({ b: place(1) });
  expect(withoutPlace(BOTH, { run: "a", holder: "other" })).toBeNull();
  expect(withoutPlace(BOTH, { run: "c", holder: "h1-0" })).toBeNull();
});
