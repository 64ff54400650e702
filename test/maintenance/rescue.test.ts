/** The hand-over after all attempts of a beat died: the run continues in a new execution, or ends at its bound. */
import { describe, expect, test } from "vitest";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import type { Payload, TaskResult } from "../../src/protocol/chain.ts";
import { COMMIT } from "../../src/protocol/row-commit.ts";
import type { World } from "../../src/ports/world.ts";
import { show, timeline } from "../../src/operations/views.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { type DecisionCalls, withCalls } from "../../src/testing/decisions.ts";
import { type CrashPoint, crashAtCall, forEachCrashPoint } from "../support/faults/crash-at-call.ts";
import { runDeadInTool } from "../support/runs/abandoned-runs.ts";
import { runnerOf } from "../support/harness/drive.ts";
import {
  scriptedAgent,
  neverSettles,
  type Harness,
  createSupervisedHarness,
  executionNameOf,
} from "../support/harness/harness.ts";

/** A rescue by a chain that knows that the process of the entry's first attempt died. */
const rescue = (
  harness: Harness,
  payload: Payload,
  world: World = harness.world,
  cause?: string,
): Promise<TaskResult> => {
  const dead = { execution: executionNameOf(payload), epoch: payload.epoch, retry: 0 };
  const known = cause === undefined ? {} : { cause };
  return runTask(runnerOf(world, scriptedAgent({})))({ kind: "rescue", payload, dead, ...known }, harness.invocation());
};

const failureOf = async (harness: Harness, run: string) => (await show(harness.world, run))?.failure?.code;

/** A run whose beat died in a tool call and whose lease has expired. */
async function lapsed(harness: Harness, effect: "keyed" | "unsafe" = "keyed") {
  const found = await runDeadInTool(harness, effect);
  harness.clock.moveTo(found.row.leaseUntil ?? 0);
  return found;
}

describe("a rescue", () => {
  test("waits while a process holds the run, and changes nothing", async () => {
    const harness = createSupervisedHarness();
    const { row, run, payload } = await runDeadInTool(harness);
    harness.clock.moveTo((row.leaseUntil ?? 0) - 1);
    expect(await rescue(harness, payload)).toEqual({ kind: "rescue", until: row.leaseUntil });
    expect(harness.row(run)).toEqual(row);
  });

  test("schedule 24: hands the run to the next execution, which starts with a fresh epoch and completes it", async () => {
    const harness = createSupervisedHarness();
    const { run, payload, agent } = await lapsed(harness);
    expect(await rescue(harness, payload)).toEqual({ kind: "rescue", until: null });
    expect(harness.row(run)).toMatchObject({ chain: 2, epoch: 2, owner: null, takeovers: 1 });
    expect(harness.world.chain.executions.get(executionNameOf(harness.row(run)))).toMatchObject({
      payload: { chain: 2, epoch: 2 },
    });
    expect(await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified })).toMatchObject({
      status: "completed",
      chain: 2,
    });
  });

  test("of an ended run delivers its end and does not hand it over", async () => {
    const harness = createSupervisedHarness();
    const { run, row, payload } = await lapsed(harness);
    harness.changeRow(row, { status: "failed", phase: "Failed", owner: null, leaseUntil: null });
    expect(await rescue(harness, payload)).toEqual({ kind: "rescue", until: null });
    expect(harness.row(run)).toMatchObject({ chain: 1, endNotified: true });
    expect(harness.world.chain.executions.size).toBe(1);
  });

  test("of a removed run or another incarnation does nothing", async () => {
    const harness = createSupervisedHarness();
    const { row, run, payload } = await lapsed(harness);
    harness.changeRow(row, { born: "zzzzzzzzzz" });
    const before = harness.row(run);
    expect(await rescue(harness, payload)).toEqual({ kind: "rescue", until: null });
    expect(harness.row(run)).toEqual(before);
    expect(harness.world.chain.executions.size).toBe(1);
  });

  test("of a run that is two chains ahead starts the execution that its row names, and leaves the row unchanged", async () => {
    const harness = createSupervisedHarness();
    const { row, run, payload } = await lapsed(harness);
    harness.changeRow(row, { chain: 3, epoch: row.epoch + 2 });
    const before = harness.row(run);
    for (const again of [1, 2]) {
      expect(await rescue(harness, payload)).toEqual({ kind: "rescue", until: null });
      expect({ again, row: harness.row(run) }).toEqual({ again, row: before });
    }
    expect([...harness.world.chain.executions.keys()].filter((name) => name.endsWith("-3"))).toHaveLength(1);
    expect(harness.world.chain.executions.size).toBe(2);
  });

  test("past the bound ends the run itself, because every beat of the run might die first", async () => {
    const harness = createSupervisedHarness();
    const { row, run, payload } = await lapsed(harness, "unsafe");
    harness.changeRow(row, { deaths: 10, effectsSettleAt: 0 });
    expect(await rescue(harness, payload, harness.world, "SIGKILL")).toEqual({ kind: "rescue", until: null });
    expect(harness.row(run)).toMatchObject({ status: "failed", deaths: 11, endNotified: true, owner: null });
    const { failure } = (await show(harness.world, run)) ?? {};
    const message =
      "11 processes died one after the other while they held this run, 10 are allowed; the last one ended with: SIGKILL";
    expect(failure).toEqual({ code: "Abandoned", message });
    const kinds = ((await timeline(harness.world, { run, after: 0 })) ?? []).map(({ kind }) => kind);
    expect(kinds).toContain("ToolOutcomeUnknown");
    // No execution was started for it.
    expect(harness.world.chain.executions.size).toBe(1);
  });

  test("past the bound while a lost process may still act starts a successor, whose beat waits and calls no tool", async () => {
    const harness = createSupervisedHarness();
    const { row, run, payload } = await lapsed(harness);
    const effectsSettleAt = harness.clock.now() + 5_000;
    harness.changeRow(row, { deaths: 10, effectsSettleAt });
    const called: string[] = [];
    const agent = scriptedAgent({
      run: () => called.push("tool"),
      reply: () => (called.push("model"), { text: "over" }),
    });
    await rescue(harness, payload);
    expect(harness.row(run)).toMatchObject({ status: "running", chain: 2, deaths: 11 });
    const ended = await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified });
    expect(harness.clock.now()).toBeGreaterThanOrEqual(effectsSettleAt);
    expect({ status: ended.status, failure: await failureOf(harness, run), called }).toEqual({
      status: "failed",
      failure: "CrashLoop",
      called: [],
    });
  });

  test("hands a run over and counts no death when its processes die before they claim it", async () => {
    const harness = createSupervisedHarness();
    const { run, payload, agent } = await lapsed(harness);
    harness.changeRow({ run }, { status: "queued", owner: null, leaseUntil: null });
    for (let chain = 1; chain < 30; chain += 1) await rescue(harness, { ...payload, chain });
    expect(harness.row(run)).toMatchObject({ status: "queued", deaths: 0, takeovers: 0, chain: 30 });
    expect(await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified })).toMatchObject({
      status: "completed",
    });
  });

  test("of an unreadable run raises an alarm and starts the successor, which raises it too", async () => {
    const harness = createSupervisedHarness();
    const { run, row, payload } = await lapsed(harness);
    harness.changeRow(row, { snapshot: { ...row.snapshot, key: "gone" } });
    await rescue(harness, payload);
    expect(harness.alarms).toMatchObject([{ what: "Unreadable", run }]);
    expect(harness.row(run)).toMatchObject({ chain: 2, status: "running", version: row.version });
  });
});

