/** Drives one run of the workload in this process, beat by beat, without a supervisor. */
import { openStore } from "../src/adapters/local/store/database.ts";
import { withKernel } from "../src/features/compose.ts";
import { localWorld } from "../src/adapters/local/world.ts";
import { limitsFor } from "../src/protocol/limits.ts";
import { startRun } from "../src/operations/start.ts";
import type { Payload } from "../src/protocol/chain.ts";
import { type Counted, counting, nothing } from "./counting.ts";
import { newRunner, performBeats } from "./perform-beats.ts";
import { sized } from "./workload.ts";

/** A run that is not started yet, in a new store. */
export interface OpenRun {
  /** Starts it, drives it to its end, and checks that no call ran twice. */
  readonly run: () => Promise<Counted>;
  /** Drives so many of its beats, and returns the payload of the next one. */
  readonly part: (beats: number) => Promise<Payload>;
  /** Its ID, once it is started. */
  readonly id: () => string;
  readonly close: () => void;
}

export function openRun(
  dir: string,
  of: { readonly beats: number; readonly perInvocation: number; readonly called?: (turn: number) => void },
): OpenRun {
  const { called = () => undefined, ...size } = of;
  const { agent, performed } = sized({ beats: of.beats, replyMs: 0, called });
  const limits = limitsFor(60_000, { beatsPerInvocation: of.perInvocation });
  const store = openStore({ dir, create: true });
  const counted = nothing();
  const world = counting(withKernel(localWorld({ store, limits, telemetry: { record: () => undefined } })), counted);
  let id = "";
  const begin = async () => {
    const started = await startRun(world, { agent, input: size, tenant: "bench", idempotencyKey: null });
    if (started.kind !== "started") throw new Error(`cannot start: ${started.kind}`);
    id = started.row.run;
    const runner = newRunner(world, agent);
    return performBeats(started.row, () => runner);
  };
  const part = async (beats: number): Promise<Payload> => {
    const routes = await begin();
    for (let beat = 0; beat < beats; beat += 1) await routes.next();
    const row = await world.table.read(id, Date.now());
    if (row === null) throw new Error("the run is gone");
    return { run: row.run, born: row.born, chain: row.chain, epoch: row.epoch, agent: row.agent };
  };
  const run = async (): Promise<Counted> => {
    for await (const route of await begin()) void route;
    const tools = performed.none + performed.keyed;
    if (performed.model !== of.beats + 1 || tools !== of.beats) throw new Error("a call ran twice, or never");
    return counted;
  };
  return { run, part, id: () => id, close: () => store.close() };
}
