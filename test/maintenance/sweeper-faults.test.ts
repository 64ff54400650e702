/** When a sweep dies at any of its calls, the next sweep brings the same result as one complete sweep. */
import { describe, expect, test } from "vitest";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import type { Row } from "../../src/protocol/row.ts";
import type { World } from "../../src/ports/world.ts";
import { timeline } from "../../src/operations/views.ts";
import { send } from "../../src/operations/steer.ts";
import { type CrashPoint, crashAtCall, forEachCrashPoint } from "../support/faults/crash-at-call.ts";
import { runDeadInTool, abandonedParkedRun } from "../support/runs/abandoned-runs.ts";
import { runnerOf } from "../support/harness/drive.ts";
import {
  scriptedAgent,
  type Harness,
  MS,
  createSupervisedHarness,
  executionNameOf,
} from "../support/harness/harness.ts";

interface AbandonedRun {
  readonly harness: Harness;
  readonly run: string;
}

/** Plays a sweep that dies at that call, then further sweeps; returns true if the first one did not die. */
async function sweptAfter(abandonedRun: AbandonedRun, crash: CrashPoint): Promise<boolean> {
  const { harness } = abandonedRun;
  const isAlive = await crashAtCall(harness.world, crash).survives((world) => sweepWith(harness, world));
  for (let round = 0; round < 3; round += 1) {
    // The dead sweep's mutex lease has expired, and every run that it moved is overdue again.
    harness.passTime(Math.max(MS.beat + MS.skew, harness.world.limits.overdueMs));
    await harness.sweep();
  }
  return isAlive;
}

const sweepWith = (harness: Harness, world: World): Promise<unknown> =>
  runTask(runnerOf(world, scriptedAgent({})))({ kind: "sweep" }, harness.invocation());

const live = (harness: Harness): readonly string[] =>
  [...harness.world.chain.executions.values()].filter(({ stage }) => stage !== "ended").map(({ name }) => name);

const rowNow = ({ harness, run }: AbandonedRun): Row => harness.row(run);

const kinds = async ({ harness, run }: AbandonedRun): Promise<readonly string[]> =>
  ((await timeline(harness.world, { run, after: 0 })) ?? []).map(({ kind }) => kind);

test("a run whose execution is gone gets exactly one new execution and completes", async () => {
  const crashes = await forEachCrashPoint(async (crash) => {
    const harness = createSupervisedHarness();
    const { run, row } = await runDeadInTool(harness, "keyed");
    harness.clock.moveTo((row.leaseUntil ?? 0) + harness.world.limits.overdueMs);
    const isAlive = await sweptAfter({ harness, run }, crash);
    expect(live(harness)).toEqual([executionNameOf(harness.row(run))]);
    expect(harness.row(run)).toMatchObject({ chain: 2, owner: null, takeovers: 1 });
    const ended = await harness.driveUntil({
      agent: scriptedAgent({ effect: "keyed" }),
      run,
      until: ({ endNotified }) => endNotified,
    });
    expect(ended).toMatchObject({ status: "completed" });
    return isAlive;
  });
  expect(crashes).toBeGreaterThan(12);
});

test("a parked run with a new message is woken or handed over, and absorbs the message", async () => {
  await forEachCrashPoint(async (crash) => {
    const harness = createSupervisedHarness();
    const { run, row, agent } = await abandonedParkedRun(harness);
    await harness.world.chain.wake(row.park?.token ?? "");
    harness.stopExecution(row);
    await harness.world.table.request({ ...row, now: harness.clock.now(), want: "resume" });
    harness.passTime(MS.unparked);
    const isAlive = await sweptAfter({ harness, run }, crash);
    // An execution without progress for so long may be backing off, so the sweep skipped it.
    expect(live(harness)).toContain(executionNameOf(harness.row(run)));
    expect(await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified })).toMatchObject({
      status: "completed",
    });
    expect(live(harness)).not.toContain(executionNameOf(harness.row(run)));
    return isAlive;
  });
});

describe("a run that cannot recover and has a new message", () => {
  async function play(abandonedRun: AbandonedRun, crash: CrashPoint): Promise<boolean> {
    const isAlive = await sweptAfter(abandonedRun, crash);
    // If the dead sweep had committed that the run ends, a beat may have to do the rest.
    if (!rowNow(abandonedRun).endNotified)
      await abandonedRun.harness.driveUntil({
        agent: scriptedAgent({}),
        run: abandonedRun.run,
        until: ({ endNotified }) => endNotified,
      });
    expect(rowNow(abandonedRun)).toMatchObject({ status: "failed", endNotified: true, owner: null });
    const happened = await kinds(abandonedRun);
    for (const once of ["RunEnded", "ToolOutcomeUnknown"])
      expect(happened.filter((kind) => kind === once)).toEqual([once]);
    const events = (await timeline(abandonedRun.harness.world, { run: abandonedRun.run, after: 0 })) ?? [];
    const taken = events.flatMap((event) =>
      event.kind === "MessageAbsorbed" && event.stage === "taken" ? [event.message] : [],
    );
    expect(taken).toEqual(["user#w0", "user#w1"]);
    return isAlive;
  }

  async function abandonedRun(to: (row: Row, harness: Harness) => Partial<Row>): Promise<AbandonedRun> {
    const harness = createSupervisedHarness();
    const { run, row } = await runDeadInTool(harness);
    for (const id of ["w0", "w1"]) await send(harness.world, { run, text: "take the train", by: "ann", id });
    harness.clock.moveTo((row.leaseUntil ?? 0) + harness.world.limits.overdueMs);
    harness.changeRow(row, to(harness.row(run), harness));
    return { harness, run };
  }

  test("ends once as Abandoned, and each of its messages is absorbed once", async () => {
    const crashes = await forEachCrashPoint(async (crash) => play(await abandonedRun(() => ({ deaths: 11 })), crash));
    expect(crashes).toBeGreaterThan(15);
  });

  test("ends once as Expired", async () => {
    await forEachCrashPoint(async (crash) =>
      play(await abandonedRun((_, { clock }) => ({ deadline: clock.now() })), crash),
    );
  });
});
