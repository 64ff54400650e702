/**
 * Plays the work of a step: a command, or tests of vitest. Its output goes to a log in the folder of artefacts; of a
 * failed step, the end of it is printed too.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { cpuMeter } from "./cpu.ts";
import { createWriteStream, existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { finished } from "node:stream/promises";
import { type Failure, fateOf } from "./failures.ts";
import { giveWay } from "./priority.ts";
import { REPORT_VARIABLE, type TestReport } from "./reporter.ts";

export const ROOT = join(import.meta.dirname, "../..");
const BIN = join(ROOT, "node_modules", ".bin");
const REPORTER = join(import.meta.dirname, "reporter.ts");

export type Work =
  | { readonly kind: "command"; readonly words: readonly string[] }
  /** `words` go to `vitest run`; `config` is the name of its configuration. */
  | { readonly kind: "tests"; readonly config: string; readonly words: readonly string[] };

export interface Step {
  readonly name: string;
  readonly work: Work;
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** A download, which is tried once more if it fails: it checks nothing. */
  readonly isDownload?: boolean;
  /** Others take the processor first. */
  readonly givesWay?: boolean;
}

/** A test file all of whose failures are events that did not come in time. */
export interface LateFile {
  readonly config: string;
  /** The environment variables of its step: the same seeds and the same stride. */
  readonly env: Readonly<Record<string, string>>;
  readonly file: string;
  readonly failures: readonly Failure[];
}

export interface Score {
  readonly passed: number;
  readonly failed: number;
  /** What refuses the change, a line each. */
  readonly refusals: readonly string[];
  /** Files that are played once more. Their failed tests count neither as passed nor as failed. */
  readonly late: readonly LateFile[];
  /** What a step wants its reader to know although it passed. */
  readonly notes: readonly string[];
}

/** A score, and the processor's seconds of its processes; null where the system does not say. */
export interface MeasuredScore extends Score {
  readonly cpuSeconds: number | null;
}

const LOG_LINES_MAX = 150;
const ABORTED = 130;

/** The processes that are running now. Each leads a group of its own, which `endAll` ends. */
const running = new Set<ChildProcess>();

/** On Ctrl-C and SIGTERM this process ends with all that its steps started. */
export function endOnSignals(): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      endAll();
      process.exit(ABORTED);
    });
  }
}

/** Ends every process that a step started, with its children. */
function endAll(): void {
  for (const { pid } of running) {
    try {
      if (pid !== undefined) process.kill(-pid, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
}

export async function playStep(step: Step, artefacts: string): Promise<MeasuredScore> {
  const first = await playOnce(step, artefacts);
  const score = first.failed > 0 && step.isDownload === true ? await playOnce(step, artefacts) : first;
  if (score.failed > 0) console.log(endOfLog(logOf(step, artefacts)));
  return score;
}

const fileNameOf = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
const logOf = ({ name }: Step, artefacts: string): string => join(artefacts, `${fileNameOf(name)}.log`);

/** The last lines of the log, which say why the step failed. */
const endOfLog = (path: string): string => readFileSync(path, "utf8").split("\n").slice(-LOG_LINES_MAX).join("\n");

async function playOnce(step: Step, artefacts: string): Promise<MeasuredScore> {
  const { name, work, env = {}, givesWay = false } = step;
  const log = logOf(step, artefacts);
  if (work.kind === "command") {
    const { status, cpuSeconds } = await run(work.words, { log, env, givesWay });
    // A script says in such a line what it left out, or what it found and does not refuse.
    const notes = readFileSync(log, "utf8")
      .split("\n")
      .filter((line) => /^(NOTE|WARNING)\b| not played /.test(line));
    return status === 0
      ? { passed: 1, failed: 0, refusals: [], late: [], notes, cpuSeconds }
      : { passed: 0, failed: 1, refusals: [`${name}: exit ${status}`], late: [], notes, cpuSeconds };
  }
  const report = join(artefacts, `${fileNameOf(name)}.json`);
  const reporters = ["--reporter=default", `--reporter=${REPORTER}`];
  const words = ["vitest", "run", `--config=${work.config}`, ...work.words, ...reporters];
  const place = { log, env: { ...env, [REPORT_VARIABLE]: report }, givesWay };
  const { status, cpuSeconds } = await run(words, place);
  return { ...scoreOf({ name, config: work.config, env, status, report: readReport(report) }), cpuSeconds };
}

/** Null if vitest could not even write it. */
const readReport = (path: string): TestReport | null =>
  existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as TestReport) : null;

export function scoreOf(played: {
  readonly name: string;
  readonly config: string;
  readonly env?: Step["env"];
  readonly status: number;
  readonly report: TestReport | null;
}): Score {
  const { name, config, env = {}, status, report } = played;
  if (report === null) {
    return { passed: 0, failed: 1, refusals: [`${name}: vitest wrote no report, exit ${status}`], late: [], notes: [] };
  }
  const late = report.files
    .filter(({ failures }) => fateOf(failures) === "again")
    .map((each) => ({ config, env, ...each }));
  const refused = report.files.filter(({ failures }) => fateOf(failures) === "refused");
  const refusals = [
    ...refused.flatMap(({ file, failures }) => failures.map((failure) => `${file}: ${describe(failure)}`)),
    ...report.unhandled.map((failure) => `${name}: outside of any test: ${describe(failure)}`),
  ];
  const isExplained = refusals.length > 0 || late.length > 0;
  if (status !== 0 && !isExplained) refusals.push(`${name}: vitest ended with exit ${status} and no failed test`);
  if (status === 0 && report.passed === 0) refusals.push(`${name}: no test ran`);
  const notes = report.slowest.length > 0 ? [`slowest files: ${report.slowest.join(", ")}`] : [];
  return { passed: report.passed, failed: refusals.length, refusals, late, notes };
}

const describe = ({ kind, test, said }: Failure): string => {
  const where = test === "" ? "outside of its tests" : test;
  return kind === "safety" ? `SAFETY ${where}: ${said}` : `${where}: ${said}`;
};

const meter = cpuMeter();

/**
 * The compiler, the linter and esbuild are programs in Go, and each lives for seconds. With this variable their garbage
 * collector lets the heap grow to five times what is in use before it begins, and not to twice; a quarter of their work
 * was collecting. The largest, the compiler, takes 2 GB then.
 */
const FEW_COLLECTIONS = { GOGC: "400" };

/** Runs a command whose output goes to a log. */
async function run(
  words: readonly string[],
  place: { readonly log: string; readonly env: Readonly<Record<string, string>>; readonly givesWay: boolean },
): Promise<{ readonly status: number; readonly cpuSeconds: number | null }> {
  const [name = "", ...rest] = words;
  // Puts the project's own Node first, whatever version the system has.
  const path = [BIN, process.env["PATH"]].join(delimiter);
  const log = createWriteStream(place.log);
  const child = spawn(name, rest, {
    cwd: ROOT,
    env: { ...FEW_COLLECTIONS, ...process.env, ...place.env, PATH: path, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  running.add(child);
  if (place.givesWay && child.pid !== undefined) giveWay(child.pid);
  for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
  let cpuSeconds: number | null = null;
  child.on("exit", () => (cpuSeconds = meter.lap()));
  const status = await new Promise<number>((resolve) => {
    child.on("error", (error) => {
      log.write(`${error.message}\n`);
      resolve(1);
    });
    child.on("close", (exit) => resolve(exit ?? ABORTED));
  });
  running.delete(child);
  log.end();
  await finished(log);
  return { status, cpuSeconds };
}
