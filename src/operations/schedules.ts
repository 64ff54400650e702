/** Lists the schedules of agents: when each fires next, its last firing, and who paused it. */
import type { Schedule } from "../ports/agent.ts";
import type { LastFiring } from "../protocol/firing.ts";
import type { World } from "../ports/world.ts";
import type { AgentCatalogue } from "./agents.ts";
import { type SchedulePause, lastFired, pausedIn } from "../features/schedules/schedule-memory.ts";

/** The next times of a schedule after `now`, epoch milliseconds. */
export type FiringsOf = (schedule: Pick<Schedule, "every" | "timezone">, now: number) => readonly number[];

export interface Scheduled extends Omit<Schedule, "input"> {
  readonly agent: string;
  /** The next firings, epoch milliseconds; empty if it never fires again, or if this process cannot compute them. */
  readonly next: readonly number[];
  /** The newest firing that was decided; null if none was. */
  readonly last: Pick<LastFiring, "at" | "run" | "stage"> | null;
  readonly paused: SchedulePause | null;
}

export interface ScheduleList {
  readonly kind: "listed";
  readonly schedules: readonly Scheduled[];
  readonly broken: AgentCatalogue["broken"];
}

/** `world`: null if there is no store yet, so nothing has fired. */
export async function listSchedules(
  world: World | null,
  {
    tenant,
    firingsOf,
    now,
    catalogue,
  }: {
    readonly catalogue: AgentCatalogue;
    readonly tenant: string;
    readonly firingsOf: FiringsOf;
    readonly now: number;
  },
): Promise<ScheduleList> {
  const { agents, broken } = catalogue;
  const named = new Map(agents.map((agent) => [agent.name, agent]));
  const schedules: Scheduled[] = [];
  for (const agent of [...named.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    if (agent.schedule === null) continue;
    const { every, timezone, overlap, missed } = agent.schedule;
    const last = world === null ? null : await lastFired(world, { agent, tenant });
    schedules.push({
      agent: agent.name,
      every,
      timezone,
      overlap,
      missed,
      next: firingsOf({ every, timezone }, now),
      last: last === null ? null : { at: last.at, run: last.run, stage: last.stage },
      paused: world === null ? null : await pausedIn(world, { agent, tenant }),
    });
  }
  return { kind: "listed", schedules, broken };
}
