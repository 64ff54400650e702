/**
 * What the store remembers of a schedule: its newest decision, and whether an operator paused it. Each is the cursor of a
 * mutex lease of its own. The pause is a register: its lease is given up in the write that takes it, so the last writer
 * counts.
 */
import * as z from "zod";
import { firing } from "../../codec/schema/run-started.ts";
import { RowNewer, RowUnreadable } from "../../codec/row.ts";
import type { LastFiring } from "../../protocol/firing.ts";
import { hasEnded } from "../../protocol/row.ts";
import type { World } from "../../ports/world.ts";
import { findRow } from "../../history/damage.ts";
import { storeCursor } from "../../history/resolve-ambiguous-write.ts";

/** A schedule: an agent has one, for each tenant. */
export interface ScheduleRef {
  readonly agent: { readonly name: string };
  readonly tenant: string;
}

/** The lease whose cursor holds the newest decision. */
export const scheduleName = ({ tenant, agent }: ScheduleRef): string => `schedule ${tenant} ${agent.name}`;

const pauseName = ({ tenant, agent }: ScheduleRef): string => `pause of schedule ${tenant} ${agent.name}`;

/** The newest firing that was decided, or null if none was. */
export const lastFired = async (world: World, schedule: ScheduleRef): Promise<LastFiring | null> =>
  lastFiringIn(await world.leases.cursorOf(scheduleName(schedule)));

export const lastFiring: z.ZodType<LastFiring> = z.object({
  at: z.number(),
  decidedAt: z.number(),
  run: z.string().nullable(),
  stage: z.enum(["starting", "started", "passed"]),
  of: z.string(),
  firing: firing.exactOptional(),
});

export function lastFiringIn(cursor: string | null): LastFiring | null {
  return cursor === null ? null : lastFiring.parse(JSON.parse(cursor));
}

/** The idempotency key of a firing: all its deliveries make one run. `at` is in epoch milliseconds. */
export const firingKey = (agent: string, at: number): string => `schedule ${agent} ${new Date(at).toISOString()}`;

/** Who paused a schedule, and when (epoch milliseconds). */
export interface SchedulePause {
  readonly by: string;
  readonly at: number;
}

export const pause: z.ZodType<SchedulePause> = z.object({ by: z.string(), at: z.number() });

/** Null if the schedule is not paused. */
export async function pausedIn(world: World, schedule: ScheduleRef): Promise<SchedulePause | null> {
  const cursor = await world.leases.cursorOf(pauseName(schedule));
  return cursor === null ? null : pause.parse(JSON.parse(cursor));
}

/** Pauses the schedule, or lets it go on (null). */
export async function setPaused(world: World, schedule: ScheduleRef, paused: SchedulePause | null): Promise<void> {
  await storeCursor(world, { name: pauseName(schedule), cursor: paused === null ? null : JSON.stringify(paused) });
}

/** The run that the schedule started last, if it is alive. */
export async function aliveRun(world: World, last: LastFiring | null): Promise<string | null> {
  if (last === null || last.run === null) return null;
  const row = await findRow(world, last.run, world.clock.now());
  // A newer version of cairn continues the run, so it is alive.
  if (row instanceof RowNewer) return last.run;
  // No invocation can continue a run whose row is damaged, so the run must not block its schedule forever.
  return row === null || row instanceof RowUnreadable || hasEnded(row) ? null : last.run;
}
