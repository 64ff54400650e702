/**
 * Runs the tasks of a comparison as runs of cairn: one embedded store, one supervisor, real child processes. A process
 * that is paused at its moment is killed with SIGKILL from here. Everything else is what `cairn work` does.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as elapse } from "node:timers/promises";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { rememberAgentFile } from "../adapters/local/store/agent-files.ts";
import { openStore } from "../adapters/local/store/database.ts";
import { drivenStore } from "../adapters/local/store/driven-store.ts";
import { startSupervisor } from "../workers/supervisor.ts";
import { withKernel } from "../features/compose.ts";
import { localWorld } from "../adapters/local/world.ts";
import { DEFAULT_TENANT } from "../core/ids.ts";
import type { World } from "../ports/world.ts";
import { runId } from "../protocol/ids.ts";
import { type Row, hasEnded } from "../protocol/row.ts";
import { type LedgerEntry, ledger, show, timeline } from "../operations/views.ts";
import { workStands } from "../core/calls/outside.ts";
import { startRun } from "../operations/start.ts";
import { gateRule } from "./gates.ts";
import { answerRun } from "./operator.ts";
import { Killer, writePlan } from "./rig.ts";
import {
  AT_ONCE,
  type AnswerCounts,
  LOOK_MS,
  NO_ANSWERS,
  type Outcome,
  type TrialPass,
  type Starting,
} from "./strategy.ts";
import { traceLines } from "./trace.ts";

/** The interval at which a run is polled. No reported time includes the end of a run, so the interval distorts none. */
const READ_MS = 50;

/** Runs the tasks of a pass with cairn, and returns the outcome of each. */
export async function cairnPass(pass: TrialPass, starting: Starting): Promise<readonly Outcome[]> {
  const { dir, agent, file, limits } = pass;
  const marks = join(dir, "chaos");
  mkdirSync(marks, { recursive: true });
  await pass.chaos?.prepare(dir);
  const store = openStore({ dir, create: true });
  const world = withKernel(localWorld({ store, limits, telemetry: { record: () => {} } }));
  rememberAgentFile(store, { agent: agent.name, file, keepOther: false });
  const runs = idsOf(world, pass);
  const taskOf = Object.fromEntries([...runs].map(([task, run]) => [run, task]));
  writePlan(marks, { taskOf, killOf: Object.fromEntries(pass.kills) });
  const worker = starting.worker({
    dir,
    limits,
    chaos: marks,
    agent: agent.name,
    real: pass.typed.real,
  });
  const env = { ...worker.env, ...pass.chaos?.env(dir), CAIRN_STORE: dir };
  const driven = new Set<string>();
  const supervisor = startSupervisor({
    store: drivenStore(store),
    limits,
    workers: AT_ONCE,
    worker: { ...worker, env },
    onEvent: (event) => {
      if (event.kind === "moved" && event.readyAt === null) driven.add(event.run);
    },
  });
  try {
    const killer = new Killer(marks);
    const answers = await untilEnded(world, { pass, runs, marks, killer, driven, stopped: supervisor.stopped });
    return await Promise.all(
      [...runs].map(async ([task, run]): Promise<Outcome> => {
        const killed = killer.killedAt.get(task) ?? null;
        const lines = traceLines(marks, task);
        const [{ end, why }, handedOutAgain] = [await endOf(world, run), await handedOutAgainIn(world, run)];
        return { task, run, lines, killed, end, why, answers: answers.get(task) ?? NO_ANSWERS, handedOutAgain };
      }),
    );
  } finally {
    await supervisor.drain();
    store.close();
  }
}

const keyOf = (task: number): string => `chaos-${task}`;

/** The run ID of each task, computed before any run exists. Worker processes need it to know the task of a run. */
function idsOf(world: World, { agent, tasks }: TrialPass): ReadonlyMap<number, string> {
  const idOf = (task: number): string =>
    runId(world.hash, { tenant: DEFAULT_TENANT, agent: agent.name, idempotencyKey: keyOf(task) });
  return new Map([...tasks.keys()].map((task) => [task, idOf(task)]));
}

async function begin(world: World, { agent, tasks }: TrialPass, task: number): Promise<void> {
  const input = tasks.get(task) ?? null;
  const started = await startRun(world, { agent, input, tenant: DEFAULT_TENANT, idempotencyKey: keyOf(task) });
  if (started.kind === "invalid") throw new AgentInvalid(`the input of task ${task}: ${started.why}`);
}

interface Watched {
  readonly pass: TrialPass;
  readonly runs: ReadonlyMap<number, string>;
  readonly marks: string;
  readonly killer: Killer;
  /** Runs whose chain has ended. A run whose last process is paused or dead is not among them. */
  readonly driven: ReadonlySet<string>;
  readonly stopped: Promise<void>;
}

/**
 * Starts runs and acts as their operator until all have ended. It gives up if nothing has changed for longer than any
 * recovery takes.
 */
async function untilEnded(world: World, watched: Watched): Promise<ReadonlyMap<number, AnswerCounts>> {
  const { pass, killer } = watched;
  const course: Course = {
    waiting: [...watched.runs.keys()],
    open: new Map(),
    answers: new Map(),
    movedAt: Date.now(),
  };
  const failures: unknown[] = [];
  watched.stopped.catch((error: unknown) => failures.push(error));
  for (let readAt = 0; course.waiting.length + course.open.size > 0; await elapse(LOOK_MS)) {
    pass.stop.throwIfAborted();
    if (failures.length > 0) await watched.stopped;
    killer.look();
    if (Date.now() - readAt < READ_MS) continue;
    readAt = Date.now();
    await lookAround(world, course, watched);
    pass.onProgress(watched.runs.size - course.waiting.length - course.open.size);
    if (Date.now() - course.movedAt > patienceMs(pass)) break;
  }
  return course.answers;
}

