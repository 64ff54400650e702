/**
 * `npm run bench -- --start [--rounds N] [--write]`: what a process costs before it does its work. Short commands beside
 * `node -e 0`, a worker until it is ready, and the first load of a run by its length. All take turns in each round.
 * `--write` puts the table into `docs/benchmarks.md`.
 */
import { fork, spawnSync } from "node:child_process";
import { on, once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { WORKER_FLAGS } from "../src/compose/supervise.ts";
import type { Payload } from "../src/protocol/chain.ts";
import { executionName } from "../src/protocol/ids.ts";
import { limitsFor } from "../src/protocol/limits.ts";
import { ALLOCATOR, type FromChild, type ToChild } from "../src/workers/wire.ts";
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
/** The beats of the run that a worker takes over, and those that were before. */
const [TAKEN, BEFORE] = [600, 499];

/** Runs a program to its end, and returns the milliseconds that it took. */
function timed(...args: readonly string[]): number {
  const begun = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`node ${args.join(" ")} failed:\n${stderr}`);
  return performance.now() - begun;
}

interface Up {
  /** From the start of the process until it is ready, until its beat has loaded the run and the agent, and until its answer. */
  readonly ms: number;
  readonly loadedMs: number;
  readonly beatMs: number;
  /** The memory that it has when it is ready, in MB. */
  readonly mb: number;
}

/** Makes a project as a user has it, with the package, zod, and the agent as JavaScript. Returns its folder. */
function makeProject(dir: string): string {
  const project = join(dir, "project");
  const packages = join(project, "node_modules");
  process.stderr.write("building the package\n");
  timed(join(ROOT, "scripts/package.ts"), packages);
  mkdirSync(packages, { recursive: true });
  for (const name of ["zod", "@ai-sdk"]) symlinkSync(join(ROOT, "node_modules", name), join(packages, name));
  for (const name of ["many-agent", "workload", "sentences"]) {
    const code = stripTypeScriptTypes(readFileSync(join(import.meta.dirname, `${name}.ts`), "utf8"));
    writeFileSync(join(project, `${name}.js`), code.replaceAll(/(from "\.\/[\w-]+)\.ts"/g, '$1.js"'));
  }
  writeFileSync(join(project, "package.json"), '{ "type": "module", "imports": { "#package": "./package.json" } }');
  // The texts of the replies are sentences from there.
  cpSync(join(ROOT, "docs"), join(project, "docs"), { recursive: true });
  return project;
}

/** Starts a worker of the package that takes over the run of that payload, which is between two beats. */
async function workerUp(project: string, { dir, store, payload }: Taken): Promise<Up> {
  const taken = join(dir, "taken");
  rmSync(taken, { recursive: true, force: true });
  cpSync(store, taken, { recursive: true });
  const settings = {
    dir: taken,
    limits: limitsFor(60_000),
    agentFiles: [join(project, "many-agent.js")],
    prices: {},
    modelRates: {},
  };
  const env = { ...process.env, ...ALLOCATOR, NODE_COMPILE_CACHE: join(dir, "compiled"), BENCH_BEATS: String(TAKEN) };
  const begun = performance.now();
  const child = fork(
    join(project, "node_modules/cairn-run/dist/compose/workers/worker.js"),
    [JSON.stringify(settings)],
    { env, execArgv: [...WORKER_FLAGS] },
  );
  const gone = once(child, "exit").then(([code]) => Promise.reject(new Error(`a worker ended with exit code ${code}`)));
  const at = async (kind: FromChild["kind"]): Promise<number> => {
    const said = async (): Promise<void> => {
      for await (const [message] of on(child, "message")) if ((message as FromChild).kind === kind) return;
    };
    await Promise.race([said(), gone]);
    return performance.now() - begun;
  };
  const ms = await at("ready");
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
  const mb = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? NaN) / 1_024;
  const attempt = {
    execution: executionName(payload.run, payload.born, 1),
    epoch: payload.epoch,
    retry: 0,
    died: null,
  };
  const task = { kind: "beat", payload, attempt } as const;
  const assigned = {
    kind: "task",
    secret: "s",
    deadline: Date.now() + 60_000,
    task,
    attempt: null,
    places: 1,
  } as const;
  const [loaded, beat] = [at("loaded"), at("answered")];
  child.send(assigned satisfies ToChild);
  const [loadedMs, beatMs] = await Promise.all([loaded, beat]);
  child.kill("SIGKILL");
  await gone.catch(() => undefined);
  return { ms, loadedMs, beatMs, mb };
}

/** A folder for files, a store, and the payload of the next beat of the run in it. */
interface Taken {
  readonly dir: string;
  readonly store: string;
  readonly payload: Payload;
}

/** Stores a run that has as many beats before it as the one that a worker takes over. */
async function storeTaken(build: string, dir: string): Promise<Taken> {
  const { openRun } = (await import(pathToFileURL(join(build, "drive.js")).href)) as typeof Drive;
  const store = join(dir, "to take");
  const { part, close } = openRun(store, { beats: TAKEN, perInvocation: 1 });
  const payload = await part(BEFORE);
  close();
  return { dir, store, payload };
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
  const project = makeProject(dir);
  const cli = join(project, "node_modules/cairn-run/dist/cli/main.js");
  const loads = await loadsIn(build, dir);
  const node: number[] = [];
  const version: number[] = [];
  const taken = await storeTaken(build, dir);
  const worker: Up[] = [];
  const loaded: number[][] = LENGTHS.map(() => []);
  // The first round fills the compile cache, as the first command of a user does.
  for (let round = 0; round <= Number(values.rounds); round += 1) {
    const isKept = round > 0;
    const each = { node: timed("-e", "0"), version: timed(cli, "--version"), worker: await workerUp(project, taken) };
    const ms = loads.map((load) => load());
    if (!isKept) continue;
    node.push(each.node);
    version.push(each.version);
    worker.push(each.worker);
    for (const [index, one] of ms.entries()) loaded[index]?.push(one);
  }
  const ratio = median(version.map((ms, round) => ms / (node[round] ?? NaN)));
  const beyond = worker.map(({ ms }, round) => ms - (node[round] ?? NaN));
  const figure = (read: (up: Up) => number): string => spread(worker.map(read), 0);
  const [, atFive = []] = loaded;
  const perBeat = (median(loaded[2] ?? []) - median(loaded[0] ?? [])) / ((LENGTHS[2] ?? 0) - (LENGTHS[0] ?? 0));
  const date = new Date().toISOString().slice(0, 10);
  return [
    "| before the work begins | | bound |",
    "|---|---|---|",
    `| \`node -e 0\` | ${spread(node, 0)} ms | |`,
    `| \`cairn --version\` | ${spread(version, 0)} ms, ${ratio.toFixed(1)} × \`node -e 0\` | 2 × |`,
    `| a worker until it is ready, over \`node -e 0\` | ${spread(beyond, 0)} ms | 60 ms |`,
    `| its memory then | ${figure(({ mb }) => mb)} MB | 70 MB |`,
    `| a worker that takes over a run at beat ${BEFORE}, from its start until run and agent are loaded | ${figure(({ loadedMs }) => loadedMs)} ms | 150 ms |`,
    `| the same until that beat is committed | ${figure(({ beatMs }) => beatMs)} ms | |`,
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
