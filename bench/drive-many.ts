/** Many runs of the workload at once, on real worker processes. */
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { openStore } from "../src/adapters/local/store/database.ts";
import { startSupervisor } from "../src/adapters/local/workers/supervisor.ts";
import { localWorld } from "../src/adapters/local/world.ts";
import { limitsFor } from "../src/protocol/limits.ts";
import { startRun } from "../src/operations/start.ts";
import { WORKER_FLAGS } from "../src/cli/supervise.ts";
import { sized } from "./workload.ts";

const CACHE = join(tmpdir(), "cairn-bench-compiled");

export interface Load {
  readonly runs: number;
  readonly beats: number;
  readonly replyMs: number;
  readonly perInvocation: number;
}

/** Starts that many runs in a new store. `drive` advances them to their ends. */
export async function openMany(
  dir: string,
  of: Load & { readonly workers: number; readonly beatsPerWorker: number },
): Promise<{ readonly drive: () => Promise<void>; readonly close: () => Promise<void> }> {
  const { runs, beats, replyMs, perInvocation, workers, beatsPerWorker } = of;
  const store = openStore({ dir, create: true });
  const limits = limitsFor(60_000, { beatsPerInvocation: perInvocation });
  const agentFiles = [join(import.meta.dirname, `many-agent${extname(import.meta.filename)}`)];
  const world = localWorld({ store, limits, telemetry: { record: () => undefined } });
  const { agent } = sized({ beats, replyMs });
  for (let index = 0; index < runs; index += 1) {
    const started = await startRun(world, { agent, input: { beats }, tenant: "bench", idempotencyKey: null });
    if (started.kind !== "started") throw new Error(`cannot start: ${started.kind}`);
  }
  let open = runs;
  const ended = Promise.withResolvers<void>();
  let drain = async (): Promise<void> => undefined;
  return {
    drive: () => {
      const supervisor = startSupervisor({
        ...{ store, limits, workers, beatsPerWorker },
        worker: {
          module: new URL(import.meta.resolve("#cli/workers/worker")),
          args: [JSON.stringify({ dir, limits, agentFiles, prices: {} })],
          execArgv: WORKER_FLAGS,
          // Compiled once, as by a command.
          env: {
            ...process.env,
            NODE_COMPILE_CACHE: CACHE,
            BENCH_BEATS: String(beats),
            BENCH_REPLY_MS: String(replyMs),
          },
        },
        onEvent: (event) => {
          if (event.kind === "attemptFailed") ended.reject(new Error(`${event.how} ${event.error?.message ?? ""}`));
          if (event.kind === "moved" && event.state === "End") open -= 1;
          if (open === 0) ended.resolve();
        },
      });
      drain = () => supervisor.drain();
      return ended.promise;
    },
    close: async () => {
      await drain();
      store.close();
    },
  };
}
