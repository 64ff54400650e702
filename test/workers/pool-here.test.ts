/** Beats in the process of their supervisor. */
import { expect, test } from "vitest";
import { NOW } from "../process/fixtures/store.ts";
import { BEAT_MS, WISH, poolHere, reply } from "../support/harness/pool-here.ts";
import { flushPromises } from "../support/harness/harness.ts";

test("a beat that outlives its deadline in the caller's process has failed, and ends the beats there", async () => {
  const { clock, pool, begun, ended, begin } = poolHere();
  const late = begin("late");
  clock.moveTo(NOW + BEAT_MS - 1);
  expect({ late, ended }).toEqual({ late: [], ended: [] });
  clock.moveTo(NOW + BEAT_MS);
  expect(late).toMatchObject([{ kind: "failed", how: "it outlived its deadline", hasDied: true }]);
  expect(ended).toMatchObject([{ run: "late", what: "a beat outlived its deadline" }]);
  // What it answers later counts no more.
  begun[0]?.answer.resolve({ kind: "beat", reply });
  await flushPromises();
  expect({ late: late.length, ended: ended.length, taken: pool.take(WISH) }).toEqual({
    late: 1,
    ended: 1,
    taken: null,
  });
});

test("a drain of the caller's process waits for its beats as long as it may, and then leaves them", async () => {
  const { clock, pool, begun, ended, begin } = poolHere();
  const left = begin("left");
  const drained = pool.drain(8_000, "hurry");
  expect(begun[0]?.invocation.drain.aborted).toBe(true);
  clock.moveTo(NOW + 8_000);
  await drained;
  expect(left).toMatchObject([{ kind: "failed", hasDied: false }]);
  expect(ended).toEqual([]);
});

test("the caller's process has as many beats at once as it may, and tasks of the house beside them", async () => {
  const { pool, begun, begin } = poolHere();
  begin("one");
  begin("two");
  expect(pool.take(WISH)).toBeNull();
  expect(pool.take({ ...WISH, execution: null })).not.toBeNull();
  pool.freeUnused();
  begun[0]?.answer.reject(new Error("of one run"));
  await flushPromises();
  expect(pool.take(WISH)).not.toBeNull();
});

test("the load of the caller's process has its tasks, and no free place once its beats have ended", async () => {
  const { pool, begin } = poolHere();
  begin("one");
  const free = { pid: process.pid, agent: null, waiting: 0, tasks: 1, free: 1 };
  expect(pool.load()).toEqual({ processes: [free], processesMax: 1, free: 1 });
  const drained = pool.drain(8_000, "finish");
  expect(pool.load().free).toBe(0);
  void drained;
});

test("a drain of the caller's process waits for the beat that is under way, although none was between two beats", async () => {
  const { pool, begun, begin } = poolHere();
  begin("first");
  begun[0]?.answer.resolve({ kind: "beat", reply });
  await flushPromises();
  const ends = begin("second");
  const over: string[] = [];
  // One that hurries may follow one that does not.
  void pool.drain(8_000, "finish").then(() => over.push("finished"));
  void pool.drain(8_000, "hurry").then(() => over.push("hurried"));
  await flushPromises();
  expect({ over, ends }).toEqual({ over: [], ends: [] });
  begun[1]?.answer.resolve({ kind: "beat", reply });
  await flushPromises();
  expect({ over, ends }).toMatchObject({ over: ["finished", "hurried"], ends: [{ kind: "answered" }] });
});
