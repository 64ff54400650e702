/**
 * Parents and children: which runs are notified of an end, in which order, and what happens to those that remain.
 */
import { describe, expect, test } from "vitest";
import type { Agent } from "../../../src/ports/agent.ts";
import type { Payload } from "../../../src/protocol/chain.ts";
import { childEndId } from "../../../src/protocol/ids.ts";
import { FORMAT, type Incarnation } from "../../../src/protocol/row.ts";
import type { World } from "../../../src/ports/world.ts";
import { jsonOf } from "../../../src/history/load.ts";
import { timeline } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { crashAtCall, forEachCrashPoint } from "../../support/faults/crash-at-call.ts";
import { attemptBeat, drive, runnerOf } from "../../support/harness/drive.ts";
import { recordChildren, createIdleRun, inboxOf } from "../../support/runs/parent-and-children.ts";
import {
  FINAL_REPLY,
  scriptedAgent,
  beatReply,
  type Harness,
  createSupervisedHarness,
} from "../../support/harness/harness.ts";
import { withCalls } from "../../../src/testing/decisions.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { END_NOTIFICATION } from "../../../src/protocol/row-end-notification.ts";

/** Which writes of rows a process makes, and to which run. */
function noted(harness: Harness) {
  const calls: string[] = [];
  const { table, inbox } = harness.world;
  const names = new Map<string, string>();
  const note = (what: string, run: string): void => void calls.push(`${what} ${names.get(run) ?? "?"}`);
  const world: World = {
    ...harness.world,
    table: withCalls(table, {
      commit: (commit) => {
        note(commit.unlessWoken ? "end" : "commit", commit.run);
        return table.decide(commit, COMMIT);
      },
      request: (request) => {
        note(request.want, request.run);
        return table.request(request);
      },
      recordEndNotified: (end) => {
        note("told", end.run);
        return table.decide(end, END_NOTIFICATION);
      },
    }),
    inbox: {
      ...inbox,
      deliver: (delivery) => {
        note("tell the end to", delivery.run);
        return inbox.deliver(delivery);
      },
    },
  };
  return { calls, names, world };
}

/** A run with a parent and two children, which a person wants to end. */
async function threeGenerations(harness: Harness, agent: Agent = scriptedAgent({ reply: () => FINAL_REPLY })) {
  const boss = await createIdleRun(harness, { key: "boss" });
  const middle = await createIdleRun(harness, { key: "middle", parent: boss, agent });
  const [one, two] = [
    await createIdleRun(harness, { key: "one", parent: middle }),
    await createIdleRun(harness, { key: "two", parent: middle }),
  ];
  const payload = await recordChildren(harness, middle, [one.run, two.run]);
  return { boss, payload, run: middle.run, one, two, agent };
}

