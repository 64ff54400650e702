/** Drives one run of the workload in this process, beat by beat, without a supervisor. */
import { openStore } from "../src/adapters/local/store/database.ts";
import { localWorld } from "../src/adapters/local/world.ts";
import { limitsFor } from "../src/protocol/limits.ts";
import { startRun } from "../src/operations/start.ts";
import { type Counted, counting, nothing } from "./counting.ts";
import { newRunner, performBeats } from "./perform-beats.ts";
import { sized } from "./workload.ts";

/** Drives a run to its end in a store of its own, and checks that no call ran twice. */
export async function drive(
  dir: string,
  of: { readonly beats: number; readonly perInvocation: number; readonly called?: (turn: number) => void },
): Promise<Counted> {
  const { called = () => undefined, ...size } = of;
  const { agent, performed } = sized({ beats: of.beats, replyMs: 0, called });
  const limits = limitsFor(60_000, { beatsPerInvocation: of.perInvocation });
  const store = openStore({ dir, create: true });
  const counted = nothing();
  try {
    const world = counting(localWorld({ store, limits, telemetry: { record: () => undefined } }), counted);
    const started = await startRun(world, { agent, input: size, tenant: "bench", idempotencyKey: null });
    if (started.kind !== "started") throw new Error(`cannot start: ${started.kind}`);
    const runner = newRunner(world, agent);
    for await (const route of performBeats(started.row, () => runner)) void route;
    const tools = performed.none + performed.keyed;
    if (performed.model !== of.beats + 1 || tools !== of.beats) throw new Error("a call ran twice, or never");
    return counted;
  } finally {
    store.close();
  }
}
