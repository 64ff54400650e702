/** An agent with a schedule on a stage in memory, and the runs that it starts. */
import type { Agent, Schedule } from "../../src/ports/agent.ts";
import { firingKey, fire } from "../../src/maintenance/firing.ts";
import { runId } from "../../src/protocol/ids.ts";
import type { FiringOutcome } from "../../src/protocol/firing.ts";
import { hasEnded } from "../../src/protocol/row.ts";
import type { World } from "../../src/ports/world.ts";
import { BEAT_MS, SKEW_MS, actor } from "./stage.ts";
import { type Room, change, invocation, room } from "./supervise.ts";

export const HOUR = 3_600_000;

export const scheduled = (of: Partial<Schedule> = {}): Agent => ({
  ...actor({}),
  schedule: { every: "rate(1 hour)", timezone: "UTC", input: {}, overlap: "skip", missed: "latest", ...of },
});

export interface Plot {
  readonly on: Room;
  /** The world of this process; crashes and freezes wrap it. */
  readonly world: World;
  /** The runs in the order in which their rows were created, one entry per creation. */
  readonly created: string[];
  /** The most runs that were alive at once. */
  readonly mostAlive: () => number;
  readonly fire: (at: number, of?: { readonly world?: World; readonly watched?: boolean }) => Promise<FiringOutcome>;
  readonly runOf: (at: number) => string;
  readonly end: (run: string) => void;
  /** Lets time pass until every holder of a mutex lease must be dead. */
  readonly lapse: () => void;
}

export function plot(agent: Agent): Plot {
  const on = room();
  const created: string[] = [];
  let mostAlive = 0;
  const create: World["table"]["create"] = async (creation) => {
    const outcome = await on.world.table.create(creation);
    if (outcome.kind === "created") created.push(creation.run);
    const alive = [...on.world.store.rows.values()].filter((row) => !hasEnded(row)).length;
    mostAlive = Math.max(mostAlive, alive);
    return outcome;
  };
  const world: World = { ...on.world, table: { ...on.world.table, create } };
  const tenant = "lane";
  return {
    ...{ on, world, created },
    mostAlive: () => mostAlive,
    fire: async (at, of = {}) => {
      const firing = { agent, tenant, at, watched: of.watched ?? true };
      return (await fire(of.world ?? world, invocation(on), firing)).outcome;
    },
    runOf: (at) => runId(world.hash, { tenant, agent: agent.name, idempotencyKey: firingKey(agent.name, at) }),
    end: (run) => change(on, { run }, { status: "completed", phase: "Completed" }),
    lapse: () => on.clock.moveTo(on.clock.now() + BEAT_MS + SKEW_MS),
  };
}

/** The last full hour; test schedules fire then and every hour after it. */
export const hourOf = ({ on }: Plot): number => Math.floor(on.clock.now() / HOUR) * HOUR;
