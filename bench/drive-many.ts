/** Many runs of the workload at once, on real worker processes. */
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { openStore } from "../src/adapters/local/store/database.ts";
import { drivenStore } from "../src/adapters/local/store/driven-store.ts";
import { startSupervisor } from "../src/workers/supervisor.ts";
import { withKernel } from "../src/features/compose.ts";
import { localWorld } from "../src/adapters/local/world.ts";
import { limitsFor } from "../src/protocol/limits.ts";
import { startRun } from "../src/operations/start.ts";
import { WORKER_FLAGS } from "../src/compose/supervise.ts";
import { sized } from "./workload.ts";

const CACHE = join(tmpdir(), "cairn-bench-compiled");

export interface Load {
  readonly runs: number;
  readonly beats: number;
  readonly replyMs: number;
  readonly perInvocation: number;
}

/**
 * Opens a new store with a supervisor and its workers, which are up, with their agent loaded. `drive` starts that many
 * runs and resolves at their ends.
 */
export async function openMany(
  dir: string,
  of: Load & { readonly workers: number; readonly beatsPerWorker: number; readonly marks?: string },
): Promise<{ readonly drive: () => Promise<void>; readonly close: () => Promise<void> }> {
  const { runs, beats, replyMs, perInvocation, workers, beatsPerWorker, marks = "" } = of;
  const store = openStore({ dir, create: true });
  const limits = limitsFor(60_000, { beatsPerInvocation: perInvocation });
  const agentFiles = [join(import.meta.dirname, `many-agent${extname(import.meta.filename)}`)];
  const world = withKernel(localWorld({ store, limits, telemetry: { record: () => undefined } }));
  const { agent } = sized({ beats, replyMs });
  let ends = endsOf(0);
  const supervisor = startSupervisor({
    ...{ store: drivenStore(store), limits, workers, beatsPerWorker },
    worker: {
      module: new URL(import.meta.resolve("#compose/workers/worker")),
      args: [JSON.stringify({ dir, limits, agentFiles, prices: {} })],
      execArgv: WORKER_FLAGS,
      // Compiled once, as by a command.
      env: {
        ...process.env,
        NODE_COMPILE_CACHE: CACHE,
        BENCH_BEATS: String(beats),
        BENCH_REPLY_MS: String(replyMs),
        BENCH_MARKS: marks,
      },
    },
    onEvent: (event) => {
      if (event.kind === "attemptFailed") ends.failed(new Error(`${event.how} ${event.error?.message ?? ""}`));
      if (event.kind === "moved" && event.state === "End") ends.ended();
    },
  });
  const startAll = async (count: number, input: { readonly beats: number }): Promise<void> => {
    ends = endsOf(count);
    for (let index = 0; index < count; index += 1) {
      const started = await startRun(world, { agent, input, tenant: "bench", idempotencyKey: null });
      if (started.kind !== "started") throw new Error(`cannot start: ${started.kind}`);
    }
    await ends.all;
  };
  // As many as there are workers, and each takes a run.
  await startAll(workers, { beats: 0 });
  return {
    drive: () => startAll(runs, { beats }),
    close: async () => {
      await supervisor.drain();
      store.close();
    },
  };
}

/** Resolves when so many runs have ended. */
function endsOf(runs: number) {
  const { promise: all, resolve, reject } = Promise.withResolvers<void>();
  let open = runs;
  const ended = (): void => {
    open -= 1;
    if (open === 0) resolve();
  };
  return { all, ended, failed: reject };
}