interface Course {
  /** Tasks that have not started. */
  readonly waiting: number[];
  /** Tasks that have started, and the state of each at the last poll. */
  readonly open: Map<number, { readonly seen: string; readonly rests: boolean }>;
  readonly answers: Map<number, AnswerCounts>;
  /** When the last change was seen, epoch milliseconds. */
  movedAt: number;
}

/**
 * Polls the open runs and starts new ones. It never has more active runs than workers; otherwise the time to resume
 * would include queueing.
 */
async function lookAround(world: World, course: Course, { pass, runs, marks, driven }: Watched): Promise<void> {
  for (const [task, before] of course.open) {
    const run = runs.get(task) ?? "";
    const row = await world.table.read(run, Date.now());
    if (row === null || (hasEnded(row) && driven.has(run))) {
      course.open.delete(task);
      course.movedAt = Date.now();
      continue;
    }
    const waits = mayNeedPerson(row);
    const seen = `${row.epoch} ${row.version} ${row.wakeCount}`;
    if (seen !== before.seen) course.movedAt = Date.now();
    course.open.set(task, { seen, rests: waits || sleeps(row) });
    const asked = waits ? await withChildren(world, run) : [];
    for (const each of asked) {
      const lines = each === run ? () => traceLines(marks, task) : null;
      for (const what of await answerRun(world, { run: each, lines, ...operatorOf(pass) })) {
        const answers = course.answers.get(task) ?? NO_ANSWERS;
        course.answers.set(task, { ...answers, [what]: answers[what] + 1 });
        course.movedAt = Date.now();
      }
    }
  }
  const atWork = [...course.open.values()].filter(({ rests }) => !rests).length;
  for (const task of course.waiting.splice(0, AT_ONCE - atWork)) {
    await begin(world, pass, task);
    course.open.set(task, { seen: "", rests: false });
  }
}

/** The run and the child runs below it, which the same operator decides about. */
async function withChildren(world: World, run: string): Promise<readonly string[]> {
  const children = (await show(world, run))?.children ?? [];
  const below = await Promise.all(children.map((child) => withChildren(world, child.run)));
  return [run, ...below.flat()];
}

const operatorOf = ({ agent, chaos, typed }: TrialPass) => ({
  agent,
  input: chaos?.answer ?? (() => undefined),
  gates: gateRule(chaos, typed.gates),
});

/**
 * The longest time without a change that can still be a recovery. A paused or dead process is detected at its deadline
 * at the latest; then requests in flight may need to settle.
 */
function patienceMs({ limits, agent }: TrialPass): number {
  const settles = Object.values(agent.tools).map(({ settleMs }) => settleMs ?? limits.settleMs);
  return 2 * (limits.beatMs + limits.skewMs) + Math.max(limits.settleMs, ...settles) + 30_000;
}

const mayNeedPerson = ({ status, wakeCount, wakeCountSeen, owner }: Row): boolean =>
  (status === "blocked" || status === "waiting") && wakeCount === wakeCountSeen && owner === null;

/** The run has nothing to do before `wakeAt`, and no process holds its lease. */
const sleeps = ({ owner, wakeAt }: Row): boolean => owner === null && wakeAt !== null && wakeAt > Date.now();

async function endOf(world: World, run: string): Promise<Pick<Outcome, "end" | "why">> {
  const shown = await show(world, run);
  if (shown === null) return { end: null, why: "the run was removed" };
  const { status, failure, result } = shown;
  if (shown.inProgress) return { end: null, why: `it is ${status}: ${shown.label}` };
  return { end: { status, result: status === "completed" ? result : (failure?.code ?? null) }, why: null };
}

/**
 * How often a task was handed out again, in the run and in all child runs below it: by the same call, or to the
 * agent of a hand-off that failed after its child run had acted. A model may word the task in another way then.
 */
async function handedOutAgainIn(world: World, run: string): Promise<number> {
  const events = (await timeline(world, { run, after: 0 })) ?? [];
  const dispatches = events.filter((event) => event.kind === "ChildDispatched");
  const below = await Promise.all(dispatches.map(({ child }) => handedOutAgainIn(world, child)));
  const acted = new Set(((await ledger(world, run)) ?? []).filter(hasFailedAfterEffects).map(({ call }) => call));
  const agentOf = new Map(dispatches.map(({ call, agent }) => [call, agent]));
  const failedAt = new Set<string>();
  let again = 0;
  for (const event of events) {
    // A task that was handed out beside the one that failed is another one.
    if (event.kind === "ToolResultRecorded" && acted.has(event.call)) failedAt.add(agentOf.get(event.call) ?? "");
    if (event.kind !== "ChildDispatched") continue;
    if (event.try > 1 || failedAt.has(event.agent)) again += 1;
  }
  return again + below.reduce((sum, times) => sum + times, 0);
}

const hasFailedAfterEffects = ({ status, outside }: LedgerEntry): boolean =>
  status !== "succeeded" && workStands(outside);
