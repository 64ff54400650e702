/** Drives a run from its start to its removal, and counts what that takes. */
import { newRunner, performBeats } from "../bench/perform-beats.ts";
import { definitionOf } from "../src/adapters/aws/machine/asl.ts";
import type { MachineState } from "../src/adapters/aws/machine/asl-states.ts";
import { machineTimesOf, planOf } from "../infra/plan.ts";
import { routeErrorName } from "../src/adapters/aws/machine/machine-input.ts";
import { AFTER_BEAT, type Route } from "../src/protocol/chain.ts";
import type { World } from "../src/ports/world.ts";
import type { Agent } from "../src/ports/agent.ts";
import type { Json } from "../src/core/json.ts";
import { cleanUp } from "../src/history/clean-up.ts";
import type { Row } from "../src/protocol/row.ts";
import { PURGE } from "../src/protocol/row-removal.ts";
import { startRun } from "../src/operations/start.ts";
import type { Runner } from "../src/engine/context/runner.ts";
import type { Counts } from "./cost-counts.ts";

/** The billed state transitions of a route: from a beat to the next beat, or to the end of the execution. */
export function transitionsOf(route: Route): number {
  const { States } = definitionOf({
    functions: { beat: "beat", park: "park", sweep: "sweep" },
    ...machineTimesOf(planOf({}, [])),
  });
  if (AFTER_BEAT[route] === "Beat") return 1;
  const { Beat } = States;
  const catchers = Beat.Type === "Task" ? Beat.Catch : [];
  let next = catchers.find(({ ErrorEquals }) => ErrorEquals.includes(routeErrorName(AFTER_BEAT[route])))?.Next;
  let entered = 1;
  while (next !== undefined && next !== "Beat") {
    const state: MachineState | undefined = States[next];
    entered += 1;
    next = state !== undefined && "Next" in state ? state.Next : undefined;
  }
  return entered;
}

/** What is run, and where its requests are counted. */
export interface Driven {
  readonly agent: Agent;
  readonly input: Json;
  readonly beats: number;
  readonly counts: Counts;
}

/**
 * Drives a run to its end, and cleans up after its removal. Each invocation gets its world from `worldAt`, and a new
 * world begins with empty caches.
 */
export async function drive(worldAt: () => World, { agent, input, beats, counts }: Driven): Promise<void> {
  let runner = newRunner(worldAt(), agent);
  const { world } = runner;
  const started = await startRun(world, { agent, input, tenant: "cost", idempotencyKey: null });
  if (started.kind !== "started") throw new Error(`cannot start: ${started.kind}`);
  const runnerNow = (): Runner => {
    const now = worldAt();
    if (now !== runner.world) runner = newRunner(now, agent);
    return runner;
  };
  for await (const route of performBeats(started.row, runnerNow)) {
    counts.invocations += 1;
    counts.transitions += transitionsOf(route);
  }
  const row = await world.table.read(started.row.run, Date.now());
  if (row?.status !== "completed" || row.spent.beats !== beats)
    throw new Error(`${row?.status} after ${row?.spent.beats} beats`);
  await removed(world, row, counts);
}

/** The time to live removes a row for nothing. Then the stream invokes the clean-up. */
async function removed(world: World, { run, born }: Row, counts: Counts): Promise<void> {
  const before = { ...counts };
  const { kind } = await world.table.decide({ run, born, now: Date.now() }, PURGE);
  if (kind !== "purged") throw new Error(`the row is not removed: ${kind}`);
  Object.assign(counts, before);
  counts.invocations += 1;
  await cleanUp(world, { run, born });
}
