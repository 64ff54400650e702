/**
 * `npm run mutants [-- --only TEXT] [--list] [--table FILE] [--minutes N]`: plays the mutants of `mutants.txt`. For each it
 * breaks one rule in a copy of the sources and runs the suite that must notice. It prints which suite killed which mutant
 * after how many seconds, and at the end again the mutants that were not killed. Exits 1 if a mutant survived or could not
 * be judged; exits 2 if no mutant is called so. `--only` takes the mutants whose names contain TEXT.
 *
 * With `--minutes` it begins no mutant after that time, so that a slow machine ends too, and says how many are left. Their
 * order is another one for each commit, so no mutant is left out for long.
 */
import { spawn, spawnSync } from "node:child_process";
import { hash } from "node:crypto";
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { killGroup } from "../../src/adapters/local/workers/process-identity.ts";
import { PATIENCE_MS, type Judge, type Verdict, createJudge } from "./judges.ts";
import { type Mutant, ROOT, type Suite, filesOf, findProblems, findScheduleTest, readMutants } from "./table.ts";

/** A suite without a verdict after this time is stopped. */
const SUITE_MS = 90_000;
/** So many copies are played at once, one for each core of a small machine. */
const COPIES = 2;
const COPIED = [
  ...["src", "functions", "infra", "docs", "test", "agents", "bench", "scripts"],
  ...["package.json", "cairn.config.ts", "tsconfig.json", "vitest.config.ts"],
];

export interface Hunt {
  readonly mutants: readonly Mutant[];
  readonly say: (line: string) => void;
  /** No mutant begins after so many minutes. By default all are played. */
  readonly minutes?: number;
}

/** A copy of the sources, and the process that plays suites over it. */
interface Court {
  readonly copy: string;
  readonly judge: Judge;
  /** What each suite that killed a mutant says about the sound sources. All courts share it. */
  readonly sound: Map<string, Promise<Verdict>>;
}

/** Whether every mutant was killed, by a suite that passes over the sound sources. */
export async function hunt({ mutants, say, minutes = Infinity }: Hunt): Promise<boolean> {
  const problems = findProblems(mutants);
  for (const problem of problems) say(problem);
  if (problems.length > 0) return false;
  const sound = new Map<string, Promise<Verdict>>();
  const courts = Array.from({ length: COPIES }, makeCopy).map((copy): Court => ({
    copy,
    judge: createJudge(copy, envIn(copy)),
    sound,
  }));
  try {
    const until = performance.now() + minutes * 60_000;
    const work = async (mutant: Mutant, court: Court) => {
      const report = await playMutant(mutant, court);
      say(report.line);
      return report;
    };
    const reports = await shareOut(courts, { list: mutants, until, work });
    const notKilled = reports.filter(({ isKilled }) => !isKilled);
    for (const { line } of notKilled) say(line);
    const left = mutants.length - reports.length;
    const rest = left > 0 ? `, and ${left} were not played within ${minutes} minutes` : "";
    say(`${reports.length - notKilled.length} of ${reports.length} mutants killed${rest}`);
    return notKilled.length === 0;
  } finally {
    for (const { copy, judge } of courts) {
      judge.close();
      rmSync(copy, { recursive: true, force: true, maxRetries: 5 });
    }
  }
}

function makeCopy(): string {
  const copy = mkdtempSync(join(tmpdir(), "cairn-mutants-"));
  for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  return copy;
}

/** Each court takes the next piece of work as soon as it is free, until that time. */
async function shareOut<T, R>(
  courts: readonly Court[],
  of: { readonly list: readonly T[]; readonly until: number; readonly work: (item: T, court: Court) => Promise<R> },
): Promise<readonly R[]> {
  const results: R[] = [];
  const queue = of.list.values();
  const workThrough = async (court: Court): Promise<void> => {
    while (performance.now() < of.until) {
      const { value, done } = queue.next();
      if (done === true) return;
      results.push(await of.work(value, court));
    }
  };
  await Promise.all(courts.map(workThrough));
  return results;
}

/** The same mutants in an order of this commit. */
function shuffled(mutants: readonly Mutant[]): readonly Mutant[] {
  const { stdout } = spawnSync("git", ["rev-parse", "HEAD"], { cwd: ROOT, encoding: "utf8" });
  const placeOf = ({ name }: Mutant): string => hash("sha256", `${stdout} ${name}`);
  return mutants.toSorted((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1));
}

const FATES = { failed: "killed  ", passed: "SURVIVED", broken: "BROKEN  " } as const;
const NAME_COLUMNS = 72;

async function playMutant(
  mutant: Mutant,
  court: Court,
): Promise<{ readonly isKilled: boolean; readonly line: string }> {
  const begun = performance.now();
  const { kind, reason } = await verdictOnMutant(mutant, court);
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1).padStart(6);
  const suite = describeSuite(mutant.killedBy);
  const said = reason === "" ? suite : `${suite}: ${reason}`;
  return {
    isKilled: kind === "failed",
    line: `${FATES[kind]} ${seconds} s  ${mutant.name.padEnd(NAME_COLUMNS)} ${said}`,
  };
}

async function verdictOnMutant(mutant: Mutant, court: Court): Promise<Verdict> {
  const files = filesOf(mutant);
  for (const [file, text] of files) writeFileSync(join(court.copy, file), text);
  const verdict = await verdictOn(mutant.killedBy, [...files.keys()], court).finally(() => {
    for (const file of files.keys()) cpSync(join(ROOT, file), join(court.copy, file));
  });
  if (verdict.kind !== "failed" || (await passesOverSoundSources(mutant.killedBy, court))) return verdict;
  return { kind: "broken", reason: "fails without any mutant" };
}

