/**
 * `npm run mutants [-- --only TEXT] [--list] [--table FILE]`: plays the mutants of `mutants.txt`. For each it breaks one
 * rule in a copy of the sources and runs, as a process of its own, the suite that must notice. It prints which suite
 * killed which mutant after how many seconds. Exits 1 if a mutant survived or could not be judged, and if a suite fails
 * over sound sources; exits 2 if no mutant is called so. `--only` takes the mutants whose names contain TEXT.
 */
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { killGroup } from "../../src/adapters/local/workers/process-identity.ts";
import { type Mutant, ROOT, type Suite, filesOf, findProblems, findScheduleTest, readMutants } from "./table.ts";

/** A suite without a verdict after this time is stopped. */
const SUITE_MS = 90_000;
/** So many copies are played at once, one for each core of a small machine. */
const COPIES = 2;
const COPIED = [
  ...["src", "functions", "infra", "docs", "test", "agents", "scripts"],
  ...["package.json", "cairn.config.ts", "tsconfig.json", "vitest.config.ts"],
];

export interface Hunt {
  readonly mutants: readonly Mutant[];
  readonly say: (line: string) => void;
}

/** `passed`: the suite noticed nothing. `failed`: it noticed something. `broken`: it could not judge. */
interface Verdict {
  readonly kind: "passed" | "failed" | "broken";
  /** The checker that noticed, or why there is no verdict. */
  readonly reason: string;
  /** The last lines that the suite printed. */
  readonly lines: string;
}

/** A failed assertion with its place takes fewer lines. */
const LINES_SHOWN = 40;

/** Whether every suite passes over the sound sources and every mutant was killed. */
export async function hunt({ mutants, say }: Hunt): Promise<boolean> {
  const problems = findProblems(mutants);
  for (const problem of problems) say(problem);
  if (problems.length > 0) return false;
  const copies = Array.from({ length: COPIES }, makeCopy);
  try {
    const verdicts = await shareOut(copies, suitesOf(mutants), async (suite, copy) => ({
      suite,
      ...(await play(suite, copy)),
    }));
    const failing = verdicts.filter(({ kind }) => kind !== "passed");
    for (const { suite, reason, lines } of failing)
      say(`fails without any mutant: ${describeSuite(suite)} ${reason}\n${lines}`);
    if (failing.length > 0) return false;
    const killed = await shareOut(copies, mutants, (mutant, copy) => playMutant(mutant, { copy, say }));
    const count = killed.filter(Boolean).length;
    say(`${count} of ${mutants.length} mutants killed`);
    return count === mutants.length;
  } finally {
    for (const copy of copies) rmSync(copy, { recursive: true, force: true });
  }
}

function makeCopy(): string {
  const copy = mkdtempSync(join(tmpdir(), "cairn-mutants-"));
  for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  return copy;
}

/** Each copy takes the next piece of work as soon as it is free. The results have the order of the list. */
async function shareOut<T, R>(
  copies: readonly string[],
  list: readonly T[],
  work: (item: T, copy: string) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const queue = list.entries();
  const workThrough = async (copy: string): Promise<void> => {
    for (const [index, item] of queue) results[index] = await work(item, copy);
  };
  await Promise.all(copies.map(workThrough));
  return results;
}

/** Each suite once. All schedules are one suite here: a process for each would take longer than its test. */
function suitesOf(mutants: readonly Mutant[]): readonly Suite[] {
  const all = [...new Map(mutants.map(({ killedBy }) => [describeSuite(killedBy), killedBy])).values()];
  const others = all.filter(({ kind }) => kind !== "schedule");
  const schedules = all.filter(({ kind }) => kind === "schedule");
  const together: Suite = { kind: "tests", file: "test/schedules", test: "schedule" };
  return schedules.length > 1 ? [...others, together] : all;
}

const FATES = { failed: "killed  ", passed: "SURVIVED", broken: "BROKEN  " } as const;
const NAME_COLUMNS = 72;

async function playMutant(
  mutant: Mutant,
  { copy, say }: { readonly copy: string; readonly say: Hunt["say"] },
): Promise<boolean> {
  const begun = performance.now();
  const files = filesOf(mutant);
  for (const [file, text] of files) writeFileSync(join(copy, file), text);
  const { kind, reason } = await play(mutant.killedBy, copy).finally(() => {
    for (const file of files.keys()) cpSync(join(ROOT, file), join(copy, file));
  });
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1).padStart(6);
  const suite = describeSuite(mutant.killedBy);
  say(
    `${FATES[kind]} ${seconds} s  ${mutant.name.padEnd(NAME_COLUMNS)} ${reason === "" ? suite : `${suite}: ${reason}`}`,
  );
  return kind === "failed";
}

function describeSuite(suite: Suite): string {
  if (suite.kind === "schedule") return `${findScheduleTest(suite.row)} "schedule ${suite.row}:"`;
  if (suite.kind === "simulation") return `simulation, ${suite.seeds} seeds`;
  return suite.test === undefined ? suite.file : `${suite.file} "${suite.test}"`;
}

async function play(suite: Suite, copy: string): Promise<Verdict> {
  const { status, output } = await run(argumentsOf(suite), copy);
  const lines = output.split("\n").slice(-LINES_SHOWN).join("\n");
  if (status === 0) return { kind: "passed", reason: "", lines };
  if (status === null) return { kind: "broken", reason: `no verdict within ${SUITE_MS} ms`, lines };
  // The language refuses a text that is not a program. That says nothing about the suite.
  const refusal = /\b(ReferenceError|SyntaxError|Transform failed|Failed Suites)\b.*/.exec(output);
  if (refusal !== null) return { kind: "broken", reason: refusal[0], lines };
  return { kind: "failed", reason: /^s\d+: (\w+): /m.exec(output)?.[1] ?? "", lines };
}

function argumentsOf(suite: Suite): readonly string[] {
  if (suite.kind === "simulation") return ["scripts/sim.ts", "--seeds", String(suite.seeds), "--first"];
  const [file, test] =
    suite.kind === "schedule"
      ? [String(findScheduleTest(suite.row)), `schedule ${suite.row}:`]
      : [suite.file, suite.test];
  const vitest = ["node_modules/vitest/vitest.mjs", "run", file, "--bail=1", "--reporter=dot"];
  return test === undefined ? vitest : [...vitest, "-t", test];
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
  // A test may have started this hunt: its suites are not workers of that test's vitest.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("VITEST"));
  const env = { ...Object.fromEntries(inherited), NO_COLOR: "1" };
  const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
  const child = spawn(process.execPath, args, { cwd, env, stdio, timeout: SUITE_MS, detached: true });
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
  const { values } = parseArgs({ options: { only: text, table: text, list: { type: "boolean" } } });
  const mutants = readMutants(values.table).filter(({ name }) => name.includes(values.only ?? ""));
  const say = (line: string): void => console.log(line);
  if (mutants.length === 0) {
    console.error(`No mutant has "${values.only}" in its name. \`npm run mutants -- --list\` shows all names.`);
    return 2;
  }
  if (values.list !== true) return (await hunt({ mutants, say })) ? 0 : 1;
  for (const { name, killedBy } of mutants) say(`${name.padEnd(NAME_COLUMNS)} ${describeSuite(killedBy)}`);
  return 0;
}

if (import.meta.main) process.exitCode = await main();
