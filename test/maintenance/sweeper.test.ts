/**
 * The sweeper's rules one by one: every abandoned run gets its next step, and a run that cannot recover gets its end.
 */
import { noticeMs } from "../../src/engine/loop/next-look.ts";
import { describe, expect, test } from "vitest";
import { timeline } from "../../src/operations/views.ts";
import { send } from "../../src/operations/steer.ts";
import { beginRun } from "../support/harness/drive.ts";
import { runBetweenBeats, runDeadInTool, abandonedParkedRun } from "../support/runs/abandoned-runs.ts";
import {
  scriptedAgent,
  MS,
  type Harness,
  createSupervisedHarness,
  executionNameOf,
} from "../support/harness/harness.ts";
import { HAND_OVER } from "../../src/protocol/row-hand-over.ts";

const words = (run: string, id = "w1") => ({ run, text: "take the train", by: "ann", id });
const stageOf = (harness: Harness, name: string): string | undefined => harness.world.chain.executions.get(name)?.stage;
const events = async (harness: Harness, run: string) => (await timeline(harness.world, { run, after: 0 })) ?? [];

describe("a queued run", () => {
  test("gets an execution when its start died", async () => {
    const harness = createSupervisedHarness();
    const silent = {
      ...harness.world,
      chain: { ...harness.world.chain, start: async () => ({ kind: "started" }) as const },
    };
    const payload = await beginRun(silent, scriptedAgent({}), {});
    expect(harness.world.chain.executions.size).toBe(0);
    await harness.sweep();
    expect(stageOf(harness, executionNameOf(payload))).toBe("due");
    expect(
      await harness.driveUntil({ agent: scriptedAgent({}), run: payload.run, until: ({ endNotified }) => endNotified }),
    ).toMatchObject({
      chain: 1,
    });
  });

  test("is handed over without counting a death when its execution has ended", async () => {
    const harness = createSupervisedHarness();
    const payload = await beginRun(harness.world, scriptedAgent({}), {});
    harness.stopExecution(payload);
    harness.passTime();
    await harness.sweep();
    expect(harness.row(payload.run)).toMatchObject({ chain: 2, takeovers: 0, deaths: 0, status: "queued" });
    expect(stageOf(harness, executionNameOf({ ...payload, chain: 2 }))).toBe("due");
  });

  test("that no execution ever claims is handed over again and again: only its deadline ends it", async () => {
    const harness = createSupervisedHarness();
    const { run, born } = await beginRun(harness.world, scriptedAgent({}), {});
    for (let round = 0; round < 30; round += 1) {
      if (stageOf(harness, executionNameOf(harness.row(run))) === "due") harness.stopExecution(harness.row(run));
      harness.passTime();
      await harness.sweep();
    }
    expect(harness.row(run)).toMatchObject({ run, born, status: "queued", deaths: 0, endNotified: false });
    expect(harness.row(run).chain).toBeGreaterThan(20);
  });

  test("schedule 25: that no process claims ends as Expired when its deadline and the time of a warning have passed, and not before", async () => {
    const harness = createSupervisedHarness();
    const { run } = await beginRun(harness.world, scriptedAgent({}), {});
    harness.clock.moveTo(harness.row(run).deadline + noticeMs(harness.world.limits) - 1);
    await harness.sweep();
    expect(harness.row(run).status).toBe("queued");
    harness.passTime(1);
    harness.passTime(60_000);
    await harness.sweep();
    expect(harness.row(run)).toMatchObject({ status: "failed", endNotified: true });
    expect((await events(harness, run)).at(-1)).toMatchObject({ kind: "RunEnded", failure: { code: "Expired" } });
  });
});

