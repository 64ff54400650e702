/**
 * Drives a run in this process, on a real store in a temporary folder, like a chain without its processes.
 * A reply that ends the process counts as a reply. The store is real and its clock is not: time passes only when a test
 * says so, and a beat that a test leaves behind ends there.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { systemClock } from "../../../src/adapters/local/clock.ts";
import { openStore } from "../../../src/adapters/local/store/database.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { localWorld } from "../../../src/adapters/local/world.ts";
import { type VirtualClock, virtualClock } from "../../../src/adapters/memory/clock.ts";
import type { MemoryWorld } from "../../../src/adapters/memory/world.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { modelsOf } from "../../../src/providers/model.ts";
import type { Payload, Reply, TaskResult } from "../../../src/protocol/chain.ts";
import { RETRY_GROUP } from "../../../src/protocol/entry.ts";
import { executionName } from "../../../src/protocol/ids.ts";
import type { Json } from "../../../src/core/json.ts";
import { type Limits, limitsFor } from "../../../src/protocol/limits.ts";
import type { RunTask } from "../../../src/ports/tasks.ts";
import type { Clock, TelemetryRecord, World } from "../../../src/ports/world.ts";
import { beat } from "../../../src/engine/loop/beat.ts";
import { CommitCache } from "../../../src/history/commits.ts";
import { SegmentCache } from "../../../src/history/load.ts";
import { startRun } from "../../../src/operations/start.ts";
import type { Runner } from "../../../src/engine/context/runner.ts";
import { wrapPorts } from "./ports.ts";

interface LocalHarness {
  readonly dir: string;
  readonly world: World;
  /** It begins with the time of the machine, which a command or a process has that opens the same store. */
  readonly clock: VirtualClock;
  readonly records: readonly TelemetryRecord[];
}

export function createLocalHarness(change: Partial<Limits> = {}, beatMs = 3_000): LocalHarness {
  const clock = virtualClock(Date.now());
  return { ...openHarness(limitsFor(beatMs, { settleMs: 20, skewMs: 20, ...change }), clock), clock };
}

/**
 * The same with the clock of the machine, for a server whose clients wait for news: these polls need time. No beat of it
 * comes to its end within a test, however slow the machine is.
 */
export const createServedHarness = (): Omit<LocalHarness, "clock"> =>
  openHarness(limitsFor(SERVED_BEAT_MS, { settleMs: 20, skewMs: 20 }), systemClock);

const SERVED_BEAT_MS = 840_000;

function openHarness(limits: Limits, clock: Clock): Omit<LocalHarness, "clock"> {
  const dir = mkdtempSync(join(tmpdir(), "cairn-drive-"));
  const store = openStore({ dir, create: true });
  onTestFinished(() => {
    store.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const records: TelemetryRecord[] = [];
  const telemetry = { record: (record: TelemetryRecord) => void records.push(record) };
  return { dir, world: withKernel(localWorld({ store, clock, limits, telemetry })), records };
}

/** Lets time pass by that much, timer after timer, each once the work before it has set its timers. */
export async function passTime({ clock }: Pick<LocalHarness, "clock">, ms: number): Promise<void> {
  const until = clock.now() + ms;
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    const next = clock.next();
    if (next === null || next > until) return clock.moveTo(until);
    clock.moveTo(next);
  }
}

/** Lets all promises continue, then moves time to the next timer, until the promise is settled. */
export async function advanceUntilSettled<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  let isOver = false;
  const over = promise.finally(() => {
    isOver = true;
  });
  // The `await` below reports its failure.
  over.catch(() => undefined);
  for (let turn = 0; !isOver && turn < 1_000; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    const next = clock.next();
    if (!isOver && turn % 10 === 9 && next !== null) clock.moveTo(next);
  }
  if (!isOver) throw new Error("it goes on for ever");
  return over;
}

/** The agents of a process: one agent for every name, or several by their names. */
export type Agents = Agent | readonly Agent[];

const found = (agents: Agents, name: string): Agent | undefined =>
  "length" in agents ? agents.find((each) => each.name === name) : agents;

export const runnerOf = (world: World, agents: Agents): Runner => ({
  world,
  agentOf: async (name) => {
    const agent = found(agents, name);
    if (agent === undefined) return { kind: "absent", why: `there is no agent ${name}` };
    return { kind: "agent", agent, ...modelsOf(agent) };
  },
  segments: new SegmentCache(),
  commits: new CommitCache(),
});

/** Starts a run and returns the payload of its first beat. */
export async function beginRun(world: World, agent: Agent, input: Json): Promise<Payload> {
  const started = await startRun(world, { agent, input, tenant: "local", idempotencyKey: null });
  if (started.kind !== "started") throw new Error(`not started: ${JSON.stringify(started)}`);
  const { run, born } = started.row;
  return { run, born, chain: 1, epoch: 0, agent: agent.name };
}

/** One attempt of a beat, after `tries` attempts of the same entry whose processes are known to have died. */
export function attemptBeat(runner: Runner, payload: Payload, tries = 0): Promise<TaskResult> {
  const execution = executionName(payload.run, payload.born, payload.chain);
  const invocation = {
    deadline: runner.world.clock.now() + runner.world.limits.beatMs,
    drain: new AbortController().signal,
  };
  const [retry, died] = [tries * RETRY_GROUP, tries === 0 ? null : (tries - 1) * RETRY_GROUP];
  return beat(runner, { payload, attempt: { execution, epoch: payload.epoch, retry, died } }, invocation);
}

/** Runs beats until the chain would wait, park or end; returns the last reply. */
export async function drive(runner: Runner, from: Payload, beatsMax = 100): Promise<Reply> {
  let payload = from;
  for (let count = 0; count < beatsMax; count += 1) {
    const reply = await oneBeat(runner, payload);
    if (reply.route !== "beat") return reply;
    payload = reply;
  }
  throw new Error(`the run is not over after ${beatsMax} beats`);
}

async function oneBeat(runner: Runner, payload: Payload): Promise<Reply> {
  for (let retry = 0; retry < 5; retry += 1) {
    const result = await attemptBeat(runner, payload, retry);
    if (result.kind === "beat" || result.kind === "exit") return result.reply;
  }
  throw new Error("five attempts asked to end their process");
}

/** Cleans up after each removal of the world in memory, and forgets the removal once that succeeded. */
export async function cleanUpRemovedRuns({ store, clock, limits }: MemoryWorld, perform: RunTask): Promise<void> {
  for (let [of] = store.removed; of !== undefined; [of] = store.removed) {
    const invocation = { deadline: clock.now() + limits.beatMs, drain: new AbortController().signal };
    await perform({ kind: "cleanUp", removed: [of] }, invocation);
    store.removed.shift();
  }
}

/** A world for one invocation that can be killed: afterwards no call of it has an effect or returns. */
export function killableWorld(world: World): { readonly world: World; readonly kill: () => void } {
  let dead = false;
  return {
    world: {
      ...wrapPorts(world, ({ send }) => (dead ? new Promise(() => undefined) : send())),
      clock: {
        now: () => world.clock.now(),
        earliest: () => world.clock.earliest(),
        after: (delayMs, call) => world.clock.after(delayMs, () => (dead ? undefined : call())),
      },
    },
    kill: () => {
      dead = true;
    },
  };
}
