/**
 * `npm run bench:many [-- --workers N --beats-per-worker N --rounds N]`: many runs at once, on real worker processes.
 * It prints the beats per second of 100 runs with 20 beats each, and how long 200 runs take whose model replies after
 * 2 s, beside one such run alone.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Load, openMany } from "./drive-many.ts";
import { median } from "./statistics.ts";

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

/** The seconds from the first attempt to the last end. */
async function secondsOf(load: Load): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), "cairn-many-"));
  try {
    const runs = await openMany(dir, { ...load, workers, beatsPerWorker });
    const begun = performance.now();
    await runs.drive();
    const seconds = (performance.now() - begun) / 1_000;
    await runs.close();
    return seconds;
  } finally {
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
    times.push(await secondsOf(load));
  }
  const seconds = median(times);
  const perSecond = (load.runs * load.beats) / seconds;
  rows.push({ what, "median s": seconds.toFixed(2), "beats/s": perSecond.toFixed(perSecond < 10 ? 2 : 0) });
}
console.table(rows);
console.log(`${workers} worker processes, ${beatsPerWorker} beats that act in each`);
console.log(`${cpus()[0]?.model ?? "unknown CPU"}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`);