describe("the end of a run", () => {
  test("schedules 41 and 44: is delivered to its children, then to its parent, and then its time to live starts", async () => {
    const harness = createSupervisedHarness();
    const { boss, payload, run, one, two, agent } = await threeGenerations(harness);
    const { calls, names, world } = noted(harness);
    for (const [name, of] of Object.entries({ boss, run: payload, one, two })) names.set(of.run, name);
    await sendRequest(harness.world, { run, want: "cancel" });
    const runner = runnerOf(world, agent);
    const waiting = await drive(runner, payload);
    expect(waiting).toMatchObject({ route: "park" });
    expect(calls).toEqual(["commit run", "cancel one", "cancel two", "commit run"]);
    for (const child of [one, two]) expect(await drive(runner, child)).toMatchObject({ route: "done" });
    expect(calls.slice(4)).toEqual(
      ["one", "two"].flatMap((child) => [`end ${child}`, "tell the end to run", `told ${child}`]),
    );
    expect(await drive(runner, waiting)).toMatchObject({ route: "done" });
    expect(calls.slice(10)).toEqual(["end run", "tell the end to boss", "told run"]);
    expect(harness.row(run)).toMatchObject({ status: "cancelled", endNotified: true });
    expect([harness.row(one.run).cancel, harness.row(two.run).cancel]).toEqual([true, true]);
    expect(await inboxOf(harness, boss)).toMatchObject([
      { id: childEndId(run), body: { kind: "child", child: run, status: "cancelled", value: { json: null } } },
    ]);
  });

  test("as completed waits for its children, and leaves them alone", async () => {
    const harness = createSupervisedHarness();
    const { boss, payload, run, one, two, agent } = await threeGenerations(harness);
    const runner = runnerOf(harness.world, agent);
    const waiting = await drive(runner, payload);
    expect(waiting).toMatchObject({ route: "park" });
    expect(harness.row(one.run)).toMatchObject({ cancel: false, wakeCount: 0 });
    for (const child of [one, two]) await drive(runner, child);
    expect(await drive(runner, waiting)).toMatchObject({ route: "done" });
    expect(harness.row(run)).toMatchObject({ status: "completed", endNotified: true });
    expect(await inboxOf(harness, boss)).toMatchObject([{ body: { status: "completed", value: { json: "over" } } }]);
  });

  test("as failed sends the reason to its parent and cancels its children", async () => {
    const harness = createSupervisedHarness();
    const agent = scriptedAgent({ reply: () => ({}) });
    const { boss, payload, run, one, two } = await threeGenerations(harness, agent);
    const runner = runnerOf(harness.world, agent);
    const waiting = await drive(runner, payload);
    expect(harness.row(one.run).cancel).toBe(true);
    for (const child of [one, two]) await drive(runner, child);
    expect(await drive(runner, waiting)).toMatchObject({ route: "failed" });
    const failure = { code: "EmptyReply", message: expect.any(String) };
    expect(await inboxOf(harness, boss)).toMatchObject([{ body: { status: "failed", value: { json: failure } } }]);
    expect(harness.row(run).endNotified).toBe(true);
  });

  test("without parent or children is notified by its own commit", async () => {
    const harness = createSupervisedHarness();
    const agent = scriptedAgent({ reply: () => FINAL_REPLY });
    const payload = await createIdleRun(harness, { key: "alone", agent });
    const { calls, names, world } = noted(harness);
    names.set(payload.run, "run");
    await drive(runnerOf(world, agent), payload);
    expect(calls).toEqual(["end run"]);
    const { endNotified, expiresAtSec } = harness.row(payload.run);
    const { retentionMs } = harness.world.limits;
    expect({ endNotified, expiresAtSec }).toEqual({
      endNotified: true,
      expiresAtSec: Math.ceil((harness.clock.now() + retentionMs) / 1_000),
    });
  });

  test("that absorbs messages of its children is notified when their messages are deleted", async () => {
    const harness = createSupervisedHarness();
    const agent = scriptedAgent({ reply: () => FINAL_REPLY });
    const boss = await createIdleRun(harness, { key: "boss", agent });
    const child = await createIdleRun(harness, { key: "child", parent: boss, agent });
    const payload = await recordChildren(harness, boss, [child.run]);
    await drive(runnerOf(harness.world, agent), child);
    const { calls, names, world } = noted(harness);
    names.set(boss.run, "boss");
    await drive(runnerOf(world, agent), payload);
    expect(calls).toEqual(["end boss", "told boss"]);
  });
});

test("a crash at any moment of the end is recovered by the retry or the sweeper, and each notification arrives once", async () => {
  const crashes = await forEachCrashPoint(async (crash) => {
    const harness = createSupervisedHarness();
    const { boss, payload, run, one, two, agent } = await threeGenerations(harness);
    await sendRequest(harness.world, { run, want: "cancel" });
    const isAlive = await crashAtCall(harness.world, crash).survives((world) =>
      attemptBeat(runnerOf(world, agent), payload),
    );
    harness.clock.moveTo(harness.clock.now() + 10_000);
    const runner = runnerOf(harness.world, agent);
    await attemptBeat(runner, payload, 1);
    for (const child of [one, two]) await drive(runner, child);
    const last = { ...payload, epoch: harness.row(run).epoch };
    // It dies once more where it ends.
    await crashAtCall(harness.world, crash).survives((world) => attemptBeat(runnerOf(world, agent), last));
    harness.clock.moveTo(harness.clock.now() + 10_000);
    // Every second time no process tries again, and only a sweeper comes by.
    const byRetry = crash.at % 2 === 0;
    if (byRetry || harness.row(run).status !== "cancelled") await attemptBeat(runner, last, 1);
    await harness.sweep();
    expect(harness.row(run)).toMatchObject({ status: "cancelled", endNotified: true });
    expect((await inboxOf(harness, boss)).map(({ id }) => id)).toEqual([childEndId(run)]);
    expect([harness.row(one.run).cancel, harness.row(two.run).cancel]).toEqual([true, true]);
    return isAlive;
  });
  expect(crashes).toBeGreaterThan(20);
});

