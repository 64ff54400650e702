/** How soon a supervisor cleans up after many removed runs, and which pauses it leaves to the beats. */
import { expect, test } from "vitest";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import type { DrivenStore } from "../../src/ports/driven-store.ts";
import type { Incarnation } from "../../src/protocol/row.ts";
import { retentionOf } from "../../src/workers/retention.ts";
import type { Pool, TaskEnd, Worker } from "../../src/workers/workers.ts";

test("cleans up after 500 runs within a second of pauses, with a pause after each fifty", () => {
  const clock = virtualClock(0);
  const due: Incarnation[] = Array.from({ length: 500 }, (_, index) => ({ run: `run-${index}`, born: "b" }));
  let looks = 0;
  const store = {
    removals: () => ({
      expire: () => false,
      expireArchives: () => undefined,
      firstDue: () => {
        looks += 1;
        return due[0] ?? null;
      },
      postpone: () => undefined,
      finish: () => void due.shift(),
    }),
    orphanSearch: () => ({ read: () => ({ dueAt: Infinity, after: null }), write: () => undefined }),
  } satisfies Pick<DrivenStore, "removals" | "orphanSearch">;
  const ends: ((end: TaskEnd) => void)[] = [];
  const pool = { run: (_: Worker, { onEnd }) => void ends.push(onEnd) } as Partial<Pool> as Pool;
  const backlog = { keep: (write: () => void) => write(), goOn: () => undefined, flush: () => undefined };
  const of = { store, clock, onEvent: () => undefined, onProgress: () => undefined };
  const retention = retentionOf(of, { pool, backlog });
  let pauses = 0;
  while (due.length > 0) {
    const upkeep = retention.next();
    if (upkeep === null) {
      pauses += 1;
      clock.moveTo(clock.now() + 1);
    } else {
      retention.start({} as Worker, upkeep);
      ends.pop()?.({ kind: "answered", answer: { kind: "cleanUp" } } as TaskEnd);
    }
  }
  expect(looks).toBe(500);
  expect(clock.now()).toBeLessThan(1_000);
  expect(pauses).toBeGreaterThanOrEqual(9);
});
