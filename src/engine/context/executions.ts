/** Starts the execution that drives a run, moves a run to its next execution, and wakes a run that waits. */
import { executionName } from "../../protocol/ids.ts";
import type { Payload } from "../../protocol/chain.ts";
import type { ListedRow } from "../../protocol/row.ts";
import { isAsleep, isUnbegun } from "../../protocol/row-park.ts";
import { type HandOver, type HandOverOutcome, HAND_OVER } from "../../protocol/row-hand-over.ts";
import type { World } from "../../ports/world.ts";
import { resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";

/**
 * Starts the execution that the row names. The row is written first and the start depends on the row alone, so it can
 * be repeated. If that execution is over and the run is not, its name is used up. Then the run is handed to the next
 * execution (schedule 20). Returns `going` if the execution was started before and has not ended.
 */
export async function startExecution(world: World, row: ListedRow): Promise<"going" | "begun"> {
  const { run, born, chain, epoch, agent } = row;
  const started = await start(world, { run, born, chain, epoch, agent });
  if (started.kind === "exists" && started.running) return "going";
  if (started.kind === "exists") await startNextExecution(world, { run, born, chain });
  return "begun";
}

/** Hands the run over to the next execution and starts that execution. */
export async function startNextExecution(world: World, standing: Omit<HandOver, "now">): Promise<void> {
  const { run, born } = standing;
  const outcome = await handOver(world, standing);
  if (outcome.kind !== "handed") return;
  const { row } = outcome;
  await start(world, { run, born, chain: row.chain, epoch: row.epoch, agent: row.agent });
}

/**
 * Wakes a run that waits: its execution, or by a hand-over and the next execution if its own has ended. Returns whether
 * an execution goes on with the run.
 *
 * Schedule 172: a sender dies between the hand-over and the start. The next sender, or the same one that repeats its
 * message, starts that execution; without one the sweeper does.
 *
 * Schedule 173: two senders read the same row. The condition on the epoch lets one of them hand the run over, and both
 * start the same execution, which is one start.
 */
export async function wakeRun(world: World, row: ListedRow): Promise<boolean> {
  const { run, born, chain, epoch } = row;
  if (row.park !== null && !isAsleep(row)) return (await world.chain.wake(row.park.token)).kind === "woken";
  const moved = isAsleep(row) ? await handOver(world, { run, born, chain, epoch }) : { kind: "lost" as const, row };
  if ((moved.kind !== "handed" && moved.kind !== "lost") || !isUnbegun(moved.row)) return false;
  const next = moved.row;
  await start(world, { run, born, chain: next.chain, epoch: next.epoch, agent: next.agent });
  return true;
}

const start = (world: World, payload: Payload): ReturnType<World["chain"]["start"]> =>
  world.chain.start(executionName(payload.run, payload.born, payload.chain), payload);

/** Moves the row to the next execution. Does not start that execution. */
export function handOver(world: World, standing: Omit<HandOver, "now">): Promise<HandOverOutcome> {
  return resolveAmbiguousWrite<HandOverOutcome>(
    () => world.table.decide({ ...standing, now: world.clock.now() }, HAND_OVER),
    () => null,
  );
}
