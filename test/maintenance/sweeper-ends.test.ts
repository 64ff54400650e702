/** Runs that no beat can end: the sweeper ends them once no lost process can act and every message is absorbed. */
import { describe, expect, test } from "vitest";
import type { World } from "../../src/ports/world.ts";
import { ledger, timeline, transcript } from "../../src/operations/views.ts";
import { send } from "../../src/operations/steer.ts";
import { between, dead } from "../support/deserted.ts";
import {
  OVERDUE_MS,
  type Room,
  change,
  close,
  isTold,
  nameOf,
  room,
  supervise,
  sweep,
  wait,
} from "../support/supervise.ts";
import { BEAT_MS, beforeCommit, rowOf } from "../support/stage.ts";

const words = (run: string, id = "w1") => ({ run, text: "take the train", by: "ann", id });
const events = async (on: Room, run: string) => (await timeline(on.world, { run, after: 0 })) ?? [];

describe("a run with too many process deaths", () => {
  const over = { deaths: 11 } as const;

  test("is handed over once more and ended: its inbox is absorbed and its open calls become unknown", async () => {
    const on = room();
    const { row, run } = await dead(on);
    change(on, row, over);
    await send(on.world, words(run));
    on.clock.moveTo(row.leaseUntil ?? 0);
    await sweep(on);
    expect(rowOf(on, run)).toMatchObject({
      ...over,
      status: "failed",
      phase: "Failed",
      chain: 2,
      epoch: 2,
      endNotified: true,
    });
    expect((await events(on, run)).map(({ kind }) => kind).slice(-4)).toEqual([
      ...["RecoveryDecided", "MessageAbsorbed", "ToolOutcomeUnknown", "RunEnded"],
    ]);
    expect((await events(on, run)).at(-1)).toMatchObject({ epoch: 2, failure: { code: "Abandoned" } });
    expect(await ledger(on.world, run)).toMatchObject([{ status: "unknown" }]);
    expect((await transcript(on.world, run))?.at(-1)).toMatchObject({ source: "user:ann" });
  });

  test("schedule 36: is left to the next sweep while a fenced process may still act", async () => {
    const on = room();
    const { row, run } = await dead(on);
    const effectsSettleAt = (row.leaseUntil ?? 0) + OVERDUE_MS;
    change(on, row, { ...over, effectsSettleAt });
    on.clock.moveTo(row.leaseUntil ?? 0);
    await sweep(on);
    expect(rowOf(on, run)).toMatchObject({ status: "running", chain: 2, owner: null });
    on.clock.moveTo(effectsSettleAt - 1);
    await sweep(on);
    expect(rowOf(on, run)).toMatchObject({ status: "running", version: row.version });
    on.clock.moveTo(effectsSettleAt);
    await sweep(on);
    expect(rowOf(on, run)).toMatchObject({ status: "failed", endNotified: true });
  });

  test("schedule 36: judges effectsSettleAt on the row after the hand-over, because a zombie may have claimed it meanwhile", async () => {
    const on = room();
    const { row, run, payload } = await dead(on);
    change(on, row, over);
    on.clock.moveTo(row.leaseUntil ?? 0);
    const handOver: World["table"]["handOver"] = async (of) => {
      const entry = { execution: nameOf(payload), epoch: 0, retry: 1 };
      // The zombie's clock is behind.
      const leaseUntil = on.clock.now() + BEAT_MS;
      await on.world.table.claim({ ...payload, entry, owner: "zombie", leaseUntil, now: on.clock.now() });
      return on.world.table.handOver({ ...of, now: leaseUntil });
    };
    await sweep(on, { ...on.world, table: { ...on.world.table, handOver } });
    expect(rowOf(on, run)).toMatchObject({ status: "running", owner: null, effectsSettleAt: on.clock.now() + BEAT_MS });
  });

  test("schedule 40: keeps its end when a zombie ended it meanwhile", async () => {
    const on = room();
    const { row, run } = await dead(on);
    change(on, row, over);
    on.clock.moveTo(row.leaseUntil ?? 0);
    const handOver: World["table"]["handOver"] = async (of) => {
      change(on, row, { status: "completed", phase: "Completed" });
      return on.world.table.handOver(of);
    };
    await sweep(on, { ...on.world, table: { ...on.world.table, handOver } });
    expect(rowOf(on, run)).toMatchObject({ status: "completed", chain: 1, version: row.version });
  });

  test("absorbs a message that arrives before its end is committed, and still ends", async () => {
    const on = room();
    const { row, run } = await dead(on);
    change(on, row, over);
    on.clock.moveTo(row.leaseUntil ?? 0);
    const world = beforeCommit(on, {
      when: ({ unlessWoken }) => unlessWoken,
      act: () => send(on.world, words(run)),
    });
    await sweep(on, world);
    expect(rowOf(on, run)).toMatchObject({ status: "failed", wakeCount: 1, wakeCountSeen: 1 });
    const taken = (await events(on, run)).filter(({ kind }) => kind === "MessageAbsorbed");
    expect(taken).toMatchObject([{ message: "user#w1" }]);
    expect((await events(on, run)).filter(({ kind }) => kind === "ToolOutcomeUnknown")).toHaveLength(1);
  });

  test("debits every model call before it ends", async () => {
    const on = room();
    const { row, run } = await between(on);
    close(on, row);
    change(on, row, over);
    wait(on);
    await sweep(on);
    expect(rowOf(on, run)).toMatchObject({ status: "failed", claims: 0, asks: 0, will: 0 });
  });
});

describe("a run past its deadline", () => {
  test("whose execution is gone ends as Expired exactly at its deadline", async () => {
    const on = room();
    const { row, run } = await dead(on);
    on.clock.moveTo(row.deadline - 1);
    await sweep(on);
    expect(rowOf(on, run)).toMatchObject({ status: "running", chain: 2 });
    on.clock.moveTo(row.deadline);
    await sweep(on);
    expect(rowOf(on, run)).toMatchObject({ status: "failed", chain: 3, endNotified: true });
    expect((await events(on, run)).at(-1)).toMatchObject({ failure: { code: "Expired" } });
  });

  test.each(["handed over", "ended"])(
    "goes on and absorbs a message that arrives right before it is %s",
    async (at) => {
      const on = room();
      const { row, run, agent } = await dead(on, "keyed");
      on.clock.moveTo(row.deadline);
      const act = () => send(on.world, words(run));
      const handOver: World["table"]["handOver"] = async (of) => {
        await act();
        return on.world.table.handOver(of);
      };
      const late = beforeCommit(on, { when: ({ unlessWoken }) => unlessWoken, act });
      await sweep(on, at === "ended" ? late : { ...on.world, table: { ...on.world.table, handOver } });
      expect(rowOf(on, run)).toMatchObject({ status: "running", version: row.version });
      wait(on);
      await sweep(on);
      expect(await supervise(on, { agent, run, until: isTold })).toMatchObject({ status: "completed" });
      expect(JSON.stringify(await transcript(on.world, run))).toContain("take the train");
    },
  );
});
