/**
 * The harness of one run: the world in memory, a clock that the test moves, an agent whose model and tool are functions
 * of the test, and the steps of a test: attempts start, end and die in the order that it chooses. Everything between the
 * steps is real: the world, its chain and the runner. No code here waits for real time.
 */
import { z } from "zod";
import { type VirtualClock, seededRandom, virtualClock } from "../../../src/adapters/memory/clock.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { type MemoryWorld, memoryWorld } from "../../../src/adapters/memory/world.ts";
import type { Agent, Tool, ToolContext } from "../../../src/ports/agent.ts";
import type { Probe } from "../../../src/ports/agent.ts";
import type { Payload, Reply, Task, TaskResult } from "../../../src/protocol/chain.ts";
import { executionName } from "../../../src/protocol/ids.ts";
import { type Limits, TIMES, limitsFor } from "../../../src/protocol/limits.ts";
import type { Incarnation, Row } from "../../../src/protocol/row.ts";
import { type Conversation, type ScriptedReply, defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import type { TelemetryRecord, World } from "../../../src/ports/world.ts";
import type { Invocation } from "../../../src/ports/tasks.ts";
import { rewriteRow } from "../runs/rewrite-row.ts";
import { runTask } from "../../../src/maintenance/chain-tasks.ts";
import { type Agents, advanceUntilSettled, attemptBeat, killableWorld, runnerOf } from "./drive.ts";
import { AT } from "../states/states-and-events.ts";

const OVERDUE_MS = 20_000;

/** Times of a harness, and of the clock. */
export const MS = {
  beat: 3_000,
  settle: 300,
  skew: 200,
  /** In a supervised harness. */
  overdue: OVERDUE_MS,
  /** A little longer than a run may wait without a token. */
  unparked: TIMES.waitSecondsMax * 1_000 + OVERDUE_MS,
  minute: 60_000,
  hour: 3_600_000,
  day: 24 * 3_600_000,
} as const;

interface HarnessParts {
  readonly world: MemoryWorld;
  readonly clock: VirtualClock;
  /** The tokens that were woken. */
  readonly wakes: readonly string[];
  readonly alarms: readonly TelemetryRecord[];
}

/** A running attempt: the chain waits for its reply. */
export interface StartedAttempt {
  readonly name: string;
  readonly task: Task;
  readonly attempt: number;
  /** Runs its task in one invocation, with that agent and in that world. */
  readonly perform: (by: { readonly world: World; readonly agent: Agents }) => Promise<TaskResult>;
  /** The reply that the chain gets; null: none in time, so that the attempt is presumed dead. */
  readonly end: (result: TaskResult | null) => void;
}

/** What a test does next. Each step reads the world that its harness has then, also in a copy with another world. */
interface Steps {
  readonly row: (run: string) => Row;
  /** Lets time pass, timer after timer, until the promise is settled. */
  readonly advanceUntilSettled: <T>(promise: Promise<T>) => Promise<T>;
  /** Starts the attempt that waited longest; if none may start yet, lets time pass until one may. */
  readonly startAttempt: () => StartedAttempt;
  /** An attempt starts, completes, and the chain gets its reply. */
  readonly runAttempt: (agent: Agents, world?: World) => Promise<TaskResult>;
  /** An attempt starts and dies without a reply, at the latest when it could continue only with passing time. */
  readonly loseAttempt: (agent: Agents, world: World) => Promise<void>;
  /** Runs attempts without faults until there is no work for an hour; returns how many there were. */
  readonly runUntilIdle: (agent: Agents, tasksMax?: number) => Promise<number>;
  /** Runs attempts without faults that become due in that time; returns how many there were. */
  readonly runForTime: (agent: Agents, ms: number) => Promise<number>;
  /** Runs attempts until the row satisfies the condition. */
  readonly driveUntil: (by: DrivenRun) => Promise<Row>;
  /** Stops an execution as an operator can, that of the row or an earlier one: its run is abandoned. */
  readonly stopExecution: (run: Incarnation & Partial<Row>) => void;
  /** One round of the sweeper, in a process with that world. */
  readonly sweep: (world?: World) => Promise<TaskResult>;
  /** Lets time pass, by default until a run is overdue. */
  readonly passTime: (ms?: number) => void;
  readonly changeRow: (run: Pick<Incarnation, "run">, to: Partial<Row>) => void;
  /** An invocation that starts now. */
  readonly invocation: () => Invocation;
}

interface DrivenRun {
  readonly agent: Agent;
  readonly run: string;
  readonly until: (row: Row) => boolean;
  readonly world?: World;
}

export interface Harness extends HarnessParts, Steps {}

const TASKS_MAX = 40;
const STEPS_MAX = 400;

const STEPS: Steps & ThisType<Harness> = {
  row(run) {
    return this.world.store.rows.get(run) as Row;
  },
  advanceUntilSettled(promise) {
    return advanceUntilSettled(this.clock, promise);
  },
  startAttempt() {
    const { chain } = this.world;
    this.clock.moveTo(Math.max(this.clock.now(), chain.next() ?? 0));
    const [name] = chain.ready(this.clock.now());
    if (name === undefined) throw new Error("no execution goes on by itself");
    return attemptOf(this.world, name);
  },
  async runAttempt(agent, world) {
    const out = this.startAttempt();
    const result = await this.advanceUntilSettled(out.perform({ world: world ?? this.world, agent }));
    out.end(result);
    return result;
  },
  async loseAttempt(agent, world) {
    const out = this.startAttempt();
    out.perform({ world, agent }).catch(() => undefined);
    await flushPromises();
    out.end(null);
  },
  async runUntilIdle(agent, tasksMax = TASKS_MAX) {
    for (let count = 0; count < tasksMax; count += 1) {
      const readyAt = this.world.chain.next();
      if (readyAt === null || readyAt > this.clock.now() + MS.hour) return count;
      await this.runAttempt(agent);
    }
    throw new Error(`it goes on after ${tasksMax} tasks`);
  },
  async runForTime(agent, ms) {
    const until = this.clock.now() + ms;
    const { chain } = this.world;
    let count = 0;
    for (let next = chain.next(); next !== null && next <= until; next = chain.next()) {
      await this.runAttempt(agent);
      count += 1;
    }
    this.clock.moveTo(Math.max(until, this.clock.now()));
    return count;
  },
  async driveUntil({ agent, run, until, world }) {
    for (let step = 0; step < STEPS_MAX; step += 1) {
      const row = this.row(run);
      if (until(row)) return row;
      if (this.world.chain.next() === null)
        throw new Error(`no execution drives ${run}, which is ${row.status} in ${row.phase}`);
      await this.runAttempt(agent, world);
    }
    throw new Error(`${run} is not there after ${STEPS_MAX} steps`);
  },
  stopExecution(stopped) {
    const { run, born, chain, epoch, agent } = { ...this.row(stopped.run), ...stopped };
    const reply = { run, born, chain, epoch, agent, route: "superseded", seconds: 1 } as const;
    attemptOf(this.world, executionName(run, born, chain)).end({ kind: "beat", reply });
  },
  sweep(world) {
    const agent = scriptedAgent({});
    return this.advanceUntilSettled(performTask({ kind: "sweep" }, { world: world ?? this.world, agent }));
  },
  passTime(ms = MS.overdue) {
    this.clock.moveTo(this.clock.now() + ms);
  },
  changeRow({ run }, to) {
    this.world.store.rows.set(run, rewriteRow(this.row(run), to));
  },
  invocation() {
    return { deadline: this.clock.now() + MS.beat, drain: new AbortController().signal };
  },
};

export const harnessOf = (parts: HarnessParts): Harness => ({ ...parts, ...STEPS });

export const executionNameOf = ({ run, born, chain }: Pick<Row, "run" | "born" | "chain">): string =>
  executionName(run, born, chain);

/** Starts the attempt of that execution. */
export function attemptOf({ chain }: MemoryWorld, name: string): StartedAttempt {
  const { task, attempt } = chain.begin(name);
  const end = (result: TaskResult | null): void =>
    chain.end(name, attempt, result?.kind === "exit" ? { kind: "beat", reply: result.reply } : result);
  return { name, task, attempt, perform: (by) => performTask(task, by), end };
}

/** Runs a task in one invocation, with its agent and in its world. */
export function performTask(task: Task, by: { readonly world: World; readonly agent: Agents }): Promise<TaskResult> {
  const { clock, limits } = by.world;
  const invocation = { deadline: clock.now() + limits.beatMs, drain: new AbortController().signal };
  return runTask(runnerOf(by.world, by.agent))(task, invocation);
}

/** Lets every promise continue that can without passing time. */
export async function flushPromises(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** With the chain of the world in memory, whose executions continue when a test lets them (`chain-steps.ts`). */
export function createChainHarness(change: Partial<Limits> = {}): Harness {
  const clock = virtualClock(AT);
  const limits = limitsFor(MS.beat, { settleMs: MS.settle, skewMs: MS.skew, ...change });
  const alarms: TelemetryRecord[] = [];
  const record = (each: TelemetryRecord): void => {
    if (each.level === "alarm") alarms.push(each);
  };
  const memory = withKernel(memoryWorld({ clock, limits, random: seededRandom("stage"), telemetry: { record } }));
  const wakes: string[] = [];
  const wake: World["chain"]["wake"] = async (token) => {
    wakes.push(token);
    return memory.chain.wake(token);
  };
  return harnessOf({ world: { ...memory, chain: { ...memory.chain, wake } }, clock, wakes, alarms });
}

/** A chain harness in which a run is overdue soon. Its test drives it like a supervisor. */
export const createSupervisedHarness = (change: Partial<Limits> = {}): Harness =>
  createChainHarness({ overdueMs: MS.overdue, ...change });

/** The test replaces the chain: it runs each attempt itself, and every token is alive. */
export function createHarness(change: Partial<Limits> = {}): Harness {
  const harness = createChainHarness(change);
  const wake: World["chain"]["wake"] = async (token) => {
    await harness.world.chain.wake(token);
    return { kind: "woken" };
  };
  return { ...harness, world: { ...harness.world, chain: { ...harness.world.chain, wake } } };
}

export interface ScriptedAgentOptions {
  readonly effect?: Tool["effect"];
  readonly run?: (context: ToolContext<unknown>) => unknown;
  readonly probe?: (key: string) => unknown;
  readonly timeoutMs?: number;
  readonly approval?: Tool["approval"];
  /** Default: one call, then the end. */
  readonly reply?: (conversation: Conversation) => ScriptedReply | Promise<ScriptedReply>;
  readonly done?: Agent["done"];
  /** Default: loops are allowed. */
  readonly loops?: Agent["loops"];
}

const CALL: ScriptedReply = { calls: [{ tool: "act", args: {} }] };
export const FINAL_REPLY: ScriptedReply = { text: "over" };

/** A model that makes that many calls, one after another, then ends. */
export const callsThenFinal =
  (count: number) =>
  ({ calls }: Conversation): ScriptedReply =>
    calls.length < count ? CALL : FINAL_REPLY;

export function scriptedAgent(part: ScriptedAgentOptions): Agent {
  const { effect = "keyed", run = () => "acted", probe, timeoutMs, approval = "never", reply, done } = part;
  const { loops = "ignore" } = part;
  return defineAgent({
    name: "actor",
    version: "1",
    instructions: "",
    task: z.object({}),
    loops,
    model: scriptedModel({ name: "script", reply: reply ?? callsThenFinal(1) }),
    tools: {
      act: tool({
        ...{ input: z.object({}), effect, run, approval },
        ...(probe === undefined ? {} : { probe: ({ key }) => probe(key) as Probe | Promise<Probe> }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      }),
    },
    ...(done === undefined ? {} : { done }),
  }) as Agent;
}

/** The reply of one attempt; throws if the attempt ends its process. */
export async function beatReply(result: Promise<TaskResult>): Promise<Reply> {
  const told = await result;
  if (told.kind !== "beat") throw new Error(`the attempt ended as ${told.kind}`);
  return told.reply;
}

export const neverSettles = (): Promise<never> => new Promise(() => undefined);

/** An attempt whose process is killed once it reaches its tool. */
export async function dieInTool(
  harness: { readonly world: World },
  of: { readonly payload: Payload; readonly agent: Agent },
): Promise<string> {
  const { world, kill } = killableWorld(harness.world);
  const key = await reachTool(world, of);
  kill();
  return key;
}

/** Resolves with the key of the call as soon as the attempt is in its tool, where it continues. */
export function reachTool(world: World, of: { readonly payload: Payload; readonly agent: Agent }): Promise<string> {
  const { act } = of.agent.tools;
  return new Promise((resolve, reject) => {
    const run = (context: ToolContext<unknown>): Promise<never> => {
      resolve(context.key);
      return neverSettles();
    };
    const stuck = { ...of.agent, tools: { act: { ...(act as Tool), run } } };
    attemptBeat(runnerOf(world, stuck), of.payload).catch(reject);
  });
}

/** Parks the run like the chain after a beat with the route park. */
export async function parkRun(
  { world }: Harness,
  of: { readonly reply: Reply; readonly token: string },
): Promise<void> {
  const { run, born, chain, epoch, agent } = of.reply;
  const payload = { run, born, chain, epoch, agent };
  const told = { execution: executionName(run, born, chain), epoch, retry: 0 };
  const runner = runnerOf(world, scriptedAgent({}));
  const invocation = { deadline: world.clock.now() + MS.beat, drain: new AbortController().signal };
  await runTask(runner)({ kind: "park", payload, attempt: told, token: of.token }, invocation);
}
