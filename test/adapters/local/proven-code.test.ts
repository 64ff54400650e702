/** Which code of an agent has completed a beat on this machine, as the store remembers it. */
import { expect, test } from "vitest";
import { provenCodeIn } from "../../../src/adapters/local/store/proven-code.ts";
import { temporaryStore } from "../../process/fixtures/store.ts";

test("remembers code at once, in the store once that takes it, and the last eight of an agent", () => {
  const store = temporaryStore();
  const writes: (() => void)[] = [];
  const proven = provenCodeIn(store, (write) => void writes.push(write));
  expect(proven.has("clerk", "c1")).toBe(false);
  proven.add("clerk", "c1");
  expect([proven.has("clerk", "c1"), proven.has("guest", "c1")]).toEqual([true, false]);
  const other = provenCodeIn(store, (write) => write());
  expect(other.has("clerk", "c1")).toBe(false);
  for (const write of writes) write();
  expect({ proven: proven.has("clerk", "c1"), other: other.has("clerk", "c1") }).toEqual({ proven: true, other: true });
  for (let index = 2; index <= 9; index += 1) other.add("clerk", `c${index}`);
  expect(["c1", "c2", "c9"].map((code) => other.has("clerk", code))).toEqual([false, true, true]);
});

test("takes code for new while the store does not answer", () => {
  const store = temporaryStore();
  const proven = provenCodeIn(store, (write) => write());
  proven.add("clerk", "c1");
  store.close();
  expect(proven.has("clerk", "c1")).toBe(false);
});
