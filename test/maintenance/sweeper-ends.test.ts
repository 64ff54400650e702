/** Runs that no beat can end: the sweeper ends them once no lost process can act and every message is absorbed. */
import { noticeMs } from "../../src/engine/loop/next-look.ts";
import { describe, expect, test } from "vitest";
import { ledger, timeline, transcript } from "../../src/operations/views.ts";
import { send } from "../../src/operations/steer.ts";
import { runBetweenBeats, runDeadInTool } from "../support/runs/abandoned-runs.ts";
import { MS, type Harness, createSupervisedHarness, executionNameOf } from "../support/harness/harness.ts";
import { HAND_OVER } from "../../src/protocol/row-hand-over.ts";
import { CLAIM } from "../../src/protocol/row-claim.ts";
import { type DecisionCalls, withCalls } from "../../src/testing/decisions.ts";
import { beforeCall } from "../support/harness/chain-steps.ts";

const words = (run: string, id = "w1") => ({ run, text: "take the train", by: "ann", id });
const events = async (harness: Harness, run: string) => (await timeline(harness.world, { run, after: 0 })) ?? [];

describe("a run with too many process deaths", () => {
  const over = { deaths: 11 } as const;

  test("is handed over once more and ended: its inbox is absorbed and its open calls become unknown", async () => {
    const harness = createSupervisedHarness();
    const { row, run } = await runDeadInTool(harness);
    harness.changeRow(row, over);
    await send(harness.world, words(run));
    harness.clock.moveTo(row.leaseUntil ?? 0);
    await harness.sweep();
    expect(harness.row(run)).toMatchObject({
      ...over,
      status: "failed",
      phase: "Failed",
      chain: 2,
      epoch: 2,
      endNotified: true,
    });
    expect((await events(harness, run)).map(({ kind }) => kind).slice(-4)).toEqual([
      ...["RecoveryDecided", "MessageAbsorbed", "ToolOutcomeUnknown", "RunEnded"],
    ]);
    expect((await events(harness, run)).at(-1)).toMatchObject({ epoch: 2, failure: { code: "Abandoned" } });
    expect(await ledger(harness.world, run)).toMatchObject([{ status: "unknown" }]);
    expect((await transcript(harness.world, run))?.at(-1)).toMatchObject({ source: "user:ann" });
  });

  test("schedule 36: is left to the next sweep while a fenced process may still act", async () => {
    const harness = createSupervisedHarness();
    const { row, run } = await runDeadInTool(harness);
    const effectsSettleAt = (row.leaseUntil ?? 0) + MS.overdue;
    harness.changeRow(row, { ...over, effectsSettleAt });
    harness.clock.moveTo(row.leaseUntil ?? 0);
    await harness.sweep();
    expect(harness.row(run)).toMatchObject({ status: "running", chain: 2, owner: null });
    harness.clock.moveTo(effectsSettleAt - 1);
    await harness.sweep();
    expect(harness.row(run)).toMatchObject({ status: "running", version: row.version });
    harness.clock.moveTo(effectsSettleAt);
    await harness.sweep();
    expect(harness.row(run)).toMatchObject({ status: "failed", endNotified: true });
  });

  test("schedule 36: judges effectsSettleAt on the row after the hand-over, because a zombie may have claimed it meanwhile", async () => {
    const harness = createSupervisedHarness();
    const { row, run, payload } = await runDeadInTool(harness);
    harness.changeRow(row, over);
    harness.clock.moveTo(row.leaseUntil ?? 0);
    const handOver: DecisionCalls["handOver"] = async (of) => {
      const entry = { execution: executionNameOf(payload), epoch: 0, retry: 1 };
      // The zombie's clock is behind.
      const leaseUntil = harness.clock.now() + MS.beat;
      await harness.world.table.decide(
        { ...payload, entry, owner: "zombie", leaseUntil, now: harness.clock.now() },
        CLAIM,
      );
      return harness.world.table.decide({ ...of, now: leaseUntil }, HAND_OVER);
    };
    await harness.sweep({ ...harness.world, table: withCalls(harness.world.table, { handOver }) });
    expect(harness.row(run)).toMatchObject({
      status: "running",
      owner: null,
      effectsSettleAt: harness.clock.now() + MS.beat,
    });
  });

  test("schedule 40: keeps its end when a zombie ended it meanwhile", async () => {
    const harness = createSupervisedHarness();
    const { row, run } = await runDeadInTool(harness);
    harness.changeRow(row, over);
    harness.clock.moveTo(row.leaseUntil ?? 0);
    const handOver: DecisionCalls["handOver"] = async (of) => {
      harness.changeRow(row, { status: "completed", phase: "Completed" });
      return harness.world.table.decide(of, HAND_OVER);
    };
    await harness.sweep({ ...harness.world, table: withCalls(harness.world.table, { handOver }) });
    expect(harness.row(run)).toMatchObject({ status: "completed", chain: 1, version: row.version });
  });

  test("absorbs a message that arrives before its end is committed, and still ends", async () => {
    const harness = createSupervisedHarness();
    const { row, run } = await runDeadInTool(harness);
    harness.changeRow(row, over);
    harness.clock.moveTo(row.leaseUntil ?? 0);
    const world = beforeCall(
      harness.world,
      "commit",
      () => send(harness.world, words(run)),
      ({ unlessWoken }) => unlessWoken,
    );
    await harness.sweep(world);
    expect(harness.row(run)).toMatchObject({ status: "failed", wakeCount: 1, wakeCountSeen: 1 });
    const taken = (await events(harness, run)).filter(({ kind }) => kind === "MessageAbsorbed");
    expect(taken).toMatchObject([{ message: "user#w1" }]);
    expect((await events(harness, run)).filter(({ kind }) => kind === "ToolOutcomeUnknown")).toHaveLength(1);
  });

  test("debits every model call before it ends", async () => {
    const harness = createSupervisedHarness();
    const { row, run } = await runBetweenBeats(harness);
    harness.stopExecution(row);
    harness.changeRow(row, over);
    harness.passTime();
    await harness.sweep();
    expect(harness.row(run)).toMatchObject({
      status: "failed",
      claims: 0,
      unaccountedModelCalls: 0,
      marksAtClaim: 0,
    });
  });
});

