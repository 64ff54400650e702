/** How soon a supervisor cleans up after many removed runs, and which pauses it leaves to the beats. */
import { expect, test } from "vitest";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import type { DrivenStore } from "../../src/ports/driven-store.ts";
import type { SupervisorEvent } from "../../src/ports/supervisor-events.ts";
import type { Incarnation } from "../../src/protocol/row.ts";
import { retentionWork } from "../../src/workers/retention.ts";
import type { Pool, TaskEnd, Worker } from "../../src/workers/workers.ts";

/** Removed runs that wait for their clean-up, in a worker whose answers `end` gives. Plays until none is due. */
function play(count: number, end: (removed: readonly Incarnation[]) => TaskEnd) {
  const clock = virtualClock(0);
  const due = Array.from({ length: count }, (_, index) => ({ run: `run-${index}`, born: "b", dueAt: 0 }));
  const seen = { looks: 0, postponed: [] as string[], events: [] as SupervisorEvent[] };
  const now = (): readonly Incarnation[] => due.filter(({ dueAt }) => dueAt <= clock.now());
  const store = {
    removals: () => ({
      expire: () => false,
      expireArchives: () => undefined,
      due: (_: number, limit: number) => {
        seen.looks += 1;
        return now().slice(0, limit);
      },
      postpone: ({ run }, until) => {
        seen.postponed.push(run);
        for (const each of due) if (each.run === run) each.dueAt = until;
      },
      finish: (removed) => {
        for (const { run } of removed)
          due.splice(
            due.findIndex((each) => each.run === run),
            1,
          );
      },
    }),
    orphanSearch: () => ({ read: () => ({ dueAt: Infinity, after: null }), write: () => undefined }),
  } satisfies Pick<DrivenStore, "removals" | "orphanSearch">;
  const ends: (() => void)[] = [];
  const pool = {
    run: (_: Worker, { task, onEnd }) => void ends.push(() => onEnd(end(task.kind === "cleanUp" ? task.removed : []))),
  } as Partial<Pool> as Pool;
  const backlog = { keep: (write: () => void) => write(), goOn: () => undefined, flush: () => undefined };
  const onEvent = (event: SupervisorEvent): void => void seen.events.push(event);
  const retention = retentionWork({ store, clock, onEvent, onProgress: () => undefined }, { pool, backlog });
  while (now().length > 0) {
    const upkeep = retention.next();
    if (upkeep === null) clock.moveTo(clock.now() + 1);
    else {
      retention.start({} as Worker, upkeep);
      ends.pop()?.();
    }
  }
  return { ...seen, left: due.map(({ run }) => run), ms: clock.now() };
}

const answered = (done: number): TaskEnd => ({ kind: "answered", answer: { kind: "cleanUp", done } }) as TaskEnd;

test("cleans up after 500 runs in ten tasks, with a pause behind each", () => {
  const { looks, left, ms, events } = play(500, (removed) => answered(removed.length));
  expect({ looks, left, ms }).toEqual({ looks: 10, left: [], ms: 180 });
  expect(events).toHaveLength(500);
});

test("goes on behind what a task had time for", () => {
  const { left, events } = play(7, () => answered(1));
  expect(left).toEqual([]);
  expect(events.map((event) => "run" in event && event.run)).toEqual(Array.from({ length: 7 }, (_, at) => `run-${at}`));
});

test("one clean-up that fails holds up no other, and only it is put off", () => {
  const failed: TaskEnd = { kind: "failed", how: "the task threw", error: null, hasDied: false };
  const { left, postponed } = play(120, (removed) =>
    removed.some(({ run }) => run === "run-60") ? failed : answered(removed.length),
  );
  expect({ left, postponed }).toEqual({ left: ["run-60"], postponed: ["run-60"] });
});