describe("a parent", () => {
  async function childOf(harness: Harness) {
    const agent = scriptedAgent({ reply: () => FINAL_REPLY });
    const boss = await createIdleRun(harness, { key: "boss" });
    return { agent, boss, payload: await createIdleRun(harness, { key: "child", parent: boss, agent }) };
  }

  test("that has ended gets no message, and its child's end is notified nevertheless", async () => {
    const harness = createSupervisedHarness();
    const child = await childOf(harness);
    // It was not over when the child began.
    const ended = beforeNotification(harness, () =>
      harness.changeRow(child.boss, { status: "failed", phase: "Failed" }),
    );
    await drive(runnerOf(ended, child.agent), child.payload);
    expect(harness.row(child.payload.run)).toMatchObject({ status: "completed", endNotified: true });
    expect(await inboxOf(harness, child.boss)).toEqual([]);
  });

  test("schedule 19: that expired gets no message, even if its key started another run since", async () => {
    const harness = createSupervisedHarness();
    const child = await childOf(harness);
    const other = { run: child.boss.run, born: "zzzzzzzzzz" };
    const gone = beforeNotification(harness, () => harness.changeRow(child.boss, { born: other.born }));
    await drive(runnerOf(gone, child.agent), child.payload);
    expect(harness.row(child.payload.run)).toMatchObject({ status: "completed", endNotified: true });
    expect({ inbox: await inboxOf(harness, other), wakeCount: harness.row(other.run).wakeCount }).toEqual({
      inbox: [],
      wakeCount: 0,
    });
  });

  test("that cannot be read gets the message when it can be read", async () => {
    const harness = createSupervisedHarness();
    const child = await childOf(harness);
    const newer = beforeNotification(harness, () => harness.changeRow(child.boss, { format: FORMAT + 1 }));
    await drive(runnerOf(newer, child.agent), child.payload);
    expect(harness.row(child.payload.run)).toMatchObject({
      status: "completed",
      endNotified: false,
      expiresAtSec: null,
    });
    await harness.sweep();
    expect(harness.row(child.payload.run).endNotified).toBe(false);
    harness.changeRow(child.boss, { format: FORMAT });
    await harness.sweep();
    expect(harness.row(child.payload.run).endNotified).toBe(true);
    expect(await inboxOf(harness, child.boss)).toMatchObject([{ id: childEndId(child.payload.run) }]);
  });

  test("of a child with a large result finds the result under its own prefix", async () => {
    const harness = createSupervisedHarness();
    const text = "a long story ".repeat(2_000);
    const child = await childOf(harness);
    const agent = scriptedAgent({ reply: () => ({ text }) });
    expect(await drive(runnerOf(harness.world, agent), child.payload)).toMatchObject({ route: "done" });
    const [letter] = await inboxOf(harness, child.boss);
    if (letter?.body.kind !== "child") throw new Error("no letter");
    const { value } = letter.body;
    expect(value.kind).toBe("blob");
    expect(JSON.stringify(value).length).toBeLessThan(4_096);
    expect(await jsonOf(harness.world.objects, child.boss, value)).toBe(text);
    const keys = [...harness.world.store.objects.keys()].filter((key) => key.includes("/blobs/"));
    expect(keys.filter((key) => key.includes(child.boss.born))).toHaveLength(1);
    expect(keys.filter((key) => key.includes(child.payload.born))).toHaveLength(1);
  });
});

/** Something happens right before the end of a run is told to others. */
function beforeNotification(harness: Harness, act: () => void): World {
  const deliver: World["inbox"]["deliver"] = (delivery) => {
    act();
    return harness.world.inbox.deliver(delivery);
  };
  return { ...harness.world, inbox: { ...harness.world.inbox, deliver } };
}

