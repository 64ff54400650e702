/**
 * Schedule 28 with real processes: a tool is deaf to its signal, its timeout passes, and five seconds after that it would
 * write to the other side, in the middle of whatever its process does then. A hundred warm beats later it has not: its
 * process ended with its beat. One worker does everything, so that a process that was kept would be the one that
 * serves those beats.
 */
import { expect, test } from "vitest";
import { hasEnded } from "../../../src/protocol/row.ts";
import { ledger, timeline } from "../../../src/operations/views.ts";
import { externalServiceOf, startEffectsRun } from "../../support/processes/effects-runs.ts";
import { type EffectsTask, LATE_MS } from "../../support/processes/effects-agent.ts";
import {
  type ProcessHarness,
  startSupervisorProcess,
  createProcessHarness,
} from "../../support/processes/supervisor-process.ts";

const RUNS = 4;
const BEATS_OF_EACH = 25;
const BEATS = RUNS * BEATS_OF_EACH;

const LOOKS: EffectsTask["steps"] = Array.from({ length: BEATS_OF_EACH }, () => "look");

test.each([
  // Each call ends a process of its own. The beats follow one another.
  { beatsPerWorker: 1, ended: 4, inSequence: BEATS },
  // The first tries share a process, which ends for both: the unsafe one is tried once, and no run counts a death.
  { beatsPerWorker: 16, ended: 3, inSequence: BEATS_OF_EACH },
])(
  "a call that outlived its timeout does nothing later, however many beats follow; $beatsPerWorker share a process",
  async ({ beatsPerWorker, ended, inSequence }) => {
    // The beats outlast the late write, whatever else they take.
    const paceMs = LATE_MS / inSequence + 2;
    const harness = createProcessHarness({ CAIRN_BEAT_SECONDS: "10" });
    const side = externalServiceOf(harness);
    const late = await start(harness, { of: "late", steps: ["bookLate", ...LOOKS], paceMs });
    const blocked = await start(harness, { of: "blocked", steps: ["mailLate", "look"], paceMs });
    const { events } = startSupervisorProcess(harness, { workers: 1, beatsPerWorker });
    const rowOf = async (run: string) => harness.world.table.read(run, Date.now());
    const isGivenUp = async (run: string): Promise<boolean> =>
      (await ledger(harness.world, run))?.[0]?.status === "unknown";
    const bothAreGivenUp = async (): Promise<boolean> => (await isGivenUp(late)) && isGivenUp(blocked);
    await expect.poll(bothAreGivenUp, { interval: 20 }).toBe(true);

    const runs = [late];
    for (const of of ["a", "b", "c"]) runs.push(await start(harness, { of, steps: LOOKS, paceMs }));
    const areOver = async (): Promise<boolean> =>
      (await Promise.all(runs.map(rowOf))).every((row) => row !== null && hasEnded(row));
    await expect.poll(areOver, { interval: 50 }).toBe(true);

    expect(side.effects()).toEqual([]);

    // It really ran: three tries of the keyed one, one of the unsafe one.
    const tries = side.requests().map(({ tool, pid }) => ({ tool, pid }));
    expect(tries.map(({ tool }) => tool).toSorted()).toEqual(["bookLate", "bookLate", "bookLate", "mailLate"]);
    expect(new Set(tries.map(({ pid }) => pid)).size).toBe(ended);
    expect((await ledger(harness.world, late))?.[0]).toMatchObject({
      tool: "bookLate",
      status: "unknown",
      attempts: 3,
    });
    expect(await rowOf(blocked)).toMatchObject({ status: "blocked", takeovers: 0 });

    // The beats after it were done by one warm process, and went on for longer than it would have taken.
    const last = events.findLastIndex(({ kind }) => kind === "workerGone");
    const warm = events.slice(last).filter(({ kind, state }) => kind === "attemptStarted" && state === "Beat");
    expect(warm.length).toBeGreaterThanOrEqual(BEATS);
    expect(new Set(warm.map(({ pid }) => pid)).size).toBe(1);
    const ends = await Promise.all(runs.map(async (run) => (await rowOf(run))?.lastCheckpointAt ?? 0));
    expect(Math.min(...ends) - (await silentSince(harness, [late, blocked]))).toBeGreaterThan(LATE_MS + paceMs);

    expect(side.effects()).toEqual([]);
  },
);

const start = async (harness: ProcessHarness, errand: EffectsTask): Promise<string> =>
  (await startEffectsRun(harness, errand)).run;

/** When the last call of these runs was given up. */
async function silentSince({ world }: ProcessHarness, runs: readonly string[]): Promise<number> {
  const events = await Promise.all(runs.map((run) => timeline(world, { run, after: 0 })));
  return Math.max(
    ...events.flatMap((all) => all ?? []).flatMap((e) => (e.kind === "ToolOutcomeUnknown" ? [e.at] : [])),
  );
}
