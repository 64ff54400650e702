/**
 * Fires schedules, as EventBridge Scheduler does on AWS. This file only decides when. `features/schedules/fire.ts` decides
 * what a firing does, and the store remembers that.
 *
 * It fires only the latest time that has come, so after a pause of the machine there is one firing. There is also one
 * when a supervisor begins: it does not know what its predecessor fired, and the store does. A firing that fails is
 * repeated until a newer one replaces it.
 */
import type { FiringOutcome } from "../protocol/firing.ts";
import type { Clock } from "../ports/world.ts";
import type { ScheduledAgent } from "../ports/supervision.ts";
import type { SupervisorEvent, Fired } from "../ports/supervisor-events.ts";
import type { Pool, TaskEnd, Taken } from "./workers.ts";

export interface Firings {
  /** A firing that is due now, or null. */
  readonly next: () => Due | null;
  readonly start: (worker: Taken, due: Due) => void;
}

interface Due extends Fired {
  readonly plan: Plan;
}

/** The plan of one schedule, in memory. The store holds what was decided. */
interface Plan {
  readonly schedule: ScheduledAgent;
  /** The time to fire for, from `dueAt` on; null: the latest time by then. */
  at: number | null;
  dueAt: number;
  /** False until it has fired once: an earlier supervisor may have fired the times before. */
  isWatched: boolean;
  isOut: boolean;
}

/** The pause before a failed firing is repeated. */
const RETRY_MS = 60_000;

export function firingsOf(
  options: {
    readonly schedules: () => readonly ScheduledAgent[];
    readonly clock: Pick<Clock, "now">;
    readonly onEvent: (event: SupervisorEvent) => void;
    readonly onProgress: () => void;
  },
  pool: Pick<Pool<Taken>, "run">,
): Firings {
  const { clock, onEvent, onProgress } = options;
  const plans = new Map<ScheduledAgent, Plan>();
  let lookedAt = 0;

  const settle = (plan: Plan, { at }: Fired, end: TaskEnd): void => {
    const now = clock.now();
    const outcome = outcomeOf(end);
    plan.isOut = false;
    if (outcome !== null && outcome.kind !== "held") return follow(plan, now, at);
    // A newer time that comes by then is fired in its place.
    plan.at = at;
    plan.dueAt = Math.min(outcome?.until ?? Infinity, now + RETRY_MS);
  };
  return {
    next: () => {
      const now = clock.now();
      // After a clock was put back, times that were computed before are computed again.
      if (now < lookedAt) for (const plan of plans.values()) lookAgain(plan, now);
      lookedAt = now;
      for (const schedule of options.schedules()) {
        const plan = plans.get(schedule) ?? planOf(schedule);
        plans.set(schedule, plan);
        if (plan.isOut || now < plan.dueAt) continue;
        const at = plan.schedule.latest(now) ?? plan.at;
        if (at !== null) return { agent: plan.schedule.agent, at, plan };
        follow(plan, now, now);
      }
      return null;
    },
    start: (worker, due) => {
      const { plan, agent, at } = due;
      plan.isOut = true;
      const onEnd = (end: TaskEnd): void => {
        onEvent(eventOf({ agent, at }, end));
        settle(plan, due, end);
        onProgress();
      };
      const { tenant } = plan.schedule;
      pool.run(worker, { task: { kind: "firing", agent, tenant, at, watched: plan.isWatched }, onEnd });
    },
  };
}

/** Plans the first time after `at`; a time that has already come is due at once. */
function follow(plan: Plan, now: number, at: number): void {
  plan.at = null;
  plan.isWatched = true;
  plan.dueAt = plan.schedule.next(Math.min(now, at)) ?? Infinity;
}

const planOf = (schedule: ScheduledAgent): Plan => ({
  schedule,
  at: null,
  dueAt: 0,
  isWatched: false,
  isOut: false,
});

function lookAgain(plan: Plan, now: number): void {
  if (plan.isWatched) plan.dueAt = plan.at === null ? (plan.schedule.next(now) ?? Infinity) : now;
}

const outcomeOf = (end: TaskEnd): FiringOutcome | null =>
  end.kind === "answered" && end.answer.kind === "firing" ? end.answer.outcome : null;

function eventOf({ agent, at }: Fired, end: TaskEnd): SupervisorEvent {
  const outcome = outcomeOf(end);
  if (outcome !== null) return { kind: "fired", agent, at, outcome };
  const failed = end.kind === "failed" ? { how: end.how, error: end.error } : { how: "no answer", error: null };
  return { kind: "firingFailed", agent, at, ...failed };
}
