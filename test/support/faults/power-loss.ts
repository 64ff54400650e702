/**
 * Power losses of an embedded store. A run is played in a process that nobody kills, with a record of what left the
 * machine and when the disk had what. Then the write-ahead log is cut, as a power loss can cut it, and the run goes on
 * in a copy of the store, with the outside world as it was when the power went.
 *
 * A log that is cut at byte C can be found only if no later transaction was waited for. So everything that left before
 * the first such transaction has happened, and nothing after it.
 */
import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sqliteChain } from "../../../src/adapters/local/chain.ts";
import { type Store, openStore } from "../../../src/adapters/local/store/database.ts";
import { executionsOf } from "../../../src/adapters/local/store/executions.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { localWorld } from "../../../src/adapters/local/world.ts";
import { type VirtualClock, seededRandom, virtualClock } from "../../../src/adapters/memory/clock.ts";
import { SegmentCache } from "../../../src/history/load.ts";
import { CommitCache } from "../../../src/history/commits.ts";
import { runTask } from "../../../src/maintenance/chain-tasks.ts";
import { decide } from "../../../src/operations/decide.ts";
import { startRun } from "../../../src/operations/start.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import type { Invocation, RunTask } from "../../../src/ports/tasks.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import type { World } from "../../../src/ports/world.ts";
import { modelsOf } from "../../../src/providers/model.ts";
import { type Execution, applyAnswer, taskOfExecution } from "../../../src/protocol/execution.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import { temporaryDir } from "../../process/fixtures/store.ts";
import { AT } from "../states/states-and-events.ts";

/** Something that left the machine. `model`: a paid call. `told`: what a person was shown. */
export interface Left {
  readonly kind: "model" | "effect" | "told";
  readonly what: string;
}

/** A moment of the played run: how long the log was, whether the disk had all of it, and what had left before. */
interface Moment {
  readonly logBytes: number;
  readonly isDurable: boolean;
  readonly mark: Buffer;
  readonly left: readonly Left[];
}

export interface PlayedRun {
  readonly dir: string;
  readonly run: string;
  readonly moments: readonly Moment[];
  readonly log: Buffer;
  readonly left: readonly Left[];
  readonly begun: number;
}

/** Makes the agent over the record of what leaves, so that its model and its tools can note it. */
export type AgentOver = (left: Left[]) => Agent;

const FULL = 2;
const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
const logIn = (dir: string): string => join(dir, "cairn.sqlite-wal");

interface Machine {
  readonly store: Store;
  readonly world: World;
  readonly clock: VirtualClock;
  /** Its worker goes on with the beats of a run by itself. */
  readonly goesOn: boolean;
}

function machineIn(
  dir: string,
  of: { readonly create: boolean; readonly goesOn?: boolean; readonly beatsPerInvocation: number },
): Machine {
  const store = openStore({ dir, create: of.create });
  const clock = virtualClock(of.create ? AT : AT + 3_600_000);
  const limits = { ...limitsFor(3_000, { settleMs: 20, skewMs: 20 }), beatsPerInvocation: of.beatsPerInvocation };
  const bare = withKernel(localWorld({ store, limits, telemetry: { record: () => {} } }));
  const random = seededRandom(of.create ? "before" : "after");
  return {
    store,
    clock,
    goesOn: of.goesOn ?? false,
    world: { ...bare, clock, random, chain: sqliteChain(store, clock) },
  };
}

const performerIn = ({ world }: Machine, agent: Agent): RunTask =>
  runTask({
    world,
    agentOf: async () => ({ kind: "agent", agent, ...modelsOf(agent) }),
    segments: new SegmentCache(),
    commits: new CommitCache(),
  });

const invocationIn = ({ world, clock }: Machine): Invocation => ({
  deadline: clock.now() + world.limits.beatMs,
  drain: new AbortController().signal,
});

/** The sweep starts a run whose execution was not started. */
async function sweepIn(machine: Machine, agent: Agent): Promise<void> {
  const { clock } = machine;
  clock.moveTo(clock.now() + 3_600_000);
  await performerIn(machine, agent)({ kind: "sweep" }, invocationIn(machine));
}

/** Performs the tasks of the chain until no execution is due, as a supervisor with one worker does. */
async function work(machine: Machine, agent: Agent, onAnswer: (route: string) => void): Promise<void> {
  const { store, clock, goesOn } = machine;
  const executions = executionsOf(store);
  const perform = performerIn(machine, agent);
  const begin = (): Execution | null => {
    const [ready] = executions.ready(clock.now(), 1);
    return ready === undefined ? null : executions.begin(ready.name, clock.now());
  };
  let next: Execution | null = null;
  for (let tasks = 0; tasks < 100; tasks += 1) {
    const execution: Execution | null = next ?? begin();
    if (execution === null) return;
    const result = await perform(taskOfExecution(execution), invocationIn(machine));
    const answer = result.kind === "exit" ? ({ kind: "beat", reply: result.reply } as const) : result;
    next =
      goesOn && answer.kind === "beat"
        ? executions.goOn({ execution: execution.name, attempt: execution.attempt, reply: answer.reply })
        : null;
    if (next === null) executions.settle(execution, (found) => applyAnswer(found, { answer, now: clock.now() }));
    if (answer.kind === "beat") onAnswer(answer.reply.route);
    clock.moveTo(clock.now() + 1_000);
  }
  throw new Error("the run is not over after 100 tasks");
}

