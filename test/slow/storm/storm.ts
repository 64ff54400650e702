/**
 * A storm: many runs at once on one store, and its supervisor is killed (SIGKILL) again and again at random moments, each
 * time followed by a new one. The moments are drawn from a seed, as a number of effects done and a delay after it, so
 * that every kill hits runs in flight, however fast the machine is. Effects are counted by the external service, because
 * a kill hides the answers that its supervisor has not read.
 */
import { setTimeout as elapse } from "node:timers/promises";
import { LIMITS } from "../../support/gate/limits.ts";
import type { ExternalService } from "../../support/processes/external-service.ts";
import { externalServiceOf, startEffectsRun } from "../../support/processes/effects-runs.ts";
import { type EffectsTask } from "../../support/processes/effects-agent.ts";
import {
  type SupervisorProcess,
  type ProcessHarness,
  eventually,
  killIfThere,
  signalIfThere,
  startSupervisorProcess,
} from "../../support/processes/supervisor-process.ts";
import { seededChoices } from "../../simulation/seeded-choices.ts";
import { type Started, processesOn, wrongWith } from "./checks.ts";

export interface StormOptions {
  readonly seed: string;
  readonly runs: number;
  readonly kills: number;
}

export interface Kill {
  /** Effects that were done. */
  readonly effects: number;
  /** Runs that had not ended. */
  readonly open: number;
}

export interface Storm {
  readonly tookMs: number;
  readonly kills: readonly Kill[];
  /** Beats that were answered; those of killed processes are not. */
  readonly beats: number;
  /** Claims over a dead owner, of all runs together. */
  readonly takeovers: number;
  readonly requests: number;
  readonly effects: number;
  /** Processes of the store right before the last supervisor was told to stop, and after it had ended. */
  readonly atWork: number;
  readonly left: number;
  /** What broke a guarantee, in words. */
  readonly wrong: readonly string[];
}

/** For people. */
export function inWords({ tookMs, kills, beats, takeovers, requests, effects, left }: Storm): string {
  const moments = kills.map((kill) => `${kill.effects} (${kill.open})`).join(", ");
  return [
    `supervisor killed ${kills.length} times; effects done by then (runs open): ${moments}`,
    `${(tookMs / 1_000).toFixed(1)} s, ${beats} beats answered, ${takeovers} dead owners overtaken`,
    `${requests} requests for ${effects} effects; ${left} processes left`,
  ].join("\n");
}

const STEPS: EffectsTask["steps"] = ["book", "book"];
/** A kill finds a process waiting for the model or for the external service, and not only between two beats. */
const PACE_MS = 8;
/** Few at once, so that a kill leaves many runs open. */
const AT_WORK = { workers: 4, beatsPerWorker: 2 };
/** Of a kill, after the beat that it waits for: about what a beat or the start of a supervisor takes. */
const DELAY_MS_MAX = 200;

export async function storm(harness: ProcessHarness, options: StormOptions): Promise<Storm> {
  const side = externalServiceOf(harness);
  const started: Started[] = [];
  for (let index = 0; index < options.runs; index += 1) {
    const errand = { of: String(index), steps: STEPS, paceMs: PACE_MS };
    started.push({ run: (await startEffectsRun(harness, errand)).run, errand });
  }
  const begun = performance.now();
  const { supervisors, kills } = await killAgainAndAgain(harness, side, options);
  await eventually("every run has ended", async () => (await openRuns(harness)) === 0, LIMITS.sceneMs);
  const last = supervisors.at(-1) as SupervisorProcess;
  // A process of the one before may have done the last beat, while this one still begins and would not hear us.
  await eventually("the last supervisor has the store", () => hasStore(last), LIMITS.sceneMs);
  const atWork = processesOn(harness.dir).length;
  await last.kill("SIGTERM");
  const tookMs = performance.now() - begun;
  const rows = await Promise.all(started.map(({ run }) => harness.world.table.read(run, Date.now())));
  const drained = last.child.exitCode === 0 ? [] : [`the last supervisor ended with ${last.child.exitCode}`];
  return {
    ...{ tookMs, kills, beats: beatsOf(supervisors), atWork, left: processesOn(harness.dir).length },
    takeovers: rows.reduce((sum, row) => sum + (row?.takeovers ?? 0), 0),
    ...{ requests: side.requests().length, effects: side.effects().length },
    wrong: [...drained, ...(await wrongWith(harness, side, started))],
  };
}

async function killAgainAndAgain(
  harness: ProcessHarness,
  side: ExternalService,
  { seed, runs, kills: times }: StormOptions,
) {
  const chance = seededChoices(seed);
  const draws = Array.from({ length: times }, () => ({
    // The last tenth is left alone: nothing would be in flight any more.
    effects: chance.below(Math.floor(runs * STEPS.length * 0.9)),
    delayMs: chance.below(DELAY_MS_MAX),
  }));
  const supervisors = [startSupervisorProcess(harness, AT_WORK)];
  const kills: Kill[] = [];
  for (const draw of draws.toSorted((one, other) => one.effects - other.effects)) {
    const current = supervisors.at(-1) as SupervisorProcess;
    const isTime = (): boolean => hasStore(current) && side.effects().length >= draw.effects;
    await eventually(`${draw.effects} effects are done`, isTime, LIMITS.sceneMs);
    // The moment is a part of the draw. Nothing is judged by it.
    await elapse(draw.delayMs);
    // Whether a random moment finds a beat in flight is luck, so the first kill is arranged to.
    const halted = kills.length === 0 ? await haltInABeat(harness) : [];
    kills.push({ effects: side.effects().length, open: await openRuns(harness) });
    await current.kill("SIGKILL");
    for (const pid of halted) killIfThere(pid);
    supervisors.push(startSupervisorProcess(harness, AT_WORK));
  }
  return { supervisors, kills };
}

/**
 * Halts the store's processes (SIGSTOP) in a moment in which one of them owns a run, and returns their ids. An owner that
 * stands still keeps its run until it is killed.
 */
async function haltInABeat(harness: ProcessHarness): Promise<readonly number[]> {
  let halted: readonly number[] = [];
  await eventually(
    "a process that owns a run stands still",
    async () => {
      halted = processesOn(harness.dir);
      for (const pid of halted) signalIfThere(pid, "SIGSTOP");
      const { rows } = await harness.world.table.alive({ limit: 1_000, after: null, now: Date.now() });
      if (rows.some(({ owner }) => owner !== null)) return true;
      for (const pid of halted) signalIfThere(pid, "SIGCONT");
      return false;
    },
    LIMITS.sceneMs,
  );
  return halted;
}

const hasStore = ({ events }: SupervisorProcess): boolean => events.some(({ kind }) => kind === "supervising");

const beatsOf = (supervisors: readonly SupervisorProcess[]): number =>
  supervisors
    .flatMap(({ events }) => events)
    .filter(({ kind, state }) => kind === "attemptAnswered" && state === "Beat").length;

async function openRuns({ world }: ProcessHarness): Promise<number> {
  return (await world.table.alive({ limit: 1_000, after: null, now: Date.now() })).rows.length;
}
