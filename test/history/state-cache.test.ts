/** The states that a process keeps: found by the bytes that it wrote, and bounded in size. */
import { expect, test } from "vitest";
import { StateCache } from "../../src/history/state-cache.ts";
import type { Row } from "../../src/protocol/row.ts";

const pointer = (version: number) => ({ version, key: `snapshots/${version}`, digest: `digest of ${version}` });
const rowAt = (run: string, version: number, born = "b1"): Row =>
  ({ run, born, snapshot: pointer(version), storeOutage: null }) as Row;
const known = { snapshot: {}, state: {} } as Parameters<StateCache["add"]>[2];

test("a state is found for the row that names its snapshot, and for no other row", () => {
  const cache = new StateCache();
  cache.add({ run: "r", born: "b1" }, pointer(3), { ...known, bytes: 10 });
  expect(cache.get(rowAt("r", 3))).toMatchObject(known);
  expect(cache.get(rowAt("r", 2))).toBeUndefined();
  expect(cache.get(rowAt("r", 3, "b2"))).toBeUndefined();
  expect(cache.get(rowAt("q", 3))).toBeUndefined();
  expect(cache.get({ ...rowAt("r", 3), snapshot: { ...pointer(3), digest: "another" } })).toBeUndefined();
  expect(cache.get({ ...rowAt("r", 3), snapshot: { ...pointer(3), key: "another" } })).toBeUndefined();
});

test("the state of the next version replaces it", () => {
  const cache = new StateCache();
  for (const version of [1, 2]) cache.add({ run: "r", born: "b1" }, pointer(version), { ...known, bytes: 10 });
  expect(cache.get(rowAt("r", 1))).toBeUndefined();
  expect(cache.get(rowAt("r", 2))).toBeDefined();
});

test("beyond 32 MB the runs that were stored longest ago are dropped", () => {
  const cache = new StateCache();
  const bytes = 10 * 1024 * 1024;
  for (const run of ["a", "b", "a", "c", "d"]) cache.add({ run, born: "b1" }, pointer(1), { ...known, bytes });
  const held = ["a", "b", "c", "d"].filter((run) => cache.get(rowAt(run, 1)) !== undefined);
  expect(held).toEqual(["a", "c", "d"]);
});
