/** The steps of schedules with a boss and its children: attempts of one run, whichever runs wait beside it. */
import type { Agent } from "../../../src/ports/agent.ts";
import type { TaskResult } from "../../../src/protocol/chain.ts";
import type { Incarnation, Row } from "../../../src/protocol/row.ts";
import type { World } from "../../../src/ports/world.ts";
import { loadVouched } from "../../../src/history/vouch.ts";
import { SegmentCache } from "../../../src/history/load.ts";
import type { State } from "../../../src/core/state.ts";
import { boss, worker } from "../agents/workers.ts";
import { beginRun } from "../harness/drive.ts";
import { type Harness, createChainHarness, type StartedAttempt, flushPromises, attemptOf } from "../harness/harness.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { crashAfterCall, withTakeovers } from "../harness/chain-steps.ts";

export interface Household {
  readonly harness: Harness;
  readonly agents: readonly Agent[];
  /** The run of the boss, the first of the agents. */
  readonly run: string;
}

export async function household(agents: readonly Agent[], harness: Harness = createChainHarness()): Promise<Household> {
  const { run } = await beginRun(harness.world, agents[0] as Agent, {});
  return { harness, agents, run };
}

/** Every child of that run, in the order in which they were made. */
export const childrenOf = ({ harness, run }: Household, of = run): readonly Row[] =>
  [...harness.world.store.rows.values()].filter(({ parent }) => parent?.run === of);

/** Starts the next attempt of that run, once it is due. */
export function leaveOf({ harness }: Household, run: string): StartedAttempt {
  const { chain } = harness.world;
  for (let wait = 0; wait < 100; wait += 1) {
    const name = chain.ready(harness.clock.now()).find((each) => each.startsWith(run));
    if (name !== undefined) return attemptOf(harness.world, name);
    const times = [...chain.executions.values()].flatMap(({ readyAt }) => readyAt ?? []);
    const later = times.filter((time) => time > harness.clock.now());
    if (later.length === 0) break;
    harness.clock.moveTo(Math.min(...later));
  }
  throw new Error(`no execution of ${run} goes on by itself`);
}

/** One attempt of that run, whose result the chain gets. */
export async function beatOf(house: Household, run: string, world: World = house.harness.world): Promise<TaskResult> {
  const { harness, agents } = house;
  const out = leaveOf(house, run);
  const result = await harness.advanceUntilSettled(out.perform({ world, agent: agents }));
  out.end(result);
  return result;
}

/** Attempts of that run until it has ended and is delivered. */
export async function playOf(house: Household, run: string): Promise<void> {
  for (let beat = 0; beat < 40 && !house.harness.row(run).endNotified; beat += 1) await beatOf(house, run);
}

/** Everything that is due, without faults. */
export const playAll = ({ harness, agents }: Household): Promise<number> => harness.runUntilIdle(agents, 400);

/** The row is removed, as its retention or a purge does it. */
export const remove = ({ harness }: Household, { run }: Pick<Incarnation, "run">): void => {
  harness.world.store.rows.delete(run);
};

export const stateOf = async ({ harness }: Household, run: string): Promise<State> =>
  (await loadVouched(harness.world, harness.row(run), new SegmentCache())).state;

/** Two processes of that run die, and its row is ready for the attempt that gives it up. */
export async function crashTwice(house: Household, run: string): Promise<void> {
  const { harness, agents } = house;
  for (let death = 0; death < 2; death += 1) {
    await sendRequest(harness.world, { run, want: "resume" });
    const token = harness.row(run).park?.token;
    if (token !== undefined) await harness.world.chain.wake(token);
    const out = leaveOf(house, run);
    out.perform({ world: crashAfterCall(harness.world, "claim"), agent: agents }).catch(() => undefined);
    await flushPromises();
    out.end(null);
  }
  harness.clock.moveTo(harness.clock.now() + 10_000);
}

/** Bosses of so many levels above one worker; those below the root are given up after two deaths. */
export async function levelsOf(names: readonly string[]): Promise<Household & { readonly runs: readonly string[] }> {
  const bosses = names.map((name, level) => {
    const agent = names[level + 1] ?? "worker";
    const child = agent === "worker" ? {} : { agent, output: undefined as never, budget: { beats: 40 / (level + 1) } };
    const made = boss({ name, children: 1, child });
    return level === 0 ? made : { ...withTakeovers(made, 1), task: worker().task };
  });
  const house = await household([...bosses, worker()]);
  const runs = [house.run];
  for (const _ of names) {
    const run = runs.at(-1) ?? "";
    await beatOf(house, run);
    await beatOf(house, run);
    runs.push(childrenOf(house, run)[0]?.run ?? "");
  }
  return { ...house, runs };
}
