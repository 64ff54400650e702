/** Which execution drives a run, and how it gets the next one. */
import { executionName } from "../../protocol/ids.ts";
import type { Payload } from "../../protocol/chain.ts";
import type { Row } from "../../protocol/row.ts";
import type { HandOver, HandOverOutcome } from "../../protocol/row-hand-over.ts";
import type { World } from "../../ports/world.ts";
import { certainly } from "../../history/resolve-ambiguous-write.ts";

/**
 * Row first, then start: the start is a function of the row, so it can be repeated. Where the named execution is over
 * and the run is not, its name is spent: the run is handed to the next one (schedule 20). `going`: it was started before, and
 * has not ended.
 */
export async function startExecution(world: World, row: Row): Promise<"going" | "begun"> {
  const { run, born, chain, epoch, agent } = row;
  const started = await start(world, { run, born, chain, epoch, agent });
  if (started.kind === "exists" && started.running) return "going";
  if (started.kind === "exists") await moveOn(world, { run, born, chain });
  return "begun";
}

/** Hands the run to the next execution, and starts that. */
export async function moveOn(world: World, of: Omit<HandOver, "now">): Promise<void> {
  const { run, born } = of;
  const outcome = await handOver(world, of);
  if (outcome.kind !== "handed") return;
  const { row } = outcome;
  await start(world, { run, born, chain: row.chain, epoch: row.epoch, agent: row.agent });
}

const start = (world: World, payload: Payload): ReturnType<World["chain"]["start"]> =>
  world.chain.start(executionName(payload.run, payload.born, payload.chain), payload);

export function handOver(world: World, of: Omit<HandOver, "now">): Promise<HandOverOutcome> {
  return certainly<HandOverOutcome>(
    () => world.table.handOver({ ...of, now: world.clock.now() }),
    () => null,
  );
}
