/** An agent with a schedule in a world in memory, and the runs that it starts. */
import type { Agent, Schedule } from "../../../src/ports/agent.ts";
import { fire } from "../../../src/features/schedules/fire.ts";
import { firingKey } from "../../../src/features/schedules/schedule-memory.ts";
import { startRun } from "../../../src/operations/start.ts";
import { runId } from "../../../src/protocol/ids.ts";
import type { FiringOutcome } from "../../../src/protocol/firing.ts";
import { hasEnded } from "../../../src/protocol/row.ts";
import type { World } from "../../../src/ports/world.ts";
import { scriptedAgent, MS, type Harness, createSupervisedHarness } from "./harness.ts";

export const scheduledAgent = (of: Partial<Schedule> = {}): Agent => ({
  ...scriptedAgent({}),
  schedule: { every: "rate(1 hour)", timezone: "UTC", input: {}, overlap: "skip", missed: "latest", ...of },
});

export interface ScheduleHarness {
  readonly harness: Harness;
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

export function createScheduleHarness(agent: Agent): ScheduleHarness {
  const harness = createSupervisedHarness();
  const created: string[] = [];
  let mostAlive = 0;
  const create: World["table"]["create"] = async (creation) => {
    const outcome = await harness.world.table.create(creation);
    if (outcome.kind === "created") created.push(creation.run);
    const alive = [...harness.world.store.rows.values()].filter((row) => !hasEnded(row)).length;
    mostAlive = Math.max(mostAlive, alive);
    return outcome;
  };
  const world: World = { ...harness.world, table: { ...harness.world.table, create } };
  const tenant = "lane";
  return {
    ...{ harness, world, created },
    mostAlive: () => mostAlive,
    fire: async (at, of = {}) => {
      const firing = { agent, tenant, at, watched: of.watched ?? true, startRun };
      return (await fire(of.world ?? world, harness.invocation(), firing)).outcome;
    },
    runOf: (at) => runId(world.hash, { tenant, agent: agent.name, idempotencyKey: firingKey(agent.name, at) }),
    end: (run) => harness.changeRow({ run }, { status: "completed", phase: "Completed" }),
    lapse: () => harness.clock.moveTo(harness.clock.now() + MS.beat + MS.skew),
  };
}

/** The last full hour; test schedules fire then and every hour after it. */
export const lastFullHour = ({ harness }: ScheduleHarness): number =>
  Math.floor(harness.clock.now() / MS.hour) * MS.hour;
