/**
 * `npm run verify`: checks a change before it is handed in; CI runs it too. It plays what the change asks for: the table
 * of `verify/paths.ts` leads from the changed paths to steps. What the change is compared with is in `verify/base.ts`.
 *
 *   --full                the level of every night: everything, unbounded
 *   --without-localstack  for machines that cannot run LocalStack; refused if CI is set
 *   --plan                only prints what would be played, and why
 *
 * All steps run, even after one failed. A test file all of whose failures came late plays once more at the end, alone
 * (docs/adr/0115-second-try.md). The last line says how many passed and failed: each test counts, and so does each other
 * step. Exits 1 if anything failed. Logs and the list of unstable files are in `coverage/verify`.
 *
 * A green run of a clean checkout writes its commit to `.ci/passed`, from which the next run without a base starts.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Base, PASSED_FILE, changedSince, findBase, formatPassed, gitIn, isClean } from "./verify/base.ts";
import { OPTIONAL_STEPS, type OptionalStep, stepsFor } from "./verify/paths.ts";
import { ROOT, type Score, type Step, endOnSignals, playStep } from "./verify/play.ts";
import { UNSTABLE_MAX, settleLate } from "./verify/second-try.ts";
import { LOCALSTACK_STEPS, type Stage, gate, night } from "./verify/steps.ts";

const ARTEFACTS = join(ROOT, "coverage", "verify");
const PROGRESS_MS = 30_000;
const MINUTE_MS = 60_000;

interface Plan {
  readonly stages: readonly Stage[];
  /** What is played and left out, and why. */
  readonly lines: readonly string[];
  /** Whether a green run proves that every step is green for HEAD, apart from LocalStack. */
  readonly provesHead: boolean;
}

interface Options {
  readonly full: boolean;
  readonly localstack: boolean;
}

function makePlan({ full, localstack }: Options): Plan {
  const without = localstack ? [] : ["left out: localstack (--without-localstack)"];
  if (full) {
    const date = new Date().toISOString().slice(0, 10);
    return { stages: night(localstack, date), lines: ["plays everything, unbounded", ...without], provesHead: true };
  }
  const git = gitIn(ROOT);
  const base = findBase(ROOT, process.env["CAIRN_BASE"], git);
  const files = base.kind === "none" ? [] : changedSince(base.commit, git);
  if (base.kind !== "none" && files.every((file) => file === PASSED_FILE)) {
    const nothing = `nothing to play: only ${PASSED_FILE} differs from ${base.commit.slice(0, 10)}`;
    return { stages: [], lines: [nothing], provesHead: false };
  }
  const all = new Map<OptionalStep, readonly string[]>(OPTIONAL_STEPS.map((step) => [step, ["everything"]]));
  const asked = base.kind === "none" ? { steps: all, unknown: [] } : stepsFor(files);
  const wanted = new Map(asked.steps);
  // What the last green run left out was never played for the commits before it either.
  const isUnplayed = base.kind === "passed" && base.level === "without-localstack";
  for (const step of LOCALSTACK_STEPS) {
    if (isUnplayed) wanted.set(step, ["never played"]);
    if (!localstack) wanted.delete(step);
  }
  const leftOut = OPTIONAL_STEPS.filter((step) => !wanted.has(step));
  const lines = [
    describeBase(base, files.length),
    ...asked.unknown.map((file) => `no row of scripts/verify/paths.ts knows ${file}, so everything is played`),
    ...[...wanted].map(([step, rows]) => `plays ${step}: ${rows.join(", ")}`),
    ...(localstack ? [] : without),
    ...(leftOut.length > 0 && localstack ? [`left out: ${leftOut.join(", ")}`] : []),
  ];
  const mutantsSince = base.kind === "none" ? null : base.commit;
  return {
    stages: gate(new Set(wanted.keys()), mutantsSince),
    lines,
    // What a base of another kind passed is not known here.
    provesHead: base.kind === "none" || base.kind === "passed",
  };
}

