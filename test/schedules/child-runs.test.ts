/** Child runs: what a dispatch, a creation and a report must hold against deaths, frozen processes and late answers. */
import { reservedBy } from "../../src/core/policy/spending.ts";
import { expect, test } from "vitest";
import { childEndId, childRunId } from "../../src/protocol/ids.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { deliver } from "../../src/engine/context/inbox.ts";
import { NOTHING_SPENT } from "../../src/core/policy/budget.ts";
import { inline } from "../../src/core/message.ts";
import { show, timeline } from "../../src/operations/views.ts";
import { household } from "../support/runs/parent-steps.ts";
import { neverSettles, flushPromises } from "../support/harness/harness.ts";
import { beforeCall, crashAfterCall, freezeBeforeCall, sweep } from "../support/harness/chain-steps.ts";
import { OVER, asks, boss, worker } from "../support/agents/workers.ts";

const eventsOf = async (house: Awaited<ReturnType<typeof household>>, run = house.run) =>
  (await timeline(house.harness.world, { run, after: 0 })) ?? [];

/** The attempt dies after the call; the chain hears nothing. */
async function dies(house: Awaited<ReturnType<typeof household>>, call: "createChildren" | "commit" | "request") {
  const { harness, agents, run } = house;
  const out = house.startAttempt(run);
  out.perform({ world: crashAfterCall(harness.world, call), agent: agents }).catch(() => undefined);
  await flushPromises();
  await flushPromises();
  out.end(null);
}

test("schedule 113: a child is made, and its boss dies; no child works that is not in the history", async () => {
  let replies = 0;
  // After a death the model would ask for something else.
  const changing = boss({ reply: ({ calls }) => (calls.length === 0 && (replies += 1) === 1 ? asks([0]) : OVER) });
  const house = await household([changing, worker()]);
  await dies(house, "createChildren");
  await house.playAll();
  const dispatched = (await eventsOf(house)).flatMap((each) => (each.kind === "ChildDispatched" ? [each.child] : []));
  expect(house.children().map(({ run }) => run)).toEqual(dispatched);
  expect((await show(house.harness.world, house.run))?.result).toMatchObject([{ outcome: "succeeded" }]);
});

test("schedule 114: a second child is dispatched while the first one may still spend; each has a grant of its own", async () => {
  const hung = worker({ effect: "none", reply: neverSettles });
  const room = await household([boss({ children: 1, budget: { beats: 12 }, child: { deadlineMs: 1_000 } }), hung]);
  for (let beat = 0; beat < 3; beat += 1) await room.runAttempt(room.run);
  expect(reservedBy(await room.state(room.run))).toEqual({ beats: 10 });
  const tight = await household([boss({ children: 1, budget: { beats: 9 }, child: { deadlineMs: 1_000 } }), hung]);
  for (let beat = 0; beat < 3; beat += 1) await tight.runAttempt(tight.run);
  expect(tight.children()).toHaveLength(1);
  expect(await eventsOf(tight)).toContainEqual(
    expect.objectContaining({ kind: "ToolResultRecorded", outcome: "failed", evidence: "the hand-off failed" }),
  );
});

test("schedule 115: a process freezes before it makes a child; the next one hears that it is missing; the first thaws", async () => {
  const busy = boss({
    child: { deadlineMs: 1_000, tries: 1 },
    reply: ({ calls }) =>
      calls.length === 0 ? asks([0]) : calls.length < 3 ? { calls: [{ tool: "act", args: {} }] } : OVER,
  });
  const house = await household([busy, worker()]);
  const { harness, agents, run } = house;
  const frozen = freezeBeforeCall(harness.world, "createChildren");
  const out = house.startAttempt(run);
  const late = out.perform({ world: frozen.world, agent: agents });
  await flushPromises();
  out.end(null);
  // Its successor cannot make it either, and gives it up at its deadline.
  harness.clock.moveTo(harness.clock.now() + 1_000);
  await house.runAttempt(run);
  expect((await eventsOf(house)).map(({ kind }) => kind)).toContain("ChildNeverMade");
  expect(harness.row(run).status).toBe("running");
  frozen.thaw();
  await harness.advanceUntilSettled(late);
  expect(house.children()).toEqual([]);
  await house.playAll();
  expect(harness.row(run)).toMatchObject({ status: "completed", endNotified: true });
});

test("schedule 116: children are made, and their boss is cancelled before they start; none of them works", async () => {
  const asked: number[] = [];
  const house = await household([boss(), worker({ onReply: (part) => asked.push(part) })]);
  await dies(house, "createChildren");
  expect(house.children()).toMatchObject([{ status: "queued" }, { status: "queued" }]);
  await sendRequest(house.harness.world, { run: house.run, want: "cancel" });
  await house.runAttempt(house.run);
  expect(house.harness.row(house.run).status).toBe("waiting");
  await sweep(house.harness.world);
  house.harness.clock.moveTo(house.harness.clock.now() + house.harness.world.limits.overdueMs);
  await sweep(house.harness.world);
  await house.playAll();
  expect(asked).toEqual([]);
  const all = [house.harness.row(house.run), ...house.children()];
  expect(all).toMatchObject([1, 2, 3].map(() => ({ status: "cancelled", endNotified: true })));
});