/** Approves what the run waits for, if it waits for a person. */
async function approveIn(world: World, run: string): Promise<string | null> {
  const shown = await show(world, run);
  const gate = shown?.gates.find(({ decided }) => !decided)?.gate;
  if (gate === undefined) return null;
  await decide(world, { run, gate, as: "approve", args: null, by: "ann", note: null });
  return gate;
}

interface Playing {
  readonly beatsPerInvocation?: number;
  /** It waits for the disk outside of its transactions. */
  readonly isShared?: boolean;
  readonly goesOn?: boolean;
}

/** Plays the run to its end, and records each moment at which the log grew. */
export async function playRun(agentOver: AgentOver, of: Playing = {}): Promise<PlayedRun> {
  const { beatsPerInvocation = 1, isShared = true, goesOn = false } = of;
  const dir = temporaryDir();
  const machine = machineIn(dir, { create: true, beatsPerInvocation, goesOn });
  const { store, world } = machine;
  const [left, moments]: [Left[], Moment[]] = [[], []];
  const begun = sizeOf(logIn(dir));
  const exec = store.rows.exec.bind(store.rows);
  store.rows.exec = (sql) => {
    exec(sql);
    if (sql !== "COMMIT") return;
    const isDurable = store.rows.prepare("PRAGMA synchronous").get()?.["synchronous"] === FULL;
    const mark = readFileSync(join(dir, "cairn.mark"));
    moments.push({ logBytes: sizeOf(logIn(dir)), isDurable, mark, left: [...left] });
  };
  const done = store.log.done;
  // As if other runs wrote at the same time.
  Object.assign(store.log, {
    isShared: () => isShared,
    done: async () => {
      const logBytes = sizeOf(logIn(dir));
      const moment = (isDurable: boolean): Moment => ({
        ...{ logBytes, isDurable, mark: readFileSync(join(dir, "cairn.mark")), left: [...left] },
      });
      moments.push(moment(false));
      await done();
      moments.push(moment(true));
    },
  });
  const agent = agentOver(left);
  const started = await startRun(world, { agent, input: {}, tenant: "local", idempotencyKey: null });
  if (started.kind !== "started") throw new Error(`not started: ${started.kind}`);
  const { run } = started.row;
  left.push({ kind: "told", what: "started" });
  const tell = (route: string): void => {
    if (route !== "beat") left.push({ kind: "told", what: route });
  };
  await work(machine, agent, tell);
  for (let gates = 0; gates < 10; gates += 1) {
    const gate = await approveIn(world, run);
    if (gate === null) break;
    left.push({ kind: "told", what: `approved ${gate}` });
    await work(machine, agent, tell);
  }
  const log = readFileSync(logIn(dir));
  // A checkpoint would move the log into the file.
  const copy = temporaryDir();
  copyFileSync(join(dir, "cairn.sqlite"), join(copy, "cairn.sqlite"));
  store.close();
  return { dir: copy, run, moments, log, left: [...left], begun };
}

/** What the store showed when the machine was up again, and how the run ended. */
export interface AfterLoss {
  /** What had left the machine when the power went. */
  readonly before: readonly Left[];
  /** What the store shows first; null if the run is not there. */
  readonly found: Awaited<ReturnType<typeof show>>;
  readonly ended: Awaited<ReturnType<typeof show>>;
  /** Model calls that the run's record accounts for: those with a reply, and those that were lost. */
  readonly modelCalls: number;
  /** All that left the machine, before and after. */
  readonly left: readonly Left[];
}

/** Cuts the log at that byte, and lets the run go on. */
export async function loseAt(
  played: PlayedRun,
  cut: number,
  of: { readonly agentOver: AgentOver; readonly beatsPerInvocation?: number },
): Promise<AfterLoss> {
  // The first transaction that was waited for and that the cut log lacks had not returned yet.
  const next = played.moments.findIndex(({ logBytes, isDurable }) => isDurable && logBytes > cut);
  const before = next < 0 ? played.left : (played.moments[next]?.left ?? []);
  const mark = next < 0 ? played.moments.at(-1)?.mark : played.moments[next - 1]?.mark;
  const dir = temporaryDir();
  mkdirSync(dir, { recursive: true });
  copyFileSync(join(played.dir, "cairn.sqlite"), join(dir, "cairn.sqlite"));
  writeFileSync(logIn(dir), played.log.subarray(0, cut));
  if (mark !== undefined) writeFileSync(join(dir, "cairn.mark"), mark);
  const left = [...before];
  const machine = machineIn(dir, { create: false, beatsPerInvocation: of.beatsPerInvocation ?? 1 });
  try {
    const { store, world, clock } = machine;
    const found = await show(world, played.run);
    executionsOf(store).recover({ now: clock.now(), limits: world.limits });
    const agent = of.agentOver(left);
    for (let gates = 0; gates < 10; gates += 1) {
      await work(machine, agent, () => undefined);
      await sweepIn(machine, agent);
      await work(machine, agent, () => undefined);
      if ((await approveIn(world, played.run)) === null) break;
    }
    const told = (await timeline(world, { run: played.run, after: 0 })) ?? [];
    const modelCalls = told.reduce((sum, event) => {
      if (event.kind === "ModelCallCompleted") return sum + 1;
      return event.kind === "ModelCallLost" ? sum + event.calls : sum;
    }, 0);
    return { before, found, left, modelCalls, ended: await show(world, played.run) };
  } finally {
    machine.store.close();
  }
}