describe("a child", () => {
  test("schedule 44: that cannot be read is cancelled when it can be, and its parent is kept until then", async () => {
    const harness = createSupervisedHarness();
    const { payload, run, one, two, agent } = await threeGenerations(harness);
    harness.changeRow(one, { format: FORMAT + 1 });
    await sendRequest(harness.world, { run, want: "cancel" });
    const runner = runnerOf(harness.world, agent);
    const waiting = await drive(runner, payload);
    expect(harness.row(run)).toMatchObject({ status: "running", endNotified: false });
    expect([harness.row(one.run).cancel, harness.row(two.run).cancel]).toEqual([false, true]);
    harness.changeRow(one, { format: FORMAT });
    const again = await drive(runner, waiting);
    expect(harness.row(one.run).cancel).toBe(true);
    for (const child of [one, two]) await drive(runner, child);
    await drive(runner, again);
    expect(harness.row(run)).toMatchObject({ status: "cancelled", endNotified: true });
  });

  test("that is removed, or was never created, does not prevent the notification of others", async () => {
    const harness = createSupervisedHarness();
    const agent = scriptedAgent({ reply: () => FINAL_REPLY });
    const boss = await createIdleRun(harness, { key: "boss", agent });
    const payload = await recordChildren(harness, boss, [`local-${"z".repeat(26)}`]);
    await sendRequest(harness.world, { run: boss.run, want: "cancel" });
    expect(await beatReply(attemptBeat(runnerOf(harness.world, agent), payload))).toMatchObject({ route: "done" });
    expect(harness.row(boss.run).endNotified).toBe(true);
  });

  test("whose result cannot be read raises an alarm, and its end stays unnotified", async () => {
    const harness = createSupervisedHarness();
    const boss = await createIdleRun(harness, { key: "boss" });
    const agent = scriptedAgent({ reply: () => ({ text: "a long story ".repeat(2_000) }) });
    const payload = await createIdleRun(harness, { key: "child", parent: boss, agent });
    const get: World["objects"]["get"] = (key) =>
      key.includes("/blobs/") ? Promise.resolve(null) : harness.world.objects.get(key);
    await drive(runnerOf({ ...harness.world, objects: { ...harness.world.objects, get } }, agent), payload);
    expect(harness.row(payload.run)).toMatchObject({ status: "completed", endNotified: false });
    expect(harness.alarms).toMatchObject([
      { what: "Unreadable", detail: { why: expect.stringContaining("is missing") } },
    ]);
    await harness.sweep();
    expect(harness.row(payload.run).endNotified).toBe(true);
    expect(await inboxOf(harness, boss)).toHaveLength(1);
  });
});

describe("an orphan", () => {
  const ends: readonly (readonly [string, (harness: Harness, boss: Payload) => void])[] = [
    ["has ended", (harness, boss) => harness.changeRow(boss, { status: "completed", phase: "Completed" })],
    [
      "has expired",
      (harness, boss) => harness.changeRow(boss, { status: "failed", endNotified: true, expiresAtSec: 1 }),
    ],
    ["was made again under the same name", (harness, boss) => harness.changeRow(boss, { born: "zzzzzzzzzz" })],
    ["was deleted", (harness, boss) => void harness.world.store.rows.delete(boss.run)],
  ];

  test.each(ends)("whose parent %s ends as cancelled without a model or tool call", async (_, end) => {
    const harness = createSupervisedHarness();
    const called: string[] = [];
    const reply = () => {
      called.push("model");
      return FINAL_REPLY;
    };
    const agent = scriptedAgent({ reply, run: () => called.push("tool") });
    const boss: Payload & Incarnation = await createIdleRun(harness, { key: "boss" });
    const payload = await createIdleRun(harness, { key: "child", parent: boss, agent });
    end(harness, boss);
    const absent = {
      ...runnerOf(harness.world, agent),
      agentOf: async () => ({ kind: "absent", why: "gone" }) as const,
    };
    expect(await beatReply(attemptBeat(absent, payload))).toMatchObject({ route: "done" });
    expect(called).toEqual([]);
    expect(harness.row(payload.run)).toMatchObject({ status: "cancelled", endNotified: true });
    const events = (await timeline(harness.world, { run: payload.run, after: 0 })) ?? [];
    expect(events).toMatchObject([{ kind: "RecoveryDecided", rule: "parent has ended" }, { kind: "RunEnded" }]);
  });

  test("is no orphan while its parent continues", async () => {
    const harness = createSupervisedHarness();
    const agent = scriptedAgent({ reply: () => FINAL_REPLY });
    const boss = await createIdleRun(harness, { key: "boss" });
    const payload = await createIdleRun(harness, { key: "child", parent: boss, agent });
    expect(await drive(runnerOf(harness.world, agent), payload)).toMatchObject({ route: "done" });
    expect(harness.row(payload.run).status).toBe("completed");
  });
});