describe("a run past its deadline", () => {
  test("whose execution is gone ends as Expired when its deadline and the time of a warning have passed", async () => {
    const harness = createSupervisedHarness();
    const { row, run } = await runDeadInTool(harness);
    const end = row.deadline + noticeMs(harness.world.limits);
    harness.clock.moveTo(end - 1);
    await harness.sweep();
    expect(harness.row(run)).toMatchObject({ status: "running", chain: 2 });
    harness.clock.moveTo(end);
    await harness.sweep();
    expect(harness.row(run)).toMatchObject({ status: "failed", chain: 3, endNotified: true });
    expect((await events(harness, run)).at(-1)).toMatchObject({ failure: { code: "Expired" } });
  });

  test.each(["handed over", "ended"])(
    "continues and absorbs a message that arrives right before it is %s",
    async (at) => {
      const harness = createSupervisedHarness();
      const { row, run, agent } = await runDeadInTool(harness, "keyed");
      harness.clock.moveTo(row.deadline + noticeMs(harness.world.limits));
      const act = () => send(harness.world, words(run));
      const handOver: DecisionCalls["handOver"] = async (of) => {
        await act();
        return harness.world.table.decide(of, HAND_OVER);
      };
      const late = beforeCall(harness.world, "commit", act, ({ unlessWoken }) => unlessWoken);
      await harness.sweep(
        at === "ended" ? late : { ...harness.world, table: withCalls(harness.world.table, { handOver }) },
      );
      expect(harness.row(run)).toMatchObject({ status: "running", version: row.version });
      harness.passTime();
      await harness.sweep();
      expect(await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified })).toMatchObject({
        status: "completed",
      });
      expect(JSON.stringify(await transcript(harness.world, run))).toContain("take the train");
    },
  );
});
