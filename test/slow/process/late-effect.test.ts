/**
 * Schedule 28 with real processes: a tool is deaf to its signal, its timeout passes, and five seconds after that it would
 * write to the other side, in the middle of whatever its process does then. It never does: its process ends with its
 * beat, before anything else is done. One worker does everything, so that a process that was kept would be the one that
 * serves the hundred beats after it.
 */
import { expect, test } from "vitest";
import { identityOf } from "../../../src/adapters/local/process-identity.ts";
import { hasEnded } from "../../../src/protocol/row.ts";
import { ledger } from "../../../src/operations/views.ts";
import { LIMITS } from "../../support/gate/limits.ts";
import { MissingEvent, assertSafety, waitUntil } from "../../support/gate/safety.ts";
import { externalServiceOf, startEffectsRun } from "../../support/processes/effects-runs.ts";
import type { EffectsTask } from "../../support/processes/effects-agent.ts";
import {
  type ProcessHarness,
  startSupervisorProcess,
  createProcessHarness,
} from "../../support/processes/supervisor-process.ts";

const LATER_RUNS = ["a", "b", "c", "d"];
const BEATS_OF_EACH = 25;
const BEATS = LATER_RUNS.length * BEATS_OF_EACH;

const LOOKS: EffectsTask["steps"] = Array.from({ length: BEATS_OF_EACH }, () => "look");

test.each([
  // Each call ends a process of its own.
  { beatsPerWorker: 1, ended: 4 },
  // The first tries share a process, which ends for both: the unsafe one is tried once, and no run counts a death.
  { beatsPerWorker: 16, ended: 3 },
])(
  "a call that outlived its timeout does nothing later, however many beats follow; $beatsPerWorker share a process",
  async ({ beatsPerWorker, ended }) => {
    const harness = createProcessHarness({ CAIRN_BEAT_SECONDS: String(LIMITS.longBeatMs / 1_000) });
    const side = externalServiceOf(harness);
    const rowOf = async (run: string) => harness.world.table.read(run, Date.now());
    const { events } = startSupervisorProcess(harness, { workers: 1, beatsPerWorker });
    // Code that has completed a beat here: runs of new code share no process (schedule 246).
    const proven = await start(harness, { of: "proven", steps: ["look"] });
    await expect.poll(async () => (await rowOf(proven))?.status).toBe("completed");
    const late = await start(harness, { of: "late", steps: ["bookLate", "look"] });
    const blocked = await start(harness, { of: "blocked", steps: ["mailLate", "look"] });
    const statusOf = async (run: string) => (await ledger(harness.world, run))?.[0]?.status;
    const statuses = () => Promise.all([late, blocked].map(statusOf));
    await waitUntil(async () => expect(await statuses()).toEqual(GIVEN_UP), LIMITS.eventMs);

    // It really ran: three tries of the keyed one, one of the unsafe one. The processes of all of them end.
    const tries = side.requests().map(({ tool, pid }) => ({ tool, pid }));
    expect(tries.map(({ tool }) => tool).toSorted()).toEqual(["bookLate", "bookLate", "bookLate", "mailLate"]);
    const deaf = new Set(tries.map(({ pid }) => pid));
    // That they share it is arranged, and no claim: on a slow machine the second one may begin after the end of the first.
    if (deaf.size > ended) throw new MissingEvent("the first tries did not share a process");
    expect(deaf.size).toBe(ended);
    const gone = () => new Set(events.flatMap(({ kind, pid }) => (kind === "workerGone" ? [pid] : [])));
    await expect.poll(() => deaf.difference(gone()).size).toBe(0);
    assertSafety("no process of a late call lives on", () =>
      expect([...deaf].map(identityOf)).toEqual([...deaf].map(() => null)),
    );

    const before = events.length;
    const runs = [late];
    for (const label of LATER_RUNS) runs.push(await start(harness, { of: label, steps: LOOKS }));
    const areOver = async (): Promise<boolean> =>
      (await Promise.all(runs.map(rowOf))).every((row) => row !== null && hasEnded(row));
    await waitUntil(async () => expect(await areOver()).toBe(true), LIMITS.runMs);

    expect((await ledger(harness.world, late))?.[0]).toMatchObject({
      tool: "bookLate",
      status: "unknown",
      attempts: 3,
    });
    expect(await rowOf(blocked)).toMatchObject({ status: "blocked", takeovers: 0 });

    // The beats after it were done by one warm process. Its supervisor's lines may come after the rows.
    const warm = () => events.slice(before).filter(({ kind, state }) => kind === "attemptStarted" && state === "Beat");
    await expect.poll(() => warm().length).toBeGreaterThanOrEqual(BEATS);
    expect(new Set(warm().map(({ pid }) => pid)).size).toBe(1);
    assertSafety("no late call has an effect", () => expect(side.effects()).toEqual([]));
  },
);

const GIVEN_UP = ["unknown", "unknown"];

const start = async (harness: ProcessHarness, errand: EffectsTask): Promise<string> =>
  (await startEffectsRun(harness, errand)).run;
