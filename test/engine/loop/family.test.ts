/** Parents and children: who is told of an end, in which order, and what becomes of whoever is left behind. */
import { describe, expect, test } from "vitest";
import type { Agent } from "../../../src/ports/agent.ts";
import type { Payload } from "../../../src/protocol/chain.ts";
import { childEndId } from "../../../src/protocol/ids.ts";
import { FORMAT, type Incarnation } from "../../../src/protocol/row.ts";
import type { World } from "../../../src/ports/world.ts";
import { jsonOf } from "../../../src/history/load.ts";
import { timeline } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { dying, everyCrash } from "../../support/crashing.ts";
import { attempt, drive, runnerOf } from "../../support/drive.ts";
import { adopts, born, letters } from "../../support/family.ts";
import { type Room, change, room, sweep } from "../../support/supervise.ts";
import { OVER, actor, replyOf, rowOf } from "../../support/stage.ts";

/** Which writes of rows somebody makes, and to whom. */
function noted(on: Room) {
  const calls: string[] = [];
  const { table } = on.world;
  const names = new Map<string, string>();
  const note = (what: string, run: string): void => void calls.push(`${what} ${names.get(run) ?? "?"}`);
  const world: World = {
    ...on.world,
    table: {
      ...table,
      commit: (of) => {
        note(of.unlessWoken ? "end" : "commit", of.run);
        return table.commit(of);
      },
      request: (of) => {
        note(of.want, of.run);
        return table.request(of);
      },
      deliver: (of) => {
        note("tell the end to", of.run);
        return table.deliver(of);
      },
      recordEndNotified: (of) => {
        note("told", of.run);
        return table.recordEndNotified(of);
      },
    },
  };
  return { calls, names, world };
}

/** A run with a parent and two children, which a person wants to end. */
async function threeGenerations(on: Room, agent: Agent = actor({ reply: () => OVER })) {
  const boss = await born(on, { key: "boss" });
  const middle = await born(on, { key: "middle", parent: boss, agent });
  const [one, two] = [await born(on, { key: "one", parent: middle }), await born(on, { key: "two", parent: middle })];
  const payload = await adopts(on, middle, [one.run, two.run]);
  return { boss, payload, run: middle.run, one, two, agent };
}

describe("the end of a run", () => {
  test("schedules 41 and 44: goes to its children, then to its parent, and then its time to live starts", async () => {
    const on = room();
    const { boss, payload, run, one, two, agent } = await threeGenerations(on);
    const { calls, names, world } = noted(on);
    for (const [name, of] of Object.entries({ boss, run: payload, one, two })) names.set(of.run, name);
    await sendRequest(on.world, { run, want: "cancel" });
    expect(await replyOf(attempt(runnerOf(world, agent), payload))).toMatchObject({ route: "done" });
    expect(calls).toEqual(["end run", "cancel one", "cancel two", "tell the end to boss", "told run"]);
    expect(rowOf(on, run)).toMatchObject({ status: "cancelled", endNotified: true });
    expect([rowOf(on, one.run).cancel, rowOf(on, two.run).cancel]).toEqual([true, true]);
    expect(await letters(on, boss)).toMatchObject([
      { id: childEndId(run), body: { kind: "child", child: run, status: "cancelled", value: { json: null } } },
    ]);
  });

  test("as completed leaves its children alone", async () => {
    const on = room();
    const { boss, payload, run, one, agent } = await threeGenerations(on);
    expect(await drive(runnerOf(on.world, agent), payload)).toMatchObject({ route: "done" });
    expect(rowOf(on, run)).toMatchObject({ status: "completed", endNotified: true });
    expect(rowOf(on, one.run)).toMatchObject({ cancel: false, wakeCount: 0 });
    expect(await letters(on, boss)).toMatchObject([{ body: { status: "completed", value: { json: "over" } } }]);
  });

  test("as failed says why to its parent, and stops its children", async () => {
    const on = room();
    const agent = actor({ reply: () => ({}) });
    const { boss, payload, run, one } = await threeGenerations(on, agent);
    expect(await drive(runnerOf(on.world, agent), payload)).toMatchObject({ route: "failed" });
    const failure = { code: "EmptyReply", message: expect.any(String) };
    expect(await letters(on, boss)).toMatchObject([{ body: { status: "failed", value: { json: failure } } }]);
    expect(rowOf(on, one.run).cancel).toBe(true);
    expect(rowOf(on, run).endNotified).toBe(true);
  });

  test("with nobody to tell is told by its own commit, and by nothing else", async () => {
    const on = room();
    const agent = actor({ reply: () => OVER });
    const payload = await born(on, { key: "alone", agent });
    const { calls, names, world } = noted(on);
    names.set(payload.run, "run");
    await drive(runnerOf(world, agent), payload);
    expect(calls).toEqual(["end run"]);
    const { endNotified, expiresAtSec } = rowOf(on, payload.run);
    const { retentionMs } = on.world.limits;
    expect([endNotified, expiresAtSec]).toEqual([true, Math.ceil((on.clock.now() + retentionMs) / 1_000)]);
  });

  test("that takes in what its children said is told when their messages are deleted", async () => {
    const on = room();
    const agent = actor({ reply: () => OVER });
    const boss = await born(on, { key: "boss", agent });
    const child = await born(on, { key: "child", parent: boss, agent });
    const payload = await adopts(on, boss, [child.run]);
    await drive(runnerOf(on.world, agent), child);
    const { calls, names, world } = noted(on);
    names.set(boss.run, "boss");
    await drive(runnerOf(world, agent), payload);
    expect(calls).toEqual(["end boss", "told boss"]);
  });
});

