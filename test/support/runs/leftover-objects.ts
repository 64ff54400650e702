/** Ended runs, and their remaining data in its store. */
import type { Agent } from "../../../src/ports/agent.ts";
import type { Incarnation, Row } from "../../../src/protocol/row.ts";
import type { World } from "../../../src/ports/world.ts";
import { runTask } from "../../../src/maintenance/chain-tasks.ts";
import { SegmentCache, load } from "../../../src/history/load.ts";
import { startRun } from "../../../src/operations/start.ts";
import { send } from "../../../src/operations/steer.ts";
import { drive, runnerOf } from "../harness/drive.ts";
import { type Harness, scriptedAgent } from "../harness/harness.ts";

/** Its result is too large for the transcript, so that a run has every kind of object. */
export const largeResultAgent: Agent = scriptedAgent({ run: () => "word ".repeat(10_000) });

/** Runs the chain's tasks that belong to no run and need no agent. */
export const performMaintenance = (world: World) => runTask(runnerOf(world, largeResultAgent));

/** Starts the run of that key and sends it a message. */
export async function startRunWithMessage({ world }: Harness, key: string): Promise<Row> {
  const started = await startRun(world, { agent: largeResultAgent, input: {}, tenant: "local", idempotencyKey: key });
  if (started.kind !== "started") throw new Error(`not started: ${started.kind}`);
  const { run } = started.row;
  await send(world, { run, text: "hello", by: "ann", id: "w1" });
  return started.row;
}

export async function finishRun(harness: Harness, { run, born }: Incarnation): Promise<Row> {
  const reply = await drive(runnerOf(harness.world, largeResultAgent), {
    run,
    born,
    chain: 1,
    epoch: 0,
    agent: largeResultAgent.name,
  });
  if (reply.route !== "done") throw new Error(`the run goes on: ${reply.route}`);
  return harness.row(run);
}

/** A run of that key from its start to its delivered end. */
export const endedRun = async (harness: Harness, key: string): Promise<Row> =>
  finishRun(harness, await startRunWithMessage(harness, key));

/** Lets time pass until neither data nor key of that ended run is kept. */
export function expireKey({ clock, world }: Harness, run: string): void {
  const tombstone = world.store.tombstones.get(run);
  if (tombstone === undefined) throw new Error(`no key of ${run} is kept`);
  clock.moveTo(tombstone.expiresAtSec * 1_000);
}

/** All data of that incarnation in the store, by kind. */
export function countLeftovers({ world }: Harness, { run, born }: Incarnation) {
  const { rows, objects, messages } = world.store;
  const isMine = (of: Incarnation): boolean => of.run === run && of.born === born;
  return {
    rows: [...rows.values()].filter(isMine).length,
    objects: [...objects.keys()].filter((key) => key.includes(`/${run}/${born}/`)).length,
    messages: [...messages.values()].filter(({ of }) => isMine(of)).length,
  };
}

export const NO_LEFTOVERS = { rows: 0, objects: 0, messages: 0 };

/** Throws if an object that the row references is missing. */
export async function loadObjects({ world }: Harness, row: Row): Promise<Row> {
  return (await load(world, row, new SegmentCache())).row;
}
