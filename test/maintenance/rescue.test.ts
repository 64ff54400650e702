/** The hand-over after all attempts of a beat died: the run continues in a new execution, or ends at its bound. */
import { describe, expect, test } from "vitest";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import type { Payload, TaskResult } from "../../src/protocol/chain.ts";
import type { World } from "../../src/ports/world.ts";
import { show, timeline } from "../../src/operations/views.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { type Crash, dying, everyCrash } from "../support/crashing.ts";
import { dead } from "../support/deserted.ts";
import { runnerOf } from "../support/drive.ts";
import { type Room, change, invocation, isTold, nameOf, room, supervise } from "../support/supervise.ts";
import { actor, never, rowOf } from "../support/stage.ts";

/** A rescue by a chain that knows that the process of the entry's first attempt died. */
const rescue = (on: Room, payload: Payload, world: World = on.world, cause?: string): Promise<TaskResult> => {
  const dead = { execution: nameOf(payload), epoch: payload.epoch, retry: 0 };
  const known = cause === undefined ? {} : { cause };
  return runTask(runnerOf(world, actor({})))({ kind: "rescue", payload, dead, ...known }, invocation(on));
};

const failureOf = async (on: Room, run: string) => (await show(on.world, run))?.failure?.code;

/** A run whose beat died in a tool call and whose lease has expired. */
async function lapsed(on: Room, effect: "keyed" | "unsafe" = "keyed") {
  const found = await dead(on, effect);
  on.clock.moveTo(found.row.leaseUntil ?? 0);
  return found;
}

describe("a rescue", () => {
  test("waits while a process holds the run, and changes nothing", async () => {
    const on = room();
    const { row, run, payload } = await dead(on);
    on.clock.moveTo((row.leaseUntil ?? 0) - 1);
    expect(await rescue(on, payload)).toEqual({ kind: "rescue", until: row.leaseUntil });
    expect(rowOf(on, run)).toEqual(row);
  });

  test("schedule 24: hands the run to the next execution, which starts with a fresh epoch and completes it", async () => {
    const on = room();
    const { run, payload, agent } = await lapsed(on);
    expect(await rescue(on, payload)).toEqual({ kind: "rescue", until: null });
    expect(rowOf(on, run)).toMatchObject({ chain: 2, epoch: 2, owner: null, takeovers: 1 });
    expect(on.world.chain.executions.get(nameOf(rowOf(on, run)))).toMatchObject({ payload: { chain: 2, epoch: 2 } });
    expect(await supervise(on, { agent, run, until: isTold })).toMatchObject({ status: "completed", chain: 2 });
  });

  test("of an ended run delivers its end and does not hand it over", async () => {
    const on = room();
    const { run, row, payload } = await lapsed(on);
    change(on, row, { status: "failed", phase: "Failed", owner: null, leaseUntil: null });
    expect(await rescue(on, payload)).toEqual({ kind: "rescue", until: null });
    expect(rowOf(on, run)).toMatchObject({ chain: 1, endNotified: true });
    expect(on.world.chain.executions.size).toBe(1);
  });

  test("of a removed run or another incarnation does nothing", async () => {
    const on = room();
    const { row, run, payload } = await lapsed(on);
    change(on, row, { born: "zzzzzzzzzz" });
    const before = rowOf(on, run);
    expect(await rescue(on, payload)).toEqual({ kind: "rescue", until: null });
    expect(rowOf(on, run)).toEqual(before);
    expect(on.world.chain.executions.size).toBe(1);
  });

  test("of a run that is two chains ahead starts the execution that its row names, and leaves the row unchanged", async () => {
    const on = room();
    const { row, run, payload } = await lapsed(on);
    change(on, row, { chain: 3, epoch: row.epoch + 2 });
    const before = rowOf(on, run);
    for (const again of [1, 2]) {
      expect(await rescue(on, payload)).toEqual({ kind: "rescue", until: null });
      expect([again, rowOf(on, run)]).toEqual([again, before]);
    }
    expect([...on.world.chain.executions.keys()].filter((name) => name.endsWith("-3"))).toHaveLength(1);
    expect(on.world.chain.executions.size).toBe(2);
  });

  test("past the bound ends the run itself, because every beat of the run might die first", async () => {
    const on = room();
    const { row, run, payload } = await lapsed(on, "unsafe");
    change(on, row, { deaths: 10, effectsSettleAt: 0 });
    expect(await rescue(on, payload, on.world, "SIGKILL")).toEqual({ kind: "rescue", until: null });
    expect(rowOf(on, run)).toMatchObject({ status: "failed", deaths: 11, endNotified: true, owner: null });
    const { failure } = (await show(on.world, run)) ?? {};
    const message =
      "11 processes died one after the other while they held this run, 10 are allowed; the last one ended with: SIGKILL";
    expect(failure).toEqual({ code: "Abandoned", message });
    const kinds = ((await timeline(on.world, { run, after: 0 })) ?? []).map(({ kind }) => kind);
    expect(kinds).toContain("ToolOutcomeUnknown");
    // No execution was started for it.
    expect(on.world.chain.executions.size).toBe(1);
  });

  test("past the bound while a lost process may still act starts a successor, whose beat waits and calls no tool", async () => {
    const on = room();
    const { row, run, payload } = await lapsed(on);
    const effectsSettleAt = on.clock.now() + 5_000;
    change(on, row, { deaths: 10, effectsSettleAt });
    const called: string[] = [];
    const agent = actor({ run: () => called.push("tool"), reply: () => (called.push("model"), { text: "over" }) });
    await rescue(on, payload);
    expect(rowOf(on, run)).toMatchObject({ status: "running", chain: 2, deaths: 11 });
    const ended = await supervise(on, { agent, run, until: isTold });
    expect(on.clock.now()).toBeGreaterThanOrEqual(effectsSettleAt);
    expect([ended.status, await failureOf(on, run), called]).toEqual(["failed", "CrashLoop", []]);
  });

  test("hands a run over and counts no death when its processes die before they claim it", async () => {
    const on = room();
    const { run, payload, agent } = await lapsed(on);
    change(on, { run }, { status: "queued", owner: null, leaseUntil: null });
    for (let chain = 1; chain < 30; chain += 1) await rescue(on, { ...payload, chain });
    expect(rowOf(on, run)).toMatchObject({ status: "queued", deaths: 0, takeovers: 0, chain: 30 });
    expect(await supervise(on, { agent, run, until: isTold })).toMatchObject({ status: "completed" });
  });

  test("of an unreadable run raises an alarm and starts the successor, which raises it too", async () => {
    const on = room();
    const { run, row, payload } = await lapsed(on);
    change(on, row, { snapshot: { ...row.snapshot, key: "gone" } });
    await rescue(on, payload);
    expect(on.alarms).toMatchObject([{ what: "Unreadable", run }]);
    expect(rowOf(on, run)).toMatchObject({ chain: 2, status: "running", version: row.version });
  });
});

