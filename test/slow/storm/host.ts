/**
 * A host that dies: the supervisor and all of its workers are killed (SIGKILL) at once, in the middle of the beats of four
 * runs, one of them inside a tool. Then it comes back, with nothing but what is in the store.
 */
import { LIMITS } from "../../support/gate/limits.ts";
import { externalServiceOf, startEffectsRun } from "../../support/processes/effects-runs.ts";
import type { EffectsTask } from "../../support/processes/effects-agent.ts";
import {
  type ProcessHarness,
  eventually,
  pausedProcesses,
  startSupervisorProcess,
} from "../../support/processes/supervisor-process.ts";
import { hasEnded } from "../../../src/protocol/row.ts";
import { type Started, wrongWith } from "./checks.ts";

export interface NextBeat {
  readonly run: string;
  /** Where its process was when it died. */
  readonly edge: string;
  /** From the start of the new supervisor to the run's next commit, by the store's own times. */
  readonly seconds: number;
}

export interface HostReturn {
  readonly killed: number;
  readonly nextBeats: readonly NextBeat[];
  readonly wrong: readonly string[];
}

/** For people. */
export function inWords({ killed, nextBeats }: HostReturn): string {
  const lines = nextBeats.map(
    ({ edge, seconds }) => `${seconds.toFixed(2)} s to the next commit of the run killed ${edge}`,
  );
  return [`${killed} processes killed at once, then started again:`, ...lines].join("\n");
}

const STEPS: EffectsTask["steps"] = ["look", "book", "look"];
/** Of the second beat: inside the tool, and before and after what is written around it. */
const EDGES = ["after:effect:book", "after:claim:1", "before:intent:3", "before:release:4"];

/** Within what a run makes its next beat once its host is back, on a quiet machine. */
export const RETURN_SECONDS_MAX = 60;

export async function hostReturns(harness: ProcessHarness): Promise<HostReturn> {
  const side = externalServiceOf(harness);
  const started: (Started & { readonly edge: string })[] = [];
  for (const edge of EDGES) {
    const errand = { of: edge, steps: STEPS };
    started.push({ run: (await startEffectsRun(harness, errand)).run, errand, edge });
  }
  const holds = started.map(({ run, edge }) => `${run}=${edge}`).join(",");
  const first = startSupervisorProcess(harness, { env: { CAIRN_HOLD: holds }, workers: EDGES.length });
  await eventually(
    "all are in the middle of a beat",
    () => pausedProcesses(harness.dir).size === EDGES.length,
    LIMITS.runMs,
  );
  const rowOf = (run: string) => harness.world.table.read(run, Date.now());
  const dead = await Promise.all(started.map(async ({ run }) => (await rowOf(run))?.version ?? 0));
  const pids = [first.child.pid ?? 0, ...pausedProcesses(harness.dir).values()];
  for (const pid of pids) process.kill(pid, "SIGKILL");
  await first.kill("SIGKILL");

  const returnedAt = Date.now();
  startSupervisorProcess(harness, { workers: EDGES.length });
  const nextBeats = await Promise.all(
    started.map(async ({ run, edge }, index) => {
      const commits: number[] = [];
      const hasCommitted = async (): Promise<boolean> => {
        const row = await rowOf(run);
        if (row !== null && row.version > (dead[index] ?? 0)) commits.push(row.lastCheckpointAt);
        return commits.length > 0;
      };
      await eventually(`run ${run} commits again`, hasCommitted, LIMITS.runMs);
      return { run, edge, seconds: ((commits[0] ?? Infinity) - returnedAt) / 1_000 };
    }),
  );
  const areOver = async (): Promise<boolean> =>
    (await Promise.all(started.map(({ run }) => rowOf(run)))).every((row) => row === null || hasEnded(row));
  await eventually("all have ended", areOver, LIMITS.runMs);
  return { killed: new Set(pids).size, nextBeats, wrong: await wrongWith(harness, side, started) };
}
