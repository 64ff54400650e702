/**
 * `npm run bench -- --start [--rounds N] [--write]`: what a process costs before it does its work. Short commands beside
 * `node -e 0`, a worker until it is ready, and the first load of a run by its length. All take turns in each round.
 * `--write` puts the table into `docs/benchmarks.md`.
 */
import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { WORKER_FLAGS } from "../src/compose/supervise.ts";
import { limitsFor } from "../src/protocol/limits.ts";
import { withPart } from "../scripts/marks.ts";
import { bundleBench } from "./bundle.ts";
import type * as Drive from "./drive.ts";
import { median, spread } from "./statistics.ts";

const { values } = parseArgs({
  allowPositionals: true,
  options: { start: { type: "boolean" }, write: { type: "boolean" }, rounds: { type: "string", default: "9" } },
});
const ROOT = join(import.meta.dirname, "..");
const LENGTHS = [100, 500, 2_000];

/** Runs a program to its end, and returns the milliseconds that it took. */
function timed(...args: readonly string[]): number {
  const begun = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`node ${args.join(" ")} failed:\n${stderr}`);
  return performance.now() - begun;
}

/** The milliseconds until a worker is ready, and the memory that it has then, in MB. */
async function workerUp(build: string, dir: string): Promise<{ readonly ms: number; readonly mb: number }> {
  const settings = {
    dir: join(dir, "500"),
    limits: limitsFor(60_000),
    agentFiles: [join(build, "many-agent.js")],
    prices: {},
  };
  const env = { ...process.env, NODE_COMPILE_CACHE: join(dir, "compiled") };
  const begun = performance.now();
  const child = fork(join(build, "worker.js"), [JSON.stringify(settings)], { env, execArgv: [...WORKER_FLAGS] });
  const gone = once(child, "exit").then(([code]) => Promise.reject(new Error(`a worker ended with exit code ${code}`)));
  await Promise.race([once(child, "message"), gone]);
  const ms = performance.now() - begun;
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
  const mb = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? NaN) / 1_024;
  child.kill("SIGKILL");
  await gone.catch(() => undefined);
  return { ms, mb };
}

/** Stores runs of these lengths, and returns how to measure the first load of each. */
async function loadsIn(build: string, dir: string): Promise<readonly (() => number)[]> {
  const { openRun } = (await import(pathToFileURL(join(build, "drive.js")).href)) as typeof Drive;
  const loads: (() => number)[] = [];
  for (const beats of LENGTHS) {
    process.stderr.write(`storing a run of ${beats} beats\n`);
    const store = join(dir, String(beats));
    const { run, close, id } = openRun(store, { beats, perInvocation: 1 });
    await run();
    close();
    loads.push(() => {
      const { stdout, stderr } = spawnSync(process.execPath, [join(build, "fresh-load.js"), store, id()]);
      const ms = Number(stdout.toString());
      if (!(ms > 0)) throw new Error(`a load failed: ${stderr.toString()}`);
      return ms;
    });
  }
  return loads;
}

async function measure(dir: string): Promise<string> {
  const build = await bundleBench();
  process.stderr.write("building the package\n");
  timed(join(ROOT, "scripts/package.ts"), join(dir, "package"));
  const cli = join(dir, "package/cairn-run/dist/cli/main.js");
  const loads = await loadsIn(build, dir);
  const node: number[] = [];
  const version: number[] = [];
  const worker: { readonly ms: number; readonly mb: number }[] = [];
  const loaded: number[][] = LENGTHS.map(() => []);
  // The first round fills the compile cache, as the first command of a user does.
  for (let round = 0; round <= Number(values.rounds); round += 1) {
    const isKept = round > 0;
    const each = { node: timed("-e", "0"), version: timed(cli, "--version"), worker: await workerUp(build, dir) };
    const ms = loads.map((load) => load());
    if (!isKept) continue;
    node.push(each.node);
    version.push(each.version);
    worker.push(each.worker);
    for (const [index, one] of ms.entries()) loaded[index]?.push(one);
  }
  const ratio = median(version.map((ms, round) => ms / (node[round] ?? NaN)));
  const beyond = worker.map(({ ms }, round) => ms - (node[round] ?? NaN));
  const [, atFive = []] = loaded;
  const perBeat = (median(loaded[2] ?? []) - median(loaded[0] ?? [])) / ((LENGTHS[2] ?? 0) - (LENGTHS[0] ?? 0));
  const date = new Date().toISOString().slice(0, 10);
  return [
    "| before the work begins | | bound |",
    "|---|---|---|",
    `| \`node -e 0\` | ${spread(node, 0)} ms | |`,
    `| \`cairn --version\` | ${spread(version, 0)} ms, ${ratio.toFixed(1)} × \`node -e 0\` | 2 × |`,
    `| a worker until it is ready, over \`node -e 0\` | ${spread(beyond, 0)} ms | 60 ms |`,
    `| its memory then | ${spread(
      worker.map(({ mb }) => mb),
      0,
    )} MB | 70 MB |`,
    `| first load of a run of 500 beats | ${spread(atFive, 1)} ms | 10 ms |`,
    `| each further beat of it | ${perBeat.toFixed(3)} ms | 0.02 ms |`,
    "",
    `(Median of ${values.rounds} interleaved rounds with least and most; ${cpus().length} cores of ${cpus()[0]?.model}, Node ${process.version.slice(1)}, ${date}.)`,
  ].join("\n");
}

const dir = mkdtempSync(join(tmpdir(), "cairn-start-"));
try {
  const part = await measure(dir);
  console.log(part);
  if (values.write === true) {
    const page = join(ROOT, "docs/benchmarks.md");
    writeFileSync(page, withPart(readFileSync(page, "utf8"), { name: "start", part }));
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
