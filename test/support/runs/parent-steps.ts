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

interface HouseholdParts {
  readonly harness: Harness;
  readonly agents: readonly Agent[];
  /** The run of the boss, the first of the agents. */
  readonly run: string;
}

interface HouseholdSteps {
  /** Every child of that run, or of the boss, in the order in which they were made. */
  readonly children: (run?: string) => readonly Row[];
  readonly state: (run: string) => Promise<State>;
  /** Starts the next attempt of that run, once it is due. */
  readonly startAttempt: (run: string) => StartedAttempt;
  /** One attempt of that run, whose result the chain gets. */
  readonly runAttempt: (run: string, world?: World) => Promise<TaskResult>;
  /** Attempts of that run until it has ended and is delivered. */
  readonly play: (run: string) => Promise<void>;
  /** Everything that is due, without faults. */
  readonly playAll: () => Promise<number>;
  /** The row is removed, as its retention or a purge does it. */
  readonly remove: (incarnation: Pick<Incarnation, "run">) => void;
  /** Two processes of that run die, and its row is ready for the attempt that gives it up. */
  readonly crashTwice: (run: string) => Promise<void>;
}

export interface Household extends HouseholdParts, HouseholdSteps {}

const STEPS: HouseholdSteps & ThisType<Household> = {
  children(run) {
    const parentRun = run ?? this.run;
    return [...this.harness.world.store.rows.values()].filter(({ parent }) => parent?.run === parentRun);
  },
  async state(run) {
    const { world } = this.harness;
    return (await loadVouched(world, this.harness.row(run), new SegmentCache())).state;
  },
  startAttempt(run) {
    const { world, clock } = this.harness;
    for (let wait = 0; wait < 100; wait += 1) {
      const name = world.chain.ready(clock.now()).find((each) => each.startsWith(run));
      if (name !== undefined) return attemptOf(world, name);
      const times = [...world.chain.executions.values()].flatMap(({ readyAt }) => readyAt ?? []);
      const later = times.filter((time) => time > clock.now());
      if (later.length === 0) break;
      clock.moveTo(Math.min(...later));
    }
    throw new Error(`no execution of ${run} goes on by itself`);
  },
  async runAttempt(run, world) {
    const out = this.startAttempt(run);
    const performed = out.perform({ world: world ?? this.harness.world, agent: this.agents });
    const result = await this.harness.advanceUntilSettled(performed);
    out.end(result);
    return result;
  },
  async play(run) {
    for (let beat = 0; beat < 40 && !this.harness.row(run).endNotified; beat += 1) await this.runAttempt(run);
  },
  playAll() {
    return this.harness.runUntilIdle(this.agents, 400);
  },
  remove({ run }) {
    this.harness.world.store.rows.delete(run);
  },
  async crashTwice(run) {
    const { harness, agents } = this;
    for (let death = 0; death < 2; death += 1) {
      await sendRequest(harness.world, { run, want: "resume" });
      const token = harness.row(run).park?.token;
      if (token !== undefined) await harness.world.chain.wake(token);
      const out = this.startAttempt(run);
      out.perform({ world: crashAfterCall(harness.world, "claim"), agent: agents }).catch(() => undefined);
      await flushPromises();
      out.end(null);
    }
    harness.clock.moveTo(harness.clock.now() + 10_000);
  },
};

export const householdOf = (parts: HouseholdParts): Household => ({ ...parts, ...STEPS });

export async function household(agents: readonly Agent[], harness: Harness = createChainHarness()): Promise<Household> {
  const { run } = await beginRun(harness.world, agents[0] as Agent, {});
  return householdOf({ harness, agents, run });
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
    await house.runAttempt(run);
    await house.runAttempt(run);
    runs.push(house.children(run)[0]?.run ?? "");
  }
  return { ...house, runs };
}
