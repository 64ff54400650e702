/**
 * `node bench/beats.ts [BEATS]`: measures one long run on the embedded world, beat by beat. For each tenth of the run
 * it prints what was written and what loading costs, and it shows that no work is repeated. It also prints how often a
 * beat compares the functions of the language (ADR 0126), and which part of its time that takes. Counts are exact; times
 * depend on the machine and the moment.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../src/adapters/local/store/database.ts";
import { withKernel } from "../src/features/compose.ts";
import { localWorld } from "../src/adapters/local/world.ts";
import { limitsFor } from "../src/protocol/limits.ts";
import type { World } from "../src/ports/world.ts";
import { SegmentCache, load } from "../src/history/load.ts";
import { startRun } from "../src/operations/start.ts";
import type { Intrinsics } from "../src/ports/intrinsics.ts";
import { intactWorld } from "../src/sdk/intact-world.ts";
import { watchIntrinsics } from "../src/sdk/watched-intrinsics.ts";
import { counting, nothing } from "./counting.ts";
import { newRunner, performBeats } from "./perform-beats.ts";
import { median, percentile, spread } from "./statistics.ts";
import { workload } from "./workload.ts";

const beats = Number(process.argv[2] ?? 500);
const LOAD_SAMPLES = 7;

const { agent, performed } = workload(beats);

async function measure(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "cairn-bench-"));
  const store = openStore({ dir, create: true });
  const counted = nothing();
  const limits = limitsFor(60_000);
  const compared = { times: 0, ms: 0 };
  const plain = counting(withKernel(localWorld({ store, limits, telemetry: { record: () => undefined } })), counted);
  const world = intactWorld(plain, timed(compared));
  const runner = newRunner(world, agent);
  try {
    const started = await startRun(world, { agent, input: { beats }, tenant: "local", idempotencyKey: null });
    if (started.kind !== "started") throw new Error(`cannot start: ${started.kind}`);
    const { run } = started.row;
    const rows: Record<string, string | number>[] = [];
    const shares: number[] = [];
    let tenth: { readonly from: number; readonly each: number[] } = { from: 0, each: [] };
    let done = 0;
    let begun = performance.now();
    for await (const route of performBeats(started.row, () => runner)) {
      tenth.each.push(performance.now() - begun);
      done += 1;
      if (done % Math.max(1, Math.round(beats / 10)) === 0) {
        const per = done - tenth.from;
        const ms = tenth.each.reduce((sum, each) => sum + each, 0);
        shares.push((100 * compared.ms) / ms);
        rows.push({
          beats: done,
          "written B/beat": Math.round((counted.objectBytes + counted.rowBytes) / per),
          "of it journal": Math.round(counted.rowBytes / per),
          "GET/beat": (counted.gets / per).toFixed(2),
          "PUT/beat": (counted.puts / per).toFixed(2),
          "row writes/beat": (counted.rowWrites / per).toFixed(2),
          "ms/beat": (ms / per).toFixed(2),
          "p99 ms": percentile(tenth.each, 0.99).toFixed(1),
          "compares/beat": (compared.times / per).toFixed(1),
          "% of ms": shares.at(-1)?.toFixed(1) ?? "",
          "load ms, warm": (await loadMs(world, run, runner.segments)).toFixed(2),
          "load ms, cold": (await loadMs(world, run, null)).toFixed(2),
        });
        Object.assign(counted, nothing());
        Object.assign(compared, { times: 0, ms: 0 });
        tenth = { from: done, each: [] };
      }
      if (route === "beat") begun = performance.now();
    }
    const row = await world.table.read(run, Date.now());
    console.table(rows);
    console.log(`status ${row?.status}; model calls ${performed.model}, tools run ${performed.none + performed.keyed}`);
    console.log(`comparing the functions of the language takes ${spread(shares, 1)} % of the time of a beat`);
    console.log(`expected for ${beats} beats that call a tool and one that ends the run: no work is repeated.`);
    console.log(
      `${cpus()[0]?.model ?? "unknown CPU"}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`,
    );
  } finally {
    store.close();
    rmSync(dir, { recursive: true });
  }
}

/** Watches the functions of the language as a worker does, and adds up what that takes. */
function timed(compared: { times: number; ms: number }): Intrinsics {
  const { enter, check } = watchIntrinsics();
  return {
    enter,
    check: (ran) => {
      const begun = performance.now();
      check(ran);
      compared.ms += performance.now() - begun;
      compared.times += 1;
    },
  };
}

/** The median time of several loads of the run in its present state, in milliseconds. */
async function loadMs(world: World, run: string, warm: SegmentCache | null): Promise<number> {
  const times: number[] = [];
  for (let sample = 0; sample < LOAD_SAMPLES; sample += 1) {
    const begun = performance.now();
    const row = await world.table.read(run, Date.now());
    if (row === null) throw new Error("the run is gone");
    await load(world, row, warm ?? new SegmentCache());
    times.push(performance.now() - begun);
  }
  return median(times);
}

await measure();
