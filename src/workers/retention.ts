/**
 * The supervisor's upkeep of expired runs. It removes expired rows, which other stores do by themselves, and starts the
 * clean-up of removed incarnations. Once a day it starts a search for objects that no row names, and removes expired
 * archives. It runs one of these tasks at a time, between beats, so that old runs never hold up a live one.
 */
import type { Task } from "../protocol/chain.ts";
import type { Clock } from "../ports/world.ts";
import type { Backlog } from "./backlog.ts";
import type { DrivenStore, OrphanPlan, OrphanSearch } from "../ports/driven-store.ts";
import type { SupervisorEvent } from "../ports/supervisor-events.ts";
import type { Pool, TaskEnd, Taken } from "./workers.ts";

interface Upkeep {
  readonly task: Extract<Task, { readonly kind: "cleanUp" | "orphans" }>;
  /** Stores the outcome; all or nothing, since it may be called again. */
  readonly settle: (end: TaskEnd) => void;
}

export interface RetentionWork {
  /** Removes a bounded number of expired rows. */
  readonly expire: () => void;
  /** The next task, or null. */
  readonly next: () => Upkeep | null;
  readonly start: (worker: Taken, upkeep: Upkeep) => void;
}

const EXPIRE_EVERY_MS = 60_000;
const EXPIRED_AT_ONCE = 100;
/** The clean-ups of one task. Then a pause leaves the store to the beats, as after each other task. */
const CLEAN_UPS_AT_ONCE = 50;
const BREATH_MS = 20;
/** How often it polls for removed rows when there were none. */
const LOOK_EVERY_MS = 1_000;
/** The pause before a failed task is retried. */
const RETRY_MS = 60_000;
const ORPHANS_EVERY_MS = 24 * 3_600_000;

export function retentionWork(
  options: {
    readonly store: Pick<DrivenStore, "removals" | "orphanSearch">;
    readonly clock: Clock;
    readonly onEvent: (event: SupervisorEvent) => void;
    readonly onProgress: () => void;
  },
  { backlog, pool }: { readonly pool: Pick<Pool<Taken>, "run">; readonly backlog: Backlog },
): RetentionWork {
  const { store, clock, onEvent, onProgress } = options;
  const removals = store.removals();
  const plan = orphanPlanOf(store.orphanSearch(), clock);
  let expireAt = 0;
  let lookAt = 0;
  let isOut = false;
  let atOnce = CLEAN_UPS_AT_ONCE;

  const cleanUp = (): Upkeep | null => {
    const removed = removals.due(clock.now(), atOnce);
    const [first] = removed;
    if (first === undefined) return null;
    const settle = (end: TaskEnd): void => {
      const isDone = end.kind === "answered" && end.answer.kind === "cleanUp";
      if (isDone) removals.finish(removed.slice(0, end.answer.done));
      // Which of several failed is not known, so each is tried alone, and the others do not wait for it.
      else if (removed.length === 1) removals.postpone(first, clock.now() + RETRY_MS);
      atOnce = isDone ? Math.min(2 * atOnce, CLEAN_UPS_AT_ONCE) : 1;
    };
    return { task: { kind: "cleanUp", removed }, settle };
  };
  const orphans = (): Upkeep | null => {
    const { dueAt, after } = plan.read();
    if (clock.now() < dueAt) return null;
    const settle = (end: TaskEnd): void => {
      const next = end.kind === "answered" && end.answer.kind === "orphans" ? end.answer.next : after;
      const isOver = end.kind === "answered" && next === null;
      if (isOver) removals.expireArchives(clock.earliest());
      const pause = isOver ? ORPHANS_EVERY_MS : end.kind === "answered" ? 0 : RETRY_MS;
      plan.write({ dueAt: clock.now() + pause, after: next });
    };
    return { task: { kind: "orphans", after }, settle };
  };
  return {
    expire: () => {
      if (clock.now() < expireAt) return;
      const isMore = removals.expire(clock.earliest(), EXPIRED_AT_ONCE);
      expireAt = isMore ? 0 : clock.now() + EXPIRE_EVERY_MS;
    },
    next: () => {
      if (isOut || clock.now() < lookAt) return null;
      const upkeep = cleanUp() ?? orphans();
      if (upkeep === null) lookAt = clock.now() + LOOK_EVERY_MS;
      return upkeep;
    },
    start: (worker, { task, settle }) => {
      isOut = true;
      const onEnd = (end: TaskEnd): void => {
        for (const event of eventsOf(task, end)) onEvent(event);
        backlog.keep(() => {
          settle(end);
          lookAt = clock.now() + BREATH_MS;
          isOut = false;
        });
        onProgress();
      };
      pool.run(worker, { task, onEnd });
    },
  };
}

/** One event for each run whose clean-up is over, or failed. */
function eventsOf(task: Upkeep["task"], end: TaskEnd): readonly SupervisorEvent[] {
  const { kind } = task;
  const runs = task.kind === "cleanUp" ? task.removed.map(({ run }) => run) : [null];
  if (end.kind === "failed")
    return runs.map((run) => ({ kind: "upkeepFailed", task: kind, run, how: end.how, error: end.error }));
  const done = end.answer.kind === "cleanUp" ? end.answer.done : runs.length;
  return runs.slice(0, done).map((run) => ({ kind: "upkeepDone", task: kind, run }));
}

/** In a store without a plan no object is old enough yet. */
function orphanPlanOf(search: OrphanSearch, clock: Clock) {
  const begin = (): OrphanPlan => {
    const plan = { dueAt: clock.now() + ORPHANS_EVERY_MS, after: null };
    search.write(plan);
    return plan;
  };
  return { write: search.write, read: (): OrphanPlan => search.read() ?? begin() };
}