test("a crash at any moment of the end is mended by the retry or by the sweeper; everybody is told once", async () => {
  const crashes = await everyCrash(async (crash) => {
    const on = room();
    const { boss, payload, run, one, two, agent } = await threeGenerations(on);
    await sendRequest(on.world, { run, want: "cancel" });
    const isAlive = await dying(on.world, crash).survives((world) => attempt(runnerOf(world, agent), payload));
    on.clock.moveTo(on.clock.now() + 10_000);
    // Every second time nobody tries again, and only a sweeper comes by.
    const byRetry = crash.at % 2 === 0;
    if (byRetry || rowOf(on, run).status !== "cancelled") await attempt(runnerOf(on.world, agent), payload, 1);
    await sweep(on);
    expect(rowOf(on, run)).toMatchObject({ status: "cancelled", endNotified: true });
    expect((await letters(on, boss)).map(({ id }) => id)).toEqual([childEndId(run)]);
    expect([rowOf(on, one.run).cancel, rowOf(on, two.run).cancel]).toEqual([true, true]);
    return isAlive;
  });
  expect(crashes).toBeGreaterThan(20);
});

describe("a parent", () => {
  async function childOf(on: Room) {
    const agent = actor({ reply: () => OVER });
    const boss = await born(on, { key: "boss" });
    return { agent, boss, payload: await born(on, { key: "child", parent: boss, agent }) };
  }

  test("that has ended is told nothing, and its child is told all the same", async () => {
    const on = room();
    const child = await childOf(on);
    // It was not over when the child began.
    const ended = beforeTelling(on, () => change(on, child.boss, { status: "failed", phase: "Failed" }));
    await drive(runnerOf(ended, child.agent), child.payload);
    expect(rowOf(on, child.payload.run)).toMatchObject({ status: "completed", endNotified: true });
    expect(await letters(on, child.boss)).toEqual([]);
  });

  test("schedule 19: that expired, also if its key made another one since, is told nothing", async () => {
    const on = room();
    const child = await childOf(on);
    const other = { run: child.boss.run, born: "zzzzzzzzzz" };
    const gone = beforeTelling(on, () => change(on, child.boss, { born: other.born }));
    await drive(runnerOf(gone, child.agent), child.payload);
    expect(rowOf(on, child.payload.run)).toMatchObject({ status: "completed", endNotified: true });
    expect([await letters(on, other), rowOf(on, other.run).wakeCount]).toEqual([[], 0]);
  });

  test("that cannot be read now hears of it when it can", async () => {
    const on = room();
    const child = await childOf(on);
    const newer = beforeTelling(on, () => change(on, child.boss, { format: FORMAT + 1 }));
    await drive(runnerOf(newer, child.agent), child.payload);
    expect(rowOf(on, child.payload.run)).toMatchObject({ status: "completed", endNotified: false, expiresAtSec: null });
    await sweep(on);
    expect(rowOf(on, child.payload.run).endNotified).toBe(false);
    change(on, child.boss, { format: FORMAT });
    await sweep(on);
    expect(rowOf(on, child.payload.run).endNotified).toBe(true);
    expect(await letters(on, child.boss)).toMatchObject([{ id: childEndId(child.payload.run) }]);
  });

  test("of a child whose result is large finds it under its own prefix", async () => {
    const on = room();
    const text = "a long story ".repeat(2_000);
    const child = await childOf(on);
    const agent = actor({ reply: () => ({ text }) });
    expect(await drive(runnerOf(on.world, agent), child.payload)).toMatchObject({ route: "done" });
    const [letter] = await letters(on, child.boss);
    if (letter?.body.kind !== "child") throw new Error("no letter");
    const { value } = letter.body;
    expect(value.kind).toBe("blob");
    expect(JSON.stringify(value).length).toBeLessThan(4_096);
    expect(await jsonOf(on.world.objects, child.boss, value)).toBe(text);
    const keys = [...on.world.store.objects.keys()].filter((key) => key.includes("/blobs/"));
    expect(keys.filter((key) => key.includes(child.boss.born))).toHaveLength(1);
    expect(keys.filter((key) => key.includes(child.payload.born))).toHaveLength(1);
  });
});

