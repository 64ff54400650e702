/**
 * The sweeper's rules one by one: every abandoned run gets its next step, and a run that cannot recover gets its end.
 */
import { describe, expect, test } from "vitest";
import { timeline } from "../../src/operations/views.ts";
import { send } from "../../src/operations/steer.ts";
import { begin } from "../support/drive.ts";
import { between, dead, parked } from "../support/deserted.ts";
import { OVERDUE_MS, type Room, change, close, isTold, nameOf } from "../support/supervise.ts";
import { room, supervise, sweep, wait } from "../support/supervise.ts";
import { actor, rowOf } from "../support/stage.ts";

const words = (run: string, id = "w1") => ({ run, text: "take the train", by: "ann", id });
const stageOf = (on: Room, name: string): string | undefined => on.world.chain.executions.get(name)?.stage;
const events = async (on: Room, run: string) => (await timeline(on.world, { run, after: 0 })) ?? [];

describe("a queued run", () => {
  test("gets an execution when its start died", async () => {
    const on = room();
    const silent = { ...on.world, chain: { ...on.world.chain, start: async () => ({ kind: "started" }) as const } };
    const payload = await begin(silent, actor({}), {});
    expect(on.world.chain.executions.size).toBe(0);
    await sweep(on);
    expect(stageOf(on, nameOf(payload))).toBe("due");
    expect(await supervise(on, { agent: actor({}), run: payload.run, until: isTold })).toMatchObject({ chain: 1 });
  });

  test("is handed over without counting a death when its execution has ended", async () => {
    const on = room();
    const payload = await begin(on.world, actor({}), {});
    close(on, payload);
    wait(on);
    await sweep(on);
    expect(rowOf(on, payload.run)).toMatchObject({ chain: 2, takeovers: 0, deaths: 0, status: "queued" });
    expect(stageOf(on, nameOf({ ...payload, chain: 2 }))).toBe("due");
  });

  test("that no execution ever claims is handed over again and again: only its deadline ends it", async () => {
    const on = room();
    const { run, born } = await begin(on.world, actor({}), {});
    for (let round = 0; round < 30; round += 1) {
      if (stageOf(on, nameOf(rowOf(on, run))) === "due") close(on, rowOf(on, run));
      wait(on);
      await sweep(on);
    }
    expect(rowOf(on, run)).toMatchObject({ run, born, status: "queued", deaths: 0, endNotified: false });
    expect(rowOf(on, run).chain).toBeGreaterThan(20);
  });

  test("schedule 25: that no process claims ends as Expired at its deadline and not before", async () => {
    const on = room();
    const { run } = await begin(on.world, actor({}), {});
    on.clock.moveTo(rowOf(on, run).deadline - 1);
    await sweep(on);
    expect(rowOf(on, run).status).toBe("queued");
    wait(on, 1);
    wait(on, 60_000);
    await sweep(on);
    expect(rowOf(on, run)).toMatchObject({ status: "failed", endNotified: true });
    expect((await events(on, run)).at(-1)).toMatchObject({ kind: "RunEnded", failure: { code: "Expired" } });
  });
});

describe("a parked run", () => {
  test.each(["woken", "past its time"])("is woken when it is %s", async (how) => {
    const on = room();
    const { row, run } = await parked(on);
    if (how === "woken") change(on, row, { wakeCount: row.wakeCount + 1 });
    else on.clock.moveTo(row.wakeAt ?? 0);
    await sweep(on);
    expect(on.world.chain.executions.get(nameOf(row))).toMatchObject({ state: "Beat", stage: "due", token: null });
    expect(rowOf(on, run).chain).toBe(1);
  });

  test("whose token is refused is handed over once no beat can be about to claim it", async () => {
    const on = room();
    const { row, run } = await parked(on);
    change(on, row, { wakeCount: row.wakeCount + 1 });
    await on.world.chain.wake(row.park?.token ?? "");
    close(on, row);
    wait(on, OVERDUE_MS - 1);
    await sweep(on);
    expect(rowOf(on, run).chain).toBe(1);
    wait(on, 1);
    await sweep(on);
    expect(rowOf(on, run)).toMatchObject({ chain: 2, park: null, takeovers: 0 });
    expect(stageOf(on, nameOf({ ...row, chain: 2 }))).toBe("due");
  });

  test("whose execution died before it stored a token parks in a new execution and absorbs its messages", async () => {
    const on = room();
    const { row, run, agent } = await parked(on);
    change(on, row, { park: null });
    await on.world.chain.wake(row.park?.token ?? "");
    close(on, row);
    await on.world.table.request({ ...row, now: on.clock.now(), want: "resume" });
    expect(await send(on.world, words(run))).toEqual({ kind: "delivered" });
    wait(on, OVERDUE_MS - 1);
    await sweep(on);
    expect(rowOf(on, run)).toMatchObject({ chain: 1, status: "paused" });
    wait(on, 1);
    await sweep(on);
    expect(rowOf(on, run)).toMatchObject({ chain: 2, takeovers: 0 });
    expect(await supervise(on, { agent, run, until: isTold })).toMatchObject({ status: "completed" });
  });
});

describe("a running run", () => {
  test("without an owner gets its next execution when that was never started", async () => {
    const on = room();
    const { row, run, agent } = await between(on);
    close(on, row);
    // Its last beat moved it to the next chain and died before the chain got the reply.
    change(on, row, { chain: 2, epoch: row.epoch + 1 });
    wait(on);
    await sweep(on);
    expect(rowOf(on, run)).toMatchObject({ chain: 2, takeovers: 0 });
    expect(on.world.chain.executions.get(nameOf(rowOf(on, run)))).toMatchObject({
      payload: { chain: 2, epoch: row.epoch + 1 },
    });
    expect(await supervise(on, { agent, run, until: isTold })).toMatchObject({ status: "completed", chain: 2 });
  });

  test("whose owner and execution are dead is handed over when the lease expires and not before", async () => {
    const on = room();
    const { row, run, agent } = await dead(on, "keyed");
    on.clock.moveTo((row.leaseUntil ?? 0) - 1);
    await sweep(on);
    expect(rowOf(on, run)).toEqual(row);
    on.clock.moveTo(row.leaseUntil ?? 0);
    await sweep(on);
    expect(rowOf(on, run)).toMatchObject({ chain: 2, owner: null, takeovers: 1, effectsSettleAt: row.leaseUntil });
    expect(await supervise(on, { agent, run, until: isTold })).toMatchObject({ status: "completed" });
  });

  test("whose hand-over died before the start is started by the next sweep", async () => {
    const on = room();
    const { row, run } = await dead(on);
    on.clock.moveTo(row.leaseUntil ?? 0);
    await on.world.table.handOver({ ...row, now: on.clock.now() });
    wait(on);
    await sweep(on);
    expect(rowOf(on, run)).toMatchObject({ chain: 2, takeovers: 1 });
    expect(stageOf(on, nameOf({ ...row, chain: 2 }))).toBe("due");
  });
});

describe("an ended run whose end is not delivered", () => {
  test("gets its end delivered, and then leaves the sweeper's list", async () => {
    const on = room();
    const { row, run } = await between(on);
    change(on, row, { status: "failed", phase: "Failed" });
    await sweep(on);
    expect(rowOf(on, run)).toMatchObject({ endNotified: true, expiresAtSec: expect.any(Number) });
    expect((await on.world.table.alive({ limit: 9, after: null, now: on.clock.now() })).rows).toEqual([]);
  });
});
