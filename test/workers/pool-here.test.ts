/** Beats in the caller's process: what is under way is over before a drain is. */
import { expect, test } from "vitest";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import type { TaskResult } from "../../src/protocol/chain.ts";
import { createPoolHere } from "../../src/workers/pool-here.ts";
import type { TaskEnd } from "../../src/workers/worker-process.ts";
import { flushPromises } from "../support/harness/harness.ts";

const AT = Date.UTC(2026, 10, 30);
const GRACE_MS = 8_000;

/** A pool whose tasks end when the test says so. */
function poolOf() {
  const clock = virtualClock(AT);
  const under: PromiseWithResolvers<TaskResult>[] = [];
  const here = {
    run: () => {
      const task = Promise.withResolvers<TaskResult>();
      under.push(task);
      return task.promise;
    },
    clean: (text: string) => text,
    onBroken: () => undefined,
  };
  const ends: string[] = [];
  const pool = createPoolHere({ here, beatsPerWorker: 4, beatMs: 60_000, clock, onEnded: () => undefined });
  const begin = (): void => {
    const taken = pool.take({ agent: null, execution: "e", failures: 0 });
    if (taken === null) throw new Error("the pool has no place");
    pool.run(taken, { task: { kind: "sweep" }, onEnd: ({ kind }: TaskEnd) => ends.push(kind) } as never);
  };
  const end = async (nth: number): Promise<void> => {
    under[nth]?.resolve({ kind: "swept" } as never);
    await flushPromises();
  };
  const drain = () => {
    let isOver = false;
    void pool.drain(GRACE_MS, "hurry").then(() => (isOver = true));
    return { isOver: () => isOver };
  };
  return { pool, clock, ends, begin, end, drain };
}

test("a drain waits for the task that is out, although the pool was empty before", async () => {
  const { pool, ends, begin, end, drain } = poolOf();
  begin();
  await end(0);
  begin();
  const [first, second] = [drain(), drain()];
  await flushPromises();
  expect({ first: first.isOver(), second: second.isOver() }).toEqual({ first: false, second: false });
  expect(pool.take({ agent: null, execution: null, failures: 0 })).toBeNull();
  await end(1);
  expect({ first: first.isOver(), second: second.isOver() }).toEqual({ first: true, second: true });
  expect(ends).toEqual(["answered", "answered"]);
});

test("a drain takes back what is out after its grace, and one without tasks is over at once", async () => {
  const { clock, ends, begin, end, drain } = poolOf();
  begin();
  await end(0);
  begin();
  const late = drain();
  clock.moveTo(AT + GRACE_MS);
  await flushPromises();
  expect({ isOver: late.isOver(), ends }).toEqual({ isOver: true, ends: ["answered", "failed"] });
  const again = drain();
  await flushPromises();
  expect(again.isOver()).toBe(true);
});
