/** Starts the execution that drives a run, and moves a run to its next execution. */
import { executionName } from "../../protocol/ids.ts";
import type { Payload } from "../../protocol/chain.ts";
import type { Row } from "../../protocol/row.ts";
import type { HandOver, HandOverOutcome } from "../../protocol/row-hand-over.ts";
import type { World } from "../../ports/world.ts";
import { resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";

/**
 * Starts the execution that the row names. The row is written first and the start depends on the row alone, so it can
 * be repeated. If that execution is over and the run is not, its name is used up. Then the run is handed to the next
 * execution (schedule 20). Returns `going` if the execution was started before and has not ended.
 */
export async function startExecution(world: World, row: Row): Promise<"going" | "begun"> {
  const { run, born, chain, epoch, agent } = row;
  const started = await start(world, { run, born, chain, epoch, agent });
  if (started.kind === "exists" && started.running) return "going";
  if (started.kind === "exists") await startNextExecution(world, { run, born, chain });
  return "begun";
}

/** Hands the run over to the next execution and starts that execution. */
export async function startNextExecution(world: World, of: Omit<HandOver, "now">): Promise<void> {
  const { run, born } = of;
  const outcome = await handOver(world, of);
  if (outcome.kind !== "handed") return;
  const { row } = outcome;
  await start(world, { run, born, chain: row.chain, epoch: row.epoch, agent: row.agent });
}

const start = (world: World, payload: Payload): ReturnType<World["chain"]["start"]> =>
  world.chain.start(executionName(payload.run, payload.born, payload.chain), payload);

/** Moves the row to the next execution. Does not start that execution. */
export function handOver(world: World, of: Omit<HandOver, "now">): Promise<HandOverOutcome> {
  return resolveAmbiguousWrite<HandOverOutcome>(
    () => world.table.handOver({ ...of, now: world.clock.now() }),
    () => null,
  );
}