/** Something happens right before the end of a run is told to others. */
function beforeTelling(on: Room, act: () => void): World {
  const deliver: World["table"]["deliver"] = (of) => {
    act();
    return on.world.table.deliver(of);
  };
  return { ...on.world, table: { ...on.world.table, deliver } };
}

describe("a child", () => {
  test("schedule 44: that cannot be read now is asked to stop as soon as it can, and its parent is not forgotten before", async () => {
    const on = room();
    const { payload, run, one, two, agent } = await threeGenerations(on);
    change(on, one, { format: FORMAT + 1 });
    await sendRequest(on.world, { run, want: "cancel" });
    await attempt(runnerOf(on.world, agent), payload);
    expect(rowOf(on, run)).toMatchObject({ status: "cancelled", endNotified: false, expiresAtSec: null });
    expect([rowOf(on, one.run).cancel, rowOf(on, two.run).cancel]).toEqual([false, true]);
    change(on, one, { format: FORMAT });
    await sweep(on);
    expect([rowOf(on, one.run).cancel, rowOf(on, run).endNotified]).toEqual([true, true]);
  });

  test("that is gone, or was never made, keeps nobody from being told", async () => {
    const on = room();
    const agent = actor({ reply: () => OVER });
    const boss = await born(on, { key: "boss", agent });
    const payload = await adopts(on, boss, [`local-${"z".repeat(26)}`]);
    await sendRequest(on.world, { run: boss.run, want: "cancel" });
    expect(await replyOf(attempt(runnerOf(on.world, agent), payload))).toMatchObject({ route: "done" });
    expect(rowOf(on, boss.run).endNotified).toBe(true);
  });

  test("whose result cannot be read raises an alarm, and its end stays untold", async () => {
    const on = room();
    const boss = await born(on, { key: "boss" });
    const agent = actor({ reply: () => ({ text: "a long story ".repeat(2_000) }) });
    const payload = await born(on, { key: "child", parent: boss, agent });
    const get: World["objects"]["get"] = (key) =>
      key.includes("/blobs/") ? Promise.resolve(null) : on.world.objects.get(key);
    await drive(runnerOf({ ...on.world, objects: { ...on.world.objects, get } }, agent), payload);
    expect(rowOf(on, payload.run)).toMatchObject({ status: "completed", endNotified: false });
    expect(on.alarms).toMatchObject([{ what: "Unreadable", detail: { why: expect.stringContaining("is missing") } }]);
    await sweep(on);
    expect(rowOf(on, payload.run).endNotified).toBe(true);
    expect(await letters(on, boss)).toHaveLength(1);
  });
});

describe("an orphan", () => {
  const ends: readonly (readonly [string, (on: Room, boss: Payload) => void])[] = [
    ["has ended", (on, boss) => change(on, boss, { status: "completed", phase: "Completed" })],
    ["has expired", (on, boss) => change(on, boss, { status: "failed", endNotified: true, expiresAtSec: 1 })],
    ["was made again under the same name", (on, boss) => change(on, boss, { born: "zzzzzzzzzz" })],
    ["was deleted", (on, boss) => void on.world.store.rows.delete(boss.run)],
  ];

  test.each(ends)("whose parent %s ends as cancelled; its model and its tools are never called", async (_, end) => {
    const on = room();
    const called: string[] = [];
    const reply = () => {
      called.push("model");
      return OVER;
    };
    const agent = actor({ reply, run: () => called.push("tool") });
    const boss: Payload & Incarnation = await born(on, { key: "boss" });
    const payload = await born(on, { key: "child", parent: boss, agent });
    end(on, boss);
    const absent = { ...runnerOf(on.world, agent), agentOf: async () => ({ kind: "absent", why: "gone" }) as const };
    expect(await replyOf(attempt(absent, payload))).toMatchObject({ route: "done" });
    expect(called).toEqual([]);
    expect(rowOf(on, payload.run)).toMatchObject({ status: "cancelled", endNotified: true });
    const events = (await timeline(on.world, { run: payload.run, after: 0 })) ?? [];
    expect(events).toMatchObject([{ kind: "RecoveryDecided", rule: "parent has ended" }, { kind: "RunEnded" }]);
  });

  test("is none as long as its parent goes on", async () => {
    const on = room();
    const agent = actor({ reply: () => OVER });
    const boss = await born(on, { key: "boss" });
    const payload = await born(on, { key: "child", parent: boss, agent });
    expect(await drive(runnerOf(on.world, agent), payload)).toMatchObject({ route: "done" });
    expect(rowOf(on, payload.run).status).toBe("completed");
  });
});
