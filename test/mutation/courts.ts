/**
 * A court is a copy of the sources in which suites judge mutants: it writes the text of a mutant, plays the suite that
 * must notice, and writes the sound text again.
 */
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { killGroup } from "../../src/adapters/local/process-identity.ts";
import { FACTOR_VARIABLE, LIMITS } from "../support/gate/limits.ts";
import { type Judge, type Verdict, createJudge } from "./judges.ts";
import { type Mutant, ROOT, type Suite, describeSuite, filesOf, testsOf } from "./table.ts";

const COPIED = [
  ...["src", "functions", "infra", "docs", "test", "agents", "bench", "scripts", "templates"],
  ...["package.json", "cairn.config.ts", "tsconfig.json", "vitest.config.ts"],
];

export interface Court {
  judge(mutant: Mutant): Promise<Verdict>;
  /** Ends its processes and removes the copy. */
  close(): void;
}

/** What each suite that killed a mutant says about the sound sources. Courts over the same sources share it. */
type SoundVerdicts = Map<string, Promise<Verdict>>;

interface Terms {
  readonly sound: SoundVerdicts;
  /** How much slower the machine is than a quiet one. The limits of the suites grow with it. */
  readonly factor: number;
}

/** A court over a copy of the checkout. */
export function openCourt(terms: Terms): Court {
  const copy = makeFolder();
  for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  return courtOver(copy, terms);
}

/** A court over the sources of a commit. The checkout and its worktrees stay as they are. */
export function openCourtOf(commit: string, terms: Terms): Court {
  const copy = makeFolder();
  const options = { cwd: ROOT, maxBuffer: 2 ** 30 };
  const names = execFileSync("git", ["ls-tree", "--name-only", commit], { ...options, encoding: "utf8" }).split("\n");
  const archived = COPIED.filter((name) => names.includes(name));
  const archive = execFileSync("git", ["archive", commit, ...archived], options);
  execFileSync("tar", ["-x", "-C", copy], { input: archive });
  return courtOver(copy, terms);
}

const makeFolder = (): string => mkdtempSync(join(tmpdir(), "cairn-mutants-"));

function courtOver(copy: string, { sound, factor }: Terms): Court {
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  const env = envIn(copy, factor);
  const judge = createJudge(copy, env);
  const bench: Bench = { copy, env, sound, suiteMs: Math.ceil(LIMITS.runMs * factor), judge, ends: new Set() };
  const close = (): void => {
    process.off("exit", close);
    for (const end of [judge.close, ...bench.ends]) end();
    rmSync(copy, { recursive: true, force: true, maxRetries: 5 });
  };
  // The suites lead groups of their own, so they would outlive a hunt that is ended.
  process.on("exit", close);
  return { judge: (mutant) => judgeMutant(mutant, bench), close };
}

/** What plays suites in one copy. */
interface Bench {
  readonly copy: string;
  readonly env: NodeJS.ProcessEnv;
  readonly sound: SoundVerdicts;
  /** A suite without a verdict after this time is stopped. */
  readonly suiteMs: number;
  readonly judge: Judge;
  /** They end what is played outside of the judge, at this moment. */
  readonly ends: Set<() => void>;
}

async function judgeMutant(mutant: Mutant, bench: Bench): Promise<Verdict> {
  const { copy } = bench;
  const files = filesOf(mutant, copy);
  const sound = new Map([...files.keys()].map((file) => [file, readFileSync(join(copy, file))]));
  for (const [file, text] of files) writeFileSync(join(copy, file), text);
  const verdict = await verdictOf(mutant.killedBy, [...files.keys()], bench).finally(() => {
    for (const [file, text] of sound) writeFileSync(join(copy, file), text);
  });
  if (verdict.kind !== "failed") return verdict;
  const overSound = await verdictOverSound(mutant.killedBy, bench);
  if (overSound.kind === "passed") return verdict;
  return { kind: "broken", reason: "fails without any mutant", isLate: overSound.isLate };
}

