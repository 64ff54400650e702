/** A program that runs beats in its own process, which nobody may kill: schedule 266. */
import { expect, test } from "vitest";
import { WISH, poolHere, reply } from "../support/harness/pool-here.ts";
import { flushPromises } from "../support/harness/harness.ts";

test("schedule 266: after a call has outlived its timeout in the caller's process, no further task begins in it", async () => {
  const { pool, begun, ended, begin } = poolHere();
  const [late, other] = [begin("late"), begin("other")];
  begun[0]?.answer.resolve({ kind: "exit", reply });
  await flushPromises();
  // Its answer is stored, the other beat is asked to commit and end, and nothing more begins.
  expect(late).toEqual([{ kind: "answered", answer: { kind: "beat", reply } }]);
  expect(ended).toMatchObject([{ code: "BeatsEnded", run: "late", what: "a call outlived its timeout" }]);
  expect({ aborted: begun[1]?.invocation.drain.aborted, other }).toEqual({ aborted: true, other: [] });
  expect([pool.take(WISH), pool.take({ ...WISH, execution: null })]).toEqual([null, null]);
  const drained = pool.drain(8_000, "hurry");
  begun[1]?.answer.resolve({ kind: "beat", reply });
  await drained;
  expect(other).toEqual([{ kind: "answered", answer: { kind: "beat", reply } }]);
  expect(pool.take(WISH)).toBeNull();
});
