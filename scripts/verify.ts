/**
 * `npm run verify`: the checks to run before a change is handed in, in less than 12 minutes on two cores. `npm run
 * verify -- --full` adds every slow suite, the mutants and LocalStack, and is what CI runs. Neither needs a cloud.
 *
 * Each step prints a line with its time. All steps run, even after one failed, and the failures are named again at the
 * end. The last line says how many passed and failed: each test counts, and so does each other step. Exits 1 if anything
 * failed. `--without-localstack` is for machines that cannot run LocalStack; it is refused if CI is set.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, relative } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const BIN = join(ROOT, "node_modules", ".bin");
/** Puts the project's own Node first, whatever version the system has. */
const ENV = { ...process.env, PATH: [BIN, process.env["PATH"]].join(delimiter) };

interface Score {
  readonly passed: number;
  readonly failed: number;
  /** The tests that failed. The last lines of the output name them again. */
  readonly named?: readonly string[];
}

type Step = readonly [name: string, run: () => Promise<Score>];

/** Lanes run in parallel; the steps of a lane run in sequence. */
type Stage = readonly Iterable<Step>[];

/** Two lanes, each of which takes the next of these steps when it is through with one. */
function divided(steps: readonly Step[]): Stage {
  const rest = steps.values();
  return [rest, rest];
}

/** The types of infra, which the lint reads too, come with the platform. */
const PLATFORM: Stage = [
  [["infra platform", () => command("node", "scripts/platform.ts")]],
  [
    ["format", () => command("oxfmt", "--check")],
    ["diagram", () => command("node", "scripts/diagram.ts", "--check", "docs/protocol.md")],
    ["picture", () => command("node", "scripts/picture.ts", "--check", "audit", "killed", "declined")],
  ],
];

const INFRA: readonly Step[] = [
  ["types of infra", () => command("tsc", "--noEmit", "-p", "tsconfig.infra.json")],
  ["infra tests", () => tests("--config=vitest.infra.config.ts")],
];

const CHECKS: readonly Step[] = [
  ["lint", () => command("oxlint", "--type-aware")],
  ["types", () => command("tsc", "--noEmit")],
  ["types of the console", () => command("tsc", "--noEmit", "-p", "src/console/tsconfig.json")],
  ["types of the template's page", () => command("tsc", "-p", "templates/chat/page")],
  ["dead code", () => command("knip")],
  ["size and import of functions", () => command("node", "scripts/functions.ts")],
  ["sizes of the package", () => command("node", "scripts/sizes.ts")],
];

/** The time is a bound: the search itself takes a minute. */
const CONTRACT: Step = ["contract of the API", () => command("node", "scripts/contract.ts", "--seconds", "60")];

const BENCHMARKS: readonly Step[] = [
  ["benchmark, small", () => command("node", "bench/main.ts", "--small")],
  ["benchmark of the dial, small", () => command("node", "bench/dial.ts", "2")],
  ["cost of beats", () => command("node", "scripts/cost.ts")],
];

const crash = (name: string, ...words: readonly string[]): Step => [
  name,
  () => command("node", "test/slow/crash/main.ts", ...words),
];

const OUTAGES = crash("stores that are away", "--outages", "--stride", "3");

const CRASHES: readonly Step[] = [
  crash("crashes and zombies"),
  crash("crashes and zombies, stopping", "--stops"),
  crash("crashes and zombies, compacting", "--compacts"),
  crash("crashes and zombies, waiting", "--waits"),
  OUTAGES,
  crash("crashes and zombies, dialled", "--dialled", "1"),
  // Each zombie of a recovery takes as long as its whole scene, so these are samples.
  ...["rollback", "replan", "round", "cap"].map((scene) =>
    crash(`crashes and zombies, ${scene}`, "--recovers", scene, "--stride", "13"),
  ),
];

/** Its reach is checked only if there are enough seeds. */
const simulation = (seeds: number): Step => [
  `simulation, ${seeds} seeds`,
  () => command("node", "scripts/sim.ts", "--seeds", String(seeds)),
];

const LAPTOP: readonly Stage[] = [
  PLATFORM,
  [CHECKS, INFRA],
  divided([simulation(2_000), ...CRASHES]),
  [[["tests", () => tests("--config=vitest.config.ts", "--exclude", "test/slow/**")]]],
];