/** The seeds that show that a simulation runs in the copy. `npm run sim` plays the others over the sound sources. */
const SOUND_SEEDS = 20;

/**
 * Whether a suite can kill at all: one that lacks something in the copy fails over every mutant. It is played once for
 * each file, since `npm test` plays the others. Slow suites take minutes and are left to it.
 */
function verdictOverSound(suite: Suite, bench: Bench): Promise<Verdict> {
  const played: Suite = suite.kind === "simulation" ? { kind: "simulation", seeds: SOUND_SEEDS } : suite;
  const key = played.kind === "simulation" ? describeSuite(played) : testsOf(played, bench.copy).file;
  if (key.startsWith("test/slow/")) return Promise.resolve({ kind: "passed", reason: "", isLate: false });
  const known = bench.sound.get(key) ?? verdictOf(played, [], bench);
  bench.sound.set(key, known);
  return known;
}

/** Their tests start processes. What a mutant leaves running must end with the suite. */
const STARTS_PROCESSES = /^test\/(cli|process|slow)\//;

async function verdictOf(suite: Suite, changed: readonly string[], bench: Bench): Promise<Verdict> {
  if (suite.kind === "simulation") return simulate(suite.seeds, bench);
  const { file, test: title = "" } = testsOf(suite, bench.copy);
  const isOwn = STARTS_PROCESSES.test(file);
  if (!isOwn) return bench.judge.judge({ file, title, changed }, bench.suiteMs);
  const judge = createJudge(bench.copy, bench.env);
  bench.ends.add(judge.close);
  const verdict = await judge.judge({ file, title, changed }, bench.suiteMs);
  bench.ends.delete(judge.close);
  judge.close();
  return verdict;
}

async function simulate(seeds: number, bench: Bench): Promise<Verdict> {
  const { status, output } = await run(["scripts/sim.ts", "--seeds", String(seeds), "--first"], bench);
  if (status === 0) return { kind: "passed", reason: "", isLate: false };
  if (status === null) return { kind: "broken", reason: `no verdict within ${bench.suiteMs} ms`, isLate: true };
  // The language refuses a text that is not a program. That says nothing about the suite.
  const refusal = /\b(ReferenceError|SyntaxError)\b.*/.exec(output);
  if (refusal !== null) return { kind: "broken", reason: refusal[0], isLate: false };
  return { kind: "failed", reason: /^s\d+: (\w+): /m.exec(output)?.[1] ?? "", isLate: false };
}

function envIn(copy: string, factor: number): NodeJS.ProcessEnv {
  // A test may have started this hunt: its suites are not workers of that test's vitest. Their processes run the copy, and
  // never the package, in which no rule is switched off.
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(VITEST|CAIRN_PROGRAM$|CAIRN_TEST_BUILT$)/.test(name),
  );
  // Many processes load the same program.
  const own = { NODE_COMPILE_CACHE: join(copy, ".compiled"), NO_COLOR: "1", [FACTOR_VARIABLE]: String(factor) };
  return { ...Object.fromEntries(inherited), ...own };
}

/**
 * The exit status, which is null after the time limit, and the whole output without colours. The process leads a group
 * that ends with it: a broken rule may be an endless loop in a worker, which would take a core from all that follow.
 */
function run(
  args: readonly string[],
  { copy, env, suiteMs, ends }: Bench,
): Promise<{ readonly status: number | null; readonly output: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number | null; output: string }>();
  const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
  const limit = { timeout: suiteMs, killSignal: "SIGKILL" } as const;
  const child = spawn(process.execPath, args, { cwd: copy, env, stdio, ...limit, detached: true });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part: Buffer) => (output += part.toString()));
  child.on("error", reject);
  const end = (): void => {
    if (child.pid !== undefined) killGroup(child.pid);
  };
  ends.add(end);
  child.on("exit", () => {
    ends.delete(end);
    end();
  });
  child.on("close", (status) => resolve({ status, output }));
  return promise;
}
