/**
 * `npm run verify`: every level of proof that needs no cloud, in order, with a line and a time for each. All levels
 * run, also after one failed. Its last line says how many passed and failed: each test counts, and so does each other
 * level. Exits 1 if anything failed. `--without-localstack` is for machines that cannot run it, and refused where CI is
 * set.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const BIN = join(ROOT, "node_modules", ".bin");
/** The Node that the project brings along, whatever the system has. */
const ENV = { ...process.env, PATH: [BIN, process.env["PATH"]].join(delimiter) };

interface Score {
  readonly passed: number;
  readonly failed: number;
}

type Level = readonly [name: string, run: () => Promise<Score>];

/** What takes one core for minutes runs beside other such work; the rest takes all of them, or is over soon. */
const STAGES: readonly (readonly (readonly Level[])[])[] = [
  [
    [
      ["infra platform", () => command("node", "scripts/platform.ts")],
      ["format", () => command("oxfmt", "--check")],
      ["lint", () => command("oxlint", "--type-aware")],
      ["types", () => command("tsc", "--noEmit")],
      ["types of infra", () => command("tsc", "--noEmit", "-p", "tsconfig.infra.json")],
      ["infra tests", () => tests("vitest.infra.config.ts")],
      ["dead code", () => command("knip")],
      ["diagram", () => command("node", "scripts/diagram.ts", "--check", "docs/protocol.md")],
      ["picture", () => command("node", "scripts/picture.ts", "--check", "audit", "killed", "declined")],
      ["benchmark, small", () => command("node", "bench/beats.ts", "30")],
      ["size and import of functions", () => command("node", "scripts/functions.ts")],
      ["benchmark of the dial, small", () => command("node", "bench/dial.ts", "2")],
    ],
  ],
  [
    [
      ["crashes and zombies", () => command("node", "test/slow/crash/main.ts")],
      ["crashes and zombies, stopping", () => command("node", "test/slow/crash/main.ts", "--stops")],
      ["crashes and zombies, compacting", () => command("node", "test/slow/crash/main.ts", "--compacts")],
      ["crashes and zombies, dialled", () => command("node", "test/slow/crash/main.ts", "--dialled", "1")],
      ["stores that are away", () => command("node", "test/slow/crash/main.ts", "--outages", "--stride", "3")],
      ["pairs of crashes", () => command("node", "test/slow/crash/main.ts", "--pairs", "--stride", "40")],
    ],
    [["simulation, with its reach", () => command("node", "scripts/sim.ts", "--seeds", "10000")]],
  ],
  [
    [
      ["mutants", () => command("node", "test/mutation/run.ts")],
      ["tests", () => tests("vitest.config.ts")],
      ["tests on LocalStack", () => tests("vitest.localstack.config.ts")],
      ["cost of beats on LocalStack", () => command("node", "scripts/cost.ts")],
    ],
  ],
];

const WITHOUT = "--without-localstack";

/** All of them, unless somebody at a keyboard says otherwise. */
function chosenStages(): typeof STAGES {
  if (!process.argv.includes(WITHOUT)) return STAGES;
  if (process.env["CI"]) throw new Error(`${WITHOUT} is not for CI`);
  console.log(`${WITHOUT}: the real machine and the real functions are not run`);
  return STAGES.map((lanes) => lanes.map((lane) => lane.filter(([name]) => !name.endsWith("LocalStack"))));
}

async function main(): Promise<void> {
  const scores: Score[] = [];
  for (const lanes of chosenStages()) {
    await Promise.all(
      lanes.map(async (lane) => {
        for (const level of lane) scores.push(await played(level));
      }),
    );
  }
  const passed = scores.reduce((sum, score) => sum + score.passed, 0);
  const failed = scores.reduce((sum, score) => sum + score.failed, 0);
  process.exitCode = failed === 0 ? 0 : 1;
  console.log(`${passed} passed, ${failed} failed`);
}

async function played([name, run]: Level): Promise<Score> {
  const begun = performance.now();
  const score = await run();
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
  console.log(`${score.failed === 0 ? "ok    " : "FAILED"} ${name} (${seconds} s)`);
  return score;
}

/** What the tool says is shown only if it objects. */
async function command(name: string, ...words: readonly string[]): Promise<Score> {
  const child = spawn(name, words, { cwd: ROOT, env: ENV, stdio: ["ignore", "pipe", "pipe"] });
  const said: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => void said.push(chunk));
  const status = await ended(child);
  if (status === 0) return { passed: 1, failed: 0 };
  console.log(typeof status === "string" ? status : Buffer.concat(said).toString());
  return { passed: 0, failed: 1 };
}

/** The exit code, null after a signal, or why it could not be started. */
const ended = (child: ChildProcess): Promise<number | string | null> =>
  new Promise((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code) => resolve(code));
  });

/** The tests report to this terminal and, to be counted, to a file. */
async function tests(config: string): Promise<Score> {
  const dir = mkdtempSync(join(tmpdir(), "cairn-verify-"));
  const file = join(dir, "tests.json");
  const words = ["run", `--config=${config}`, "--reporter=default", "--reporter=json", `--outputFile=${file}`];
  const status = await ended(spawn("vitest", words, { cwd: ROOT, env: ENV, stdio: "inherit" }));
  const score = scoreIn(file);
  rmSync(dir, { recursive: true });
  // A file that cannot be loaded has no tests that could fail, and an error outside of a test belongs to none.
  return status !== 0 && score.failed === 0 ? { ...score, failed: 1 } : score;
}

function scoreIn(file: string): Score {
  try {
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(file, "utf8")) as Record<string, number>;
    return { passed: numPassedTests ?? 0, failed: numFailedTests ?? 0 };
  } catch {
    return { passed: 0, failed: 1 };
  }
}

await main();