const FULL: readonly Stage[] = [
  PLATFORM,
  [
    [...CHECKS, CONTRACT],
    [...INFRA, ...BENCHMARKS],
    // Mostly downloads, so that no later step has to wait for them.
    [["LocalStack installed", () => command("node", "localstack/main.ts", "install")]],
  ],
  // The tests play every single fault of these scenes, and samples of their zombies.
  divided([
    crash("pairs of crashes", "--pairs", "--stride", "40"),
    crash("zombies", "--zombies"),
    crash("zombies, waiting", "--zombies", "--waits"),
    crash("zombies, compacting", "--zombies", "--compacts"),
    crash("zombies, stopping", "--zombies", "--stops"),
    crash("zombies, dialled", "--zombies", "--dialled", "1"),
    OUTAGES,
  ]),
  [
    [
      // All of them take twelve minutes, and twice that on a slow machine.
      ["mutants", () => command("node", "test/mutation/run.ts", "--minutes", "12")],
      ["tests", () => tests("--config=vitest.config.ts")],
    ],
  ],
  // The tests mostly wait, for pages and for an emulator, and run one file at a time. The simulation takes what is left.
  [
    [
      ["browser tests", () => tests("--config=vitest.browser.config.ts")],
      // On an emulator of its own, at another port.
      ["cost of beats on LocalStack", () => command("env", "LS_PORT=4600", "node", "scripts/cost.ts", "--localstack")],
      simulation(10_000),
    ],
    [["tests on LocalStack", () => tests("--config=vitest.localstack.config.ts")]],
  ],
];

const WITHOUT = "--without-localstack";

/** The stages, and whether they leave LocalStack out. */
function chosen(): { readonly stages: readonly Stage[]; readonly isWithout: boolean } {
  if (!process.argv.includes("--full")) return { stages: LAPTOP, isWithout: false };
  const isWithout = process.argv.includes(WITHOUT);
  if (isWithout && process.env["CI"]) throw new Error(`${WITHOUT} is not for CI`);
  if (isWithout) console.log(`${WITHOUT}: the real machine and the real functions are not run`);
  return { stages: FULL, isWithout };
}

async function main(): Promise<void> {
  const scores: Score[] = [];
  const failures: string[] = [];
  const { stages, isWithout } = chosen();
  for (const lanes of stages) {
    await Promise.all(
      lanes.map(async (lane) => {
        for (const step of lane) {
          if (isWithout && step[0].includes("LocalStack")) continue;
          const score = await played(step);
          scores.push(score);
          if (score.failed > 0) failures.push(`FAILED ${step[0]}`, ...(score.named ?? []).map((name) => `  ${name}`));
        }
      }),
    );
  }
  for (const line of failures) console.log(line);
  const passed = scores.reduce((sum, score) => sum + score.passed, 0);
  const failed = scores.reduce((sum, score) => sum + score.failed, 0);
  process.exitCode = failed === 0 ? 0 : 1;
  console.log(`${passed} passed, ${failed} failed`);
}

async function played([name, run]: Step): Promise<Score> {
  const begun = performance.now();
  const score = await run();
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
  console.log(`${score.failed === 0 ? "ok    " : "FAILED"} ${name} (${seconds} s)`);
  return score;
}

/** Prints the tool's output if the tool fails, and otherwise what it could not do. */
async function command(name: string, ...words: readonly string[]): Promise<Score> {
  const child = spawn(name, words, { cwd: ROOT, env: ENV, stdio: ["ignore", "pipe", "pipe"] });
  const said: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => void said.push(chunk));
  const status = await ended(child);
  const output = Buffer.concat(said).toString();
  if (status !== 0) console.log(typeof status === "string" ? status : output);
  else for (const line of output.split("\n").filter((each) => each.includes(" not played "))) console.log(line);
  return status === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

/** The exit code, null after a signal, or the reason why the process could not be started. */
const ended = (child: ChildProcess): Promise<number | string | null> =>
  new Promise((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code) => resolve(code));
  });

/** Runs tests with two reporters: one for this terminal, and one for a file from which the results are counted. */
async function tests(...options: readonly string[]): Promise<Score> {
  const dir = mkdtempSync(join(tmpdir(), "cairn-verify-"));
  const file = join(dir, "tests.json");
  const words = ["run", ...options, "--reporter=default", "--reporter=json", `--outputFile=${file}`];
  const status = await ended(spawn("vitest", words, { cwd: ROOT, env: ENV, stdio: "inherit" }));
  const score = scoreIn(file);
  rmSync(dir, { recursive: true });
  // A file that cannot be loaded has no failing test, and an error outside of a test belongs to none. Both count as one
  // failure.
  return status !== 0 && score.failed === 0 ? { ...score, failed: 1 } : score;
}

interface Report {
  readonly numPassedTests?: number;
  readonly numFailedTests?: number;
  readonly testResults?: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

function scoreIn(file: string): Score {
  try {
    const { numPassedTests, numFailedTests, testResults = [] } = JSON.parse(readFileSync(file, "utf8")) as Report;
    const named = testResults.flatMap(({ name, assertionResults }) =>
      assertionResults
        .filter(({ status }) => status === "failed")
        .map(({ fullName }) => `${relative(ROOT, name)}: ${fullName}`),
    );
    return { passed: numPassedTests ?? 0, failed: numFailedTests ?? 0, named };
  } catch {
    return { passed: 0, failed: 1 };
  }
}

await main();