/**
 * Whether a suite can kill at all: one that lacks something in the copy fails over every mutant. It is played once for
 * each file, since `npm test` plays the others. Slow suites take minutes and are left to it.
 */
async function passesOverSoundSources(suite: Suite, court: Court): Promise<boolean> {
  const key = suite.kind === "simulation" ? describeSuite(suite) : testsOf(suite).file;
  if (key.startsWith("test/slow/")) return true;
  const known = court.sound.get(key) ?? verdictOn(suite, [], court);
  court.sound.set(key, known);
  return (await known).kind === "passed";
}

/** Their tests start processes. What a mutant leaves running must end with the suite. */
const STARTS_PROCESSES = /^test\/(cli|process|slow)\//;

async function verdictOn(suite: Suite, changed: readonly string[], { copy, judge }: Court): Promise<Verdict> {
  if (suite.kind === "simulation") return play(suite, copy);
  const { file, test: title = "" } = testsOf(suite);
  return STARTS_PROCESSES.test(file) ? play(suite, copy) : judge.judge({ file, title, changed }, SUITE_MS);
}

function describeSuite(suite: Suite): string {
  if (suite.kind === "schedule") return `${findScheduleTest(suite.row)} "schedule ${suite.row}:"`;
  if (suite.kind === "simulation") return `simulation, ${suite.seeds} seeds`;
  return suite.test === undefined ? suite.file : `${suite.file} "${suite.test}"`;
}

async function play(suite: Suite, copy: string): Promise<Verdict> {
  const { status, output } = await run(argumentsOf(suite), copy);
  if (status === 0) return { kind: "passed", reason: "" };
  if (status === null) return { kind: "broken", reason: `no verdict within ${SUITE_MS} ms` };
  // The language refuses a text that is not a program. That says nothing about the suite.
  const refusal = /\b(ReferenceError|SyntaxError|Transform failed|Failed Suites)\b.*/.exec(output);
  if (refusal !== null) return { kind: "broken", reason: refusal[0] };
  return { kind: "failed", reason: /^s\d+: (\w+): /m.exec(output)?.[1] ?? "" };
}

function argumentsOf(suite: Suite): readonly string[] {
  if (suite.kind === "simulation") return ["scripts/sim.ts", "--seeds", String(suite.seeds), "--first"];
  const { file, test } = testsOf(suite);
  const patience = [`--expect.poll.timeout=${PATIENCE_MS}`, `--testTimeout=${2 * PATIENCE_MS}`];
  const options = ["--reporter=dot", "--bail=1", ...patience];
  return ["node_modules/vitest/vitest.mjs", "run", file, ...options, ...(test === undefined ? [] : ["-t", test])];
}

const testsOf = (suite: Exclude<Suite, { readonly kind: "simulation" }>) =>
  suite.kind === "schedule"
    ? { file: String(findScheduleTest(suite.row)), test: `schedule ${suite.row}:` }
    : { file: suite.file, test: suite.test };

function envIn(copy: string): NodeJS.ProcessEnv {
  // A test may have started this hunt: its suites are not workers of that test's vitest.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("VITEST"));
  // Many processes load the same program.
  return { ...Object.fromEntries(inherited), NODE_COMPILE_CACHE: join(copy, ".compiled"), NO_COLOR: "1" };
}

/**
 * The exit status, which is null after the time limit, and the whole output without colours. The process leads a group
 * that ends with it: a broken rule may be an endless loop in a worker, which would take a core from all that follow.
 */
function run(
  args: readonly string[],
  cwd: string,
): Promise<{ readonly status: number | null; readonly output: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number | null; output: string }>();
  const env = envIn(cwd);
  const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
  const limit = { timeout: SUITE_MS, killSignal: "SIGKILL" } as const;
  const child = spawn(process.execPath, args, { cwd, env, stdio, ...limit, detached: true });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part: Buffer) => (output += part.toString()));
  child.on("error", reject);
  child.on("exit", () => {
    if (child.pid !== undefined) killGroup(child.pid);
  });
  child.on("close", (status) => resolve({ status, output }));
  return promise;
}

async function main(): Promise<number> {
  const text = { type: "string" } as const;
  const options = { only: text, table: text, minutes: text, list: { type: "boolean" } } as const;
  const { values } = parseArgs({ options });
  const mutants = readMutants(values.table).filter(({ name }) => name.includes(values.only ?? ""));
  const say = (line: string): void => console.log(line);
  if (mutants.length === 0) {
    console.error(`No mutant has "${values.only}" in its name. \`npm run mutants -- --list\` shows all names.`);
    return 2;
  }
  const bound = values.minutes === undefined ? {} : { minutes: Number(values.minutes) };
  if (!((bound.minutes ?? 1) > 0)) {
    console.error(`--minutes takes a number above 0, not "${values.minutes}"`);
    return 2;
  }
  const played = values.minutes === undefined ? mutants : shuffled(mutants);
  if (values.list !== true) return (await hunt({ mutants: played, say, ...bound })) ? 0 : 1;
  for (const { name, killedBy } of mutants) say(`${name.padEnd(NAME_COLUMNS)} ${describeSuite(killedBy)}`);
  return 0;
}

if (import.meta.main) process.exitCode = await main();