describe("a parked run", () => {
  test.each(["woken", "past its time"])("is woken when it is %s", async (how) => {
    const harness = createSupervisedHarness();
    const { row, run } = await abandonedParkedRun(harness);
    if (how === "woken") harness.changeRow(row, { wakeCount: row.wakeCount + 1 });
    else harness.clock.moveTo(row.wakeAt ?? 0);
    await harness.sweep();
    expect(harness.world.chain.executions.get(executionNameOf(row))).toMatchObject({
      state: "Beat",
      stage: "due",
      token: null,
    });
    expect(harness.row(run).chain).toBe(1);
  });

  test("whose token is refused is handed over once no beat can be about to claim it", async () => {
    const harness = createSupervisedHarness();
    const { row, run } = await abandonedParkedRun(harness);
    harness.changeRow(row, { wakeCount: row.wakeCount + 1 });
    await harness.world.chain.wake(row.park?.token ?? "");
    harness.stopExecution(row);
    harness.passTime(MS.overdue - 1);
    await harness.sweep();
    expect(harness.row(run).chain).toBe(1);
    harness.passTime(1);
    await harness.sweep();
    expect(harness.row(run)).toMatchObject({ chain: 2, park: null, takeovers: 0 });
    expect(stageOf(harness, executionNameOf({ ...row, chain: 2 }))).toBe("due");
  });

  test("whose execution died before it stored a token parks in a new execution and absorbs its messages", async () => {
    const harness = createSupervisedHarness();
    const { row, run, agent } = await abandonedParkedRun(harness);
    harness.changeRow(row, { park: null });
    await harness.world.chain.wake(row.park?.token ?? "");
    harness.stopExecution(row);
    await harness.world.table.request({ ...row, now: harness.clock.now(), want: "resume" });
    expect(await send(harness.world, words(run))).toEqual({ kind: "delivered" });
    harness.passTime(MS.overdue - 1);
    await harness.sweep();
    expect(harness.row(run)).toMatchObject({ chain: 1, status: "paused" });
    harness.passTime(1);
    await harness.sweep();
    expect(harness.row(run)).toMatchObject({ chain: 2, takeovers: 0 });
    expect(await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified })).toMatchObject({
      status: "completed",
    });
  });
});

describe("a running run", () => {
  test("without an owner gets its next execution when that was never started", async () => {
    const harness = createSupervisedHarness();
    const { row, run, agent } = await runBetweenBeats(harness);
    harness.stopExecution(row);
    // Its last beat moved it to the next chain and died before the chain got the reply.
    harness.changeRow(row, { chain: 2, epoch: row.epoch + 1 });
    harness.passTime();
    await harness.sweep();
    expect(harness.row(run)).toMatchObject({ chain: 2, takeovers: 0 });
    expect(harness.world.chain.executions.get(executionNameOf(harness.row(run)))).toMatchObject({
      payload: { chain: 2, epoch: row.epoch + 1 },
    });
    expect(await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified })).toMatchObject({
      status: "completed",
      chain: 2,
    });
  });

  test("whose owner and execution are dead is handed over when the lease expires and not before", async () => {
    const harness = createSupervisedHarness();
    const { row, run, agent } = await runDeadInTool(harness, "keyed");
    harness.clock.moveTo((row.leaseUntil ?? 0) - 1);
    await harness.sweep();
    expect(harness.row(run)).toEqual(row);
    harness.clock.moveTo(row.leaseUntil ?? 0);
    await harness.sweep();
    expect(harness.row(run)).toMatchObject({ chain: 2, owner: null, takeovers: 1, effectsSettleAt: row.leaseUntil });
    expect(await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified })).toMatchObject({
      status: "completed",
    });
  });

  test("whose hand-over died before the start is started by the next sweep", async () => {
    const harness = createSupervisedHarness();
    const { row, run } = await runDeadInTool(harness);
    harness.clock.moveTo(row.leaseUntil ?? 0);
    await harness.world.table.decide({ ...row, now: harness.clock.now() }, HAND_OVER);
    harness.passTime();
    await harness.sweep();
    expect(harness.row(run)).toMatchObject({ chain: 2, takeovers: 1 });
    expect(stageOf(harness, executionNameOf({ ...row, chain: 2 }))).toBe("due");
  });
});

describe("an ended run whose end is not delivered", () => {
  test("gets its end delivered, and then leaves the sweeper's list", async () => {
    const harness = createSupervisedHarness();
    const { row, run } = await runBetweenBeats(harness);
    harness.changeRow(row, { status: "failed", phase: "Failed" });
    await harness.sweep();
    expect(harness.row(run)).toMatchObject({ endNotified: true, expiresAtSec: expect.any(Number) });
    expect((await harness.world.table.alive({ limit: 9, after: null, now: harness.clock.now() })).rows).toEqual([]);
  });
});