test("schedule 117: a child has reported and is gone; a process that finds it missing does not make it again", async () => {
  const house = await household([boss({ children: 1 }), worker()]);
  const { harness, agents, run } = house;
  await dies(house, "createChildren");
  const [child] = house.children();
  const out = house.startAttempt(run);
  // It has read its inbox when the child reports and is removed.
  const removing = beforeCall(harness.world, "createChildren", async () => {
    await sweepUntilStarted();
    await house.play(child?.run ?? "");
    house.remove({ run: child?.run ?? "" });
  });
  async function sweepUntilStarted(): Promise<void> {
    harness.clock.moveTo(harness.clock.now() + 1);
    await sweep(harness.world);
  }
  out.end(await harness.advanceUntilSettled(out.perform({ world: removing, agent: agents })));
  await house.playAll();
  expect(house.children()).toEqual([]);
  expect((await show(harness.world, run))?.result).toEqual([{ outcome: "succeeded", result: { memo: "part 0" } }]);
});

const NAMED = { tenant: "local", run: `local-${"a".repeat(26)}`, born: "b".repeat(10), attempt: 1, call: "c1", try: 1 };

test("schedule 118: a run begins again, and the child of its new attempt is another one", async () => {
  const { hash } = (await household([boss()])).harness.world;
  expect(childRunId(hash, { ...NAMED, attempt: 2 })).not.toBe(childRunId(hash, NAMED));
});

test("schedule 119: the next try, the next call and the next incarnation have children of their own", async () => {
  const { hash } = (await household([boss()])).harness.world;
  const changes = [{}, { born: "c".repeat(10) }, { call: "c2" }, { try: 2 }, { run: "local-other" }];
  const names = changes.map((change) => childRunId(hash, { ...NAMED, ...change }));
  expect(new Set(names).size).toBe(changes.length);
});

test("schedule 120: a child ends, and dies before it reports; its end is not delivered before its boss knows", async () => {
  const house = await household([boss({ children: 1 }), worker()]);
  const { harness, agents, run } = house;
  await house.runAttempt(run);
  const [child] = house.children();
  const name = child?.run ?? "";
  await house.runAttempt(name);
  if (!harness.row(name).endNotified) {
    const out = house.startAttempt(name);
    const world = crashAfterCall(harness.world, "commit", ({ unlessWoken }) => unlessWoken);
    out.perform({ world, agent: agents }).catch(() => undefined);
    await flushPromises();
    await flushPromises();
    out.end(null);
    expect(harness.row(name)).toMatchObject({ status: "completed", endNotified: false, expiresAtSec: null });
    harness.stopExecution(harness.row(name));
  }
  harness.clock.moveTo(harness.clock.now() + harness.world.limits.retentionMs);
  await sweep(harness.world);
  expect(harness.row(name).endNotified).toBe(true);
  await house.playAll();
  expect((await show(harness.world, run))?.result).toMatchObject([{ outcome: "succeeded" }]);
});

test("schedule 121: a child is made, and its boss dies before it starts it; the sweeper starts it", async () => {
  const house = await household([boss({ children: 1 }), worker()]);
  await dies(house, "createChildren");
  const [child] = house.children();
  const started = (): boolean =>
    [...house.harness.world.chain.executions.keys()].some((each) => each.startsWith(child?.run ?? "?"));
  expect(started()).toBe(false);
  await sweep(house.harness.world);
  expect(started()).toBe(true);
});

test("schedule 122: a report comes twice, and one of a child that no entry names; each child is counted once", async () => {
  const house = await household([boss({ children: 2 }), worker()]);
  const { harness, run } = house;
  await house.runAttempt(run);
  const [one] = house.children();
  await house.play(one?.run ?? "");
  const { born } = harness.row(run);
  const spent = { ...NOTHING_SPENT, beats: 9 };
  for (const [id, child] of [
    ["again", one?.run ?? ""],
    ["other", `local-${"z".repeat(26)}`],
  ] as const) {
    const body = { kind: "child", child, status: "completed", value: inline("late"), spent } as const;
    await deliver(harness.world, {
      run,
      born,
      message: { id: `${childEndId(child)} ${id}`, sentAt: harness.clock.now() + 1, body },
    });
  }
  await house.playAll();
  const [first, second] = house.children();
  const own = 2;
  expect(harness.row(run).spent.beats).toBe(own + (first?.spent.beats ?? 0) + (second?.spent.beats ?? 0));
});
