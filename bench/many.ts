/**
 * `npm run bench:many [-- --workers N --beats-per-worker N --rounds N]`: many runs at once, on real worker processes.
 * It prints the beats per second of 100 runs with 20 beats each, and how long 200 runs take whose model replies after
 * 2 s, beside one such run alone.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openStore } from "../src/adapters/local/store/database.ts";
import { startSupervisor } from "../src/adapters/local/workers/supervisor.ts";
import { localWorld } from "../src/adapters/local/world.ts";
import { limitsFor } from "../src/protocol/limits.ts";
import { startRun } from "../src/operations/start.ts";
import { sized } from "./workload.ts";

const { values } = parseArgs({
  options: {
    workers: { type: "string", default: String(Math.max(1, availableParallelism() - 1)) },
    "beats-per-worker": { type: "string", default: "16" },
    rounds: { type: "string", default: "5" },
    only: { type: "string" },
  },
});
const workers = Number(values.workers);
const beatsPerWorker = Number(values["beats-per-worker"]);

interface Load {
  readonly runs: number;
  readonly beats: number;
  readonly replyMs: number;
  readonly perInvocation: number;
}

/** Starts that many runs, and drives them to their ends. Returns the seconds from the first attempt to the last end. */
async function drive({ runs, beats, replyMs, perInvocation }: Load): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), "cairn-many-"));
  const store = openStore({ dir, create: true });
  const limits = limitsFor(60_000, { beatsPerInvocation: perInvocation });
  const agentFiles = [join(import.meta.dirname, "many-agent.ts")];
  try {
    const world = localWorld({ store, limits, telemetry: { record: () => undefined } });
    const { agent } = sized({ beats, replyMs });
    for (let index = 0; index < runs; index += 1) {
      const started = await startRun(world, { agent, input: { beats }, tenant: "bench", idempotencyKey: null });
      if (started.kind !== "started") throw new Error(`cannot start: ${started.kind}`);
    }
    const begun = performance.now();
    let open = runs;
    const ended = Promise.withResolvers<void>();
    const supervisor = startSupervisor({
      ...{ store, limits, workers, beatsPerWorker },
      worker: {
        module: new URL("../src/cli/workers/worker.ts", import.meta.url),
        args: [JSON.stringify({ dir, limits, agentFiles, prices: {} })],
        execArgv: [],
        env: { ...process.env, BENCH_BEATS: String(beats), BENCH_REPLY_MS: String(replyMs) },
      },
      onEvent: (event) => {
        if (event.kind === "attemptFailed") ended.reject(new Error(`${event.how} ${event.error?.message ?? ""}`));
        if (event.kind === "moved" && event.state === "End") open -= 1;
        if (open === 0) ended.resolve();
      },
    });
    await ended.promise;
    const seconds = (performance.now() - begun) / 1_000;
    await supervisor.drain();
    return seconds;
  } finally {
    store.close();
    rmSync(dir, { recursive: true });
  }
}

const LOADS: Readonly<Record<string, Load>> = {
  "100 runs x 20 beats": { runs: 100, beats: 20, replyMs: 0, perInvocation: 1 },
  "100 runs x 20 beats, 50 per invocation": { runs: 100, beats: 20, replyMs: 0, perInvocation: 50 },
  "1 run, 5 replies of 2 s": { runs: 1, beats: 5, replyMs: 2_000, perInvocation: 1 },
  "200 runs, 5 replies of 2 s": { runs: 200, beats: 5, replyMs: 2_000, perInvocation: 1 },
};

const rows: Record<string, string | number>[] = [];
for (const [what, load] of Object.entries(LOADS)) {
  if (values.only !== undefined && !what.startsWith(values.only)) continue;
  const times: number[] = [];
  for (let round = 0; round < Number(values.rounds); round += 1) {
    console.error(`${what}: round ${round + 1} of ${values.rounds}`);
    times.push(await drive(load));
  }
  const [median = 0] = times.toSorted((one, other) => one - other).slice(Math.floor(times.length / 2));
  const perSecond = (load.runs * load.beats) / median;
  rows.push({ what, "median s": median.toFixed(2), "beats/s": perSecond.toFixed(perSecond < 10 ? 2 : 0) });
}
console.table(rows);
console.log(`${workers} worker processes, ${beatsPerWorker} beats in each`);
console.log(`${cpus()[0]?.model ?? "unknown CPU"}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`);
