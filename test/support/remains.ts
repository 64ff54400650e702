/** Ended runs on a stage, and their remaining data in its store. */
import type { Agent } from "../../src/ports/agent.ts";
import type { Incarnation, Row } from "../../src/protocol/row.ts";
import type { World } from "../../src/ports/world.ts";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import { SegmentCache, load } from "../../src/history/load.ts";
import { startRun } from "../../src/operations/start.ts";
import { send } from "../../src/operations/steer.ts";
import { drive, runnerOf } from "./drive.ts";
import { type Stage, actor, rowOf } from "./stage.ts";

/** Its result is too large for the transcript, so that a run has every kind of object. */
export const verbose: Agent = actor({ run: () => "word ".repeat(10_000) });

/** Runs the chain's tasks that belong to no run and need no agent. */
export const upkeep = (world: World) => runTask(runnerOf(world, verbose));

/** Starts the run of that key and sends it a message. */
export async function startKeyed({ world }: Stage, key: string): Promise<Row> {
  const started = await startRun(world, { agent: verbose, input: {}, tenant: "local", idempotencyKey: key });
  if (started.kind !== "started") throw new Error(`not started: ${started.kind}`);
  const { run } = started.row;
  await send(world, { run, text: "hello", by: "ann", id: "w1" });
  return started.row;
}

export async function finish(on: Stage, { run, born }: Incarnation): Promise<Row> {
  const reply = await drive(runnerOf(on.world, verbose), { run, born, chain: 1, epoch: 0, agent: verbose.name });
  if (reply.route !== "done") throw new Error(`the run goes on: ${reply.route}`);
  return rowOf(on, run);
}

/** A run of that key from its start to its delivered end. */
export const endedRun = async (on: Stage, key: string): Promise<Row> => finish(on, await startKeyed(on, key));

/** Lets time pass until neither data nor key of that ended run is kept. */
export function keyExpires({ clock, world }: Stage, run: string): void {
  const tombstone = world.store.tombstones.get(run);
  if (tombstone === undefined) throw new Error(`no key of ${run} is kept`);
  clock.moveTo(tombstone.expiresAtSec * 1_000);
}

/** All data of that incarnation in the store, by kind. */
export function remains({ world }: Stage, { run, born }: Incarnation) {
  const { rows, objects, messages } = world.store;
  const isMine = (of: Incarnation): boolean => of.run === run && of.born === born;
  return {
    rows: [...rows.values()].filter(isMine).length,
    objects: [...objects.keys()].filter((key) => key.includes(`/${run}/${born}/`)).length,
    messages: [...messages.values()].filter(({ of }) => isMine(of)).length,
  };
}

export const NOTHING = { rows: 0, objects: 0, messages: 0 };

/** Throws if an object that the row references is missing. */
export async function readable({ world }: Stage, row: Row): Promise<Row> {
  return (await load(world.objects, row, new SegmentCache())).row;
}