describe("a rescue that dies at any of its calls is tried again", () => {
  async function twice(on: Room, payload: Payload, crash: Crash): Promise<boolean> {
    const isAlive = await dying(on.world, crash).survives((world) => rescue(on, payload, world));
    await rescue(on, payload);
    return isAlive;
  }

  test("schedule 39: exactly one successor continues the run", async () => {
    const crashes = await everyCrash(async (crash) => {
      const on = room();
      const { run, payload, agent } = await lapsed(on);
      const isAlive = await twice(on, payload, crash);
      expect(rowOf(on, run)).toMatchObject({ chain: 2, takeovers: 1 });
      expect([...on.world.chain.executions.keys()]).toEqual([1, 2].map((chain) => nameOf({ ...payload, chain })));
      expect(await supervise(on, { agent, run, until: isTold })).toMatchObject({ status: "completed" });
      return isAlive;
    });
    expect(crashes).toBeGreaterThanOrEqual(6);
  });

  test("at the bound ends the run once, in the rescue or in the successor's beat", async () => {
    const codes = new Set<string>();
    await everyCrash(async (crash) => {
      const on = room();
      const { run, row, payload, agent } = await lapsed(on, "unsafe");
      change(on, row, { deaths: 10, effectsSettleAt: 0 });
      const isAlive = await twice(on, payload, crash);
      if (!rowOf(on, run).endNotified) await supervise(on, { agent, run, until: isTold });
      expect(rowOf(on, run)).toMatchObject({ status: "failed", endNotified: true });
      codes.add((await failureOf(on, run)) ?? "");
      const ends = ((await timeline(on.world, { run, after: 0 })) ?? []).filter(({ kind }) => kind === "RunEnded");
      expect(ends).toHaveLength(1);
      return isAlive;
    });
    expect(codes).toEqual(new Set(["Abandoned", "CrashLoop"]));
  });
});

test("a rescue starts the successor when a slow attempt committed a continue-as-new and died", async () => {
  const on = room({ chainClaimsMax: 1 });
  const { run, payload, agent } = await lapsed(on);
  // The last attempt of the beat commits, but its response never arrives.
  const commit: World["table"]["commit"] = async (of) => {
    const outcome = await on.world.table.commit(of);
    return of.nextChain ? never() : outcome;
  };
  const world = { ...on.world, table: { ...on.world.table, commit } };
  const entry = { execution: nameOf(payload), epoch: 0, retry: 4 };
  void runTask(runnerOf(world, agent))({ kind: "beat", payload, attempt: entry }, invocation(on));
  await expect.poll(() => rowOf(on, run).chain).toBe(2);
  await sendRequest(on.world, { run, want: "resume" });
  await rescue(on, payload);
  expect(rowOf(on, run)).toMatchObject({ chain: 2, takeovers: 1 });
  expect(await supervise(on, { agent, run, until: isTold })).toMatchObject({ status: "completed" });
});