function describeBase(base: Base, count: number): string {
  if (base.kind === "none") return `plays everything: ${base.why}`;
  const source = { environment: "CAIRN_BASE", "merge-base": "the remote's default branch", passed: PASSED_FILE };
  return `${count} files differ from ${base.commit.slice(0, 10)} (${source[base.kind]})`;
}

/** The steps that are running, with their beginnings, for the lines of progress. */
const begun = new Map<string, number>();
const secondsSince = (time: number): string => ((performance.now() - time) / 1_000).toFixed(0);

async function playTimed(step: Step): Promise<Score> {
  const since = performance.now();
  begun.set(step.name, since);
  const score = await playStep(step, ARTEFACTS);
  begun.delete(step.name);
  const word = score.failed > 0 ? "FAILED" : score.late.length > 0 ? "late  " : "ok    ";
  const cpu = score.cpuSeconds === null ? "" : `, ${score.cpuSeconds.toFixed(0)} s of a core`;
  console.log(`${word} ${step.name} (${secondsSince(since)} s${cpu})`);
  for (const note of score.notes) console.log(`       ${note}`);
  return score;
}

async function playStages(stages: readonly Stage[]): Promise<readonly Score[]> {
  const scores: Score[] = [];
  for (const lanes of stages) {
    const playLane = async (lane: Iterable<Step>): Promise<void> => {
      for (const step of lane) scores.push(await playTimed(step));
    };
    await Promise.all(lanes.map(playLane));
  }
  return scores;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      full: { type: "boolean", default: false },
      "without-localstack": { type: "boolean", default: false },
      plan: { type: "boolean", default: false },
    },
  });
  const localstack = !values["without-localstack"];
  if (!localstack && process.env["CI"]) throw new Error("--without-localstack is not for CI");
  const plan = makePlan({ full: values.full, localstack });
  for (const line of plan.lines) console.log(line);
  if (values.plan) {
    for (const step of plan.stages.flatMap((lanes) => lanes.flatMap((lane) => [...lane])))
      console.log(`  ${step.name}`);
    return 0;
  }
  rmSync(ARTEFACTS, { recursive: true, force: true });
  mkdirSync(ARTEFACTS, { recursive: true });
  const since = performance.now();
  const progress = setInterval(() => {
    if (begun.size === 0) return;
    console.log(`...    ${[...begun].map(([name, time]) => `${name} (${secondsSince(time)} s)`).join(", ")}`);
  }, PROGRESS_MS);
  const scores = [...(await playStages(plan.stages))];
  const late = scores.flatMap((score) => score.late);
  const { scores: again, unstable } = await settleLate(late, playTimed);
  clearInterval(progress);
  scores.push(...again);
  writeFileSync(join(ARTEFACTS, "unstable.txt"), unstable.map((line) => `${line}\n`).join(""));
  for (const line of unstable) console.log(`UNSTABLE ${line}`);
  for (const line of scores.flatMap((score) => score.refusals)) console.log(`REFUSED ${line}`);
  const passed = scores.reduce((sum, score) => sum + score.passed, 0);
  const failed = scores.reduce((sum, score) => sum + score.failed, 0);
  const minutes = ((performance.now() - since) / MINUTE_MS).toFixed(1);
  console.log(
    `${minutes} minutes; unstable files: ${unstable.length} (at most ${UNSTABLE_MAX}); logs: coverage/verify`,
  );
  if (failed === 0 && plan.provesHead) recordPassed(localstack);
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** Only of a clean checkout: anything else is not what its commit says. */
function recordPassed(localstack: boolean): void {
  const git = gitIn(ROOT);
  const commit = git("rev-parse", "HEAD");
  if (commit === null || !isClean(git))
    return console.log(`${PASSED_FILE} stays as it is: the checkout is not its commit`);
  writeFileSync(join(ROOT, PASSED_FILE), formatPassed({ commit, level: localstack ? "all" : "without-localstack" }));
  console.log(`${PASSED_FILE} names ${commit.slice(0, 10)} now: commit it with the next change`);
}

endOnSignals();

process.exitCode = await main();