describe("a rescue that dies at any of its calls is tried again", () => {
  async function twice(harness: Harness, payload: Payload, crash: CrashPoint): Promise<boolean> {
    const isAlive = await crashAtCall(harness.world, crash).survives((world) => rescue(harness, payload, world));
    await rescue(harness, payload);
    return isAlive;
  }

  test("schedule 39: exactly one successor continues the run", async () => {
    const crashes = await forEachCrashPoint(async (crash) => {
      const harness = createSupervisedHarness();
      const { run, payload, agent } = await lapsed(harness);
      const isAlive = await twice(harness, payload, crash);
      expect(harness.row(run)).toMatchObject({ chain: 2, takeovers: 1 });
      expect([...harness.world.chain.executions.keys()]).toEqual(
        [1, 2].map((chain) => executionNameOf({ ...payload, chain })),
      );
      expect(await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified })).toMatchObject({
        status: "completed",
      });
      return isAlive;
    });
    expect(crashes).toBeGreaterThanOrEqual(6);
  });

  test("at the bound ends the run once, in the rescue or in the successor's beat", async () => {
    const codes = new Set<string>();
    await forEachCrashPoint(async (crash) => {
      const harness = createSupervisedHarness();
      const { run, row, payload, agent } = await lapsed(harness, "unsafe");
      harness.changeRow(row, { deaths: 10, effectsSettleAt: 0 });
      const isAlive = await twice(harness, payload, crash);
      if (!harness.row(run).endNotified)
        await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified });
      expect(harness.row(run)).toMatchObject({ status: "failed", endNotified: true });
      codes.add((await failureOf(harness, run)) ?? "");
      const ends = ((await timeline(harness.world, { run, after: 0 })) ?? []).filter(({ kind }) => kind === "RunEnded");
      expect(ends).toHaveLength(1);
      return isAlive;
    });
    expect(codes).toEqual(new Set(["Abandoned", "CrashLoop"]));
  });
});

test("a rescue starts the successor when a slow attempt committed a continue-as-new and died", async () => {
  const harness = createSupervisedHarness({ chainClaimsMax: 1 });
  const { run, payload, agent } = await lapsed(harness);
  // The last attempt of the beat commits, but its response never arrives.
  const commit: DecisionCalls["commit"] = async (of) => {
    const outcome = await harness.world.table.decide(of, COMMIT);
    return of.nextChain ? neverSettles() : outcome;
  };
  const world = { ...harness.world, table: withCalls(harness.world.table, { commit }) };
  const entry = { execution: executionNameOf(payload), epoch: 0, retry: 4 };
  void runTask(runnerOf(world, agent))({ kind: "beat", payload, attempt: entry }, harness.invocation());
  await expect.poll(() => harness.row(run).chain).toBe(2);
  await sendRequest(harness.world, { run, want: "resume" });
  await rescue(harness, payload);
  expect(harness.row(run)).toMatchObject({ chain: 2, takeovers: 1 });
  expect(await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified })).toMatchObject({
    status: "completed",
  });
});
