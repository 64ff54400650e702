/** Pauses a schedule, lets it go on, and starts a scheduled run now. */
import type { Agent } from "../ports/agent.ts";
import type { World } from "../ports/world.ts";
import { senderOf } from "../engine/context/inbox.ts";
import type { OperationContext } from "./operation.ts";
import { aliveRun, lastFired, pausedIn, setPaused } from "../features/schedules/schedule-memory.ts";
import { type Started, startRun } from "./start.ts";

type Unscheduled = { readonly kind: "agentUnknown" | "notScheduled" };

/** A schedule as the caller names it. `agent`: its code; null if there is no such agent. */
interface Named {
  readonly agent: Agent | null;
  readonly tenant: string;
  readonly by: string;
}

/** The agent of this name, for the tenant and the actor of the caller. */
export const scheduledAgent = async ({ agentOf, tenant, by }: OperationContext, name: string): Promise<Named> => ({
  agent: await agentOf(name),
  tenant,
  by,
});

/** `paused`: its firings start nothing. `same`: it was paused before, or was not. */
export type PauseOutcome = { readonly kind: "paused" | "resumed" | "same" } | Unscheduled;

export async function pauseSchedule(world: World, { agent, tenant, by }: Named, want: boolean): Promise<PauseOutcome> {
  if (agent === null) return { kind: "agentUnknown" };
  if (agent.schedule === null) return { kind: "notScheduled" };
  const before = await pausedIn(world, { agent, tenant });
  if ((before !== null) === want) return { kind: "same" };
  await setPaused(world, { agent, tenant }, want ? { by: senderOf(by), at: world.clock.now() } : null);
  return { kind: want ? "paused" : "resumed" };
}

export type RunNowOutcome =
  | Started
  | Unscheduled
  /** The run that the schedule started last has not ended, and its runs may not overlap. */
  | { readonly kind: "overlaps"; readonly run: string };

/**
 * Starts a run with the input of the schedule, at once and beside it: its next firing comes as planned, and does not
 * count this run. `key`: the same key gives the same run.
 */
export async function runScheduleNow(
  world: World,
  {
    agent,
    tenant,
    by,
    counted,
    trace,
    key,
  }: Named & Pick<OperationContext, "counted" | "trace"> & { readonly key: string | null },
): Promise<RunNowOutcome> {
  if (agent === null) return { kind: "agentUnknown" };
  if (agent.schedule === null) return { kind: "notScheduled" };
  const { input, overlap, labels } = agent.schedule;
  const last = await lastFired(world, { agent, tenant });
  const alive = overlap === "skip" ? await aliveRun(world, last) : null;
  if (alive !== null) return { kind: "overlaps", run: alive };
  const idempotencyKey = key === null ? null : `schedule ${agent.name} by hand ${key}`;
  const [dueAt, previousDueAt] = [world.clock.now(), last?.firing?.dueAt ?? null];
  const firing = { schedule: agent.name, dueAt, previousDueAt, makesUp: false };
  const started = { agent, tenant, input, idempotencyKey, labels, by, counted, trace, isScheduled: true, firing };
  return startRun(world, started);
}
