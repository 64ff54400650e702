/** The ends of runs with children: what waits for what, what is charged, and whose answer counts. */
import { reservedBy } from "../../src/core/policy/spending.ts";
import { expect, test } from "vitest";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { requestCompensation } from "../../src/operations/compensate.ts";
import { purge } from "../../src/operations/purge.ts";
import { show, timeline } from "../../src/operations/views.ts";
import type { World } from "../../src/ports/world.ts";
import { household } from "../support/runs/parent-steps.ts";
import { neverSettles, flushPromises } from "../support/harness/harness.ts";
import { crashAfterCall, sweep, withTakeovers, wrapTableCall } from "../support/harness/chain-steps.ts";
import { assertSafety } from "../support/gate/safety.ts";
import type { Operations } from "../support/harness/ports.ts";
import { OVER, boss, worker } from "../support/agents/workers.ts";

type House = Awaited<ReturnType<typeof household>>;

const kindsOf = async (house: House, run = house.run): Promise<readonly string[]> =>
  ((await timeline(house.harness.world, { run, after: 0 })) ?? []).map(({ kind }) => kind);

/** A worker whose first model call never returns, while it is the only one. */
function slowFirst() {
  const state = { asked: 0 };
  return worker({
    effect: "none",
    reply: () => ((state.asked += 1) === 1 ? neverSettles() : OVER),
    result: () => ({ memo: "second" }),
  });
}

/** Runs `act` once, right before that call of the table whose argument fits. */
function before(
  world: World,
  call: keyof Operations,
  of: { readonly when: (asked: never) => boolean; readonly act: () => Promise<unknown> },
): World {
  let isDone = false;
  return wrapTableCall(world, call, (made) => {
    const instead = async (asked: never): Promise<unknown> => {
      if (!isDone && of.when(asked)) {
        isDone = true;
        await of.act();
      }
      return (made as (asked: never) => Promise<unknown>)(asked);
    };
    return instead as typeof made;
  });
}

test("schedule 123: a child answers after another one took its place; the answer is not taken, its cost is", async () => {
  const memos = ["late", "second"];
  const answering = worker({ effect: "none", result: () => ({ memo: memos.shift() }) });
  const house = await household([boss({ children: 1, child: { deadlineMs: 1_000 } }), answering]);
  const { harness, run } = house;
  await house.runAttempt(run);
  await house.runAttempt(run);
  const [first] = house.children();
  harness.clock.moveTo(harness.clock.now() + 1_000);
  // It ends after the commit that supersedes it, and before it is asked to stop.
  const late = before(harness.world, "request", {
    when: ({ run: asked }: { readonly run: string }) => asked === first?.run,
    act: () => house.play(first?.run ?? ""),
  });
  await house.runAttempt(run, late);
  await house.playAll();
  expect(house.children().map(({ status }) => status)).toEqual(["completed", "completed"]);
  const total = house.children().reduce((sum, { spent }) => sum + spent.beats, 2);
  expect(harness.row(run)).toMatchObject({ status: "completed", spent: { beats: total } });
  expect((await show(harness.world, run))?.result).toEqual([{ outcome: "succeeded", result: { memo: "second" } }]);
});

test("schedule 124: a boss is done while a child that was too late still works; its end waits for that child", async () => {
  const house = await household([boss({ children: 1, child: { deadlineMs: 1_000, tries: 1 } }), slowFirst()]);
  const { harness, run } = house;
  await house.runAttempt(run);
  const [child] = house.children();
  for (let beat = 0; beat < 3; beat += 1) await house.runAttempt(run);
  expect(await kindsOf(house)).toContain("ChildSuperseded");
  expect(harness.row(run)).toMatchObject({ phase: "Reflecting", owner: null });
  expect(harness.row(child?.run ?? "")).toMatchObject({ cancel: true });
  await house.playAll();
  expect(harness.row(child?.run ?? "").status).toBe("cancelled");
  expect(harness.row(run)).toMatchObject({ status: "completed", endNotified: true });
  expect(await house.state(run)).toMatchObject({ children: [] });
});

test("schedule 125: a child is asked to stop, and its boss dies; the end was decided before", async () => {
  const house = await household([boss(), worker()]);
  const { harness, agents, run } = house;
  await house.runAttempt(run);
  await house.runAttempt(run);
  await sendRequest(harness.world, { run, want: "cancel" });
  const out = house.startAttempt(run);
  out.perform({ world: crashAfterCall(harness.world, "request"), agent: agents }).catch(() => undefined);
  await flushPromises();
  await flushPromises();
  expect(house.children().filter(({ cancel }) => cancel)).toHaveLength(1);
  expect((await house.state(run)).ending).toEqual({ kind: "cancelled" });
  out.end(null);
  await house.playAll();
  expect([harness.row(run), ...house.children()]).toMatchObject([1, 2, 3].map(() => ({ status: "cancelled" })));
});

test("schedule 126: the inbox is read, a child reports and is removed, and then it is missing; its cost is counted", async () => {
  const house = await household([boss({ children: 1 }), worker()]);
  const { harness, agents, run } = house;
  await house.runAttempt(run);
  await house.runAttempt(run);
  const [child] = house.children();
  const name = child?.run ?? "";
  await sendRequest(harness.world, { run, want: "cancel" });
  let spent = 0;
  const removing = before(harness.world, "read", {
    when: (asked: string) => asked === name,
    act: async () => {
      await house.play(name);
      spent = harness.row(name).spent.beats;
      house.remove({ run: name });
    },
  });
  await house.runAttempt(run, removing);
  await { ...house, agents }.playAll();
  expect(spent).toBeGreaterThan(0);
  expect(await kindsOf(house)).not.toContain("ChildNeverMade");
  expect(harness.row(run)).toMatchObject({ status: "cancelled", spent: { beats: 1 + spent } });
});

/** A boss whose processes die while a child is out, until it is given up. */
async function crashing(): Promise<House & { readonly child: string }> {
  const house = await household([withTakeovers(boss({ children: 1 }), 1), worker()]);
  await house.runAttempt(house.run);
  await house.runAttempt(house.run);
  await house.crashTwice(house.run);
  return { ...house, child: house.children()[0]?.run ?? "" };
}

test("schedule 127: a boss ends in a crash loop while a child is out; what is reserved for it counts as spent", async () => {
  const house = await crashing();
  await house.runAttempt(house.run);
  const row = house.harness.row(house.run);
  expect(row).toMatchObject({ status: "failed" });
  expect(row.spent.beats).toBe(1 + 5);
});

test("schedule 128: a boss ends without its child; it is not delivered or purged before the child has stopped", async () => {
  const house = await crashing();
  const { harness, run, child } = house;
  await house.runAttempt(run);
  expect(harness.row(child)).toMatchObject({ cancel: true });
  expect(harness.row(run)).toMatchObject({ status: "failed", endNotified: false, expiresAtSec: null });
  expect(await purge(harness.world, run)).toMatchObject({ kind: "live" });
  await house.play(child);
  expect(harness.row(child).status).toBe("cancelled");
  await sweep(harness.world);
  expect(harness.row(run).endNotified).toBe(true);
  expect(await purge(harness.world, run)).toMatchObject({ kind: "purged" });
});

test("schedule 129: a child is too late by the clock, and its answer comes before that is committed; the answer counts", async () => {
  const house = await household([boss({ children: 1, child: { deadlineMs: 1_000 } }), worker()]);
  const { harness, run } = house;
  await house.runAttempt(run);
  await house.runAttempt(run);
  const [child] = house.children();
  const answering = before(harness.world, "commit", {
    when: ({ run: of, unlessWoken }: { run: string; unlessWoken: boolean }) => of === run && unlessWoken,
    act: () => house.play(child?.run ?? ""),
  });
  harness.clock.moveTo(harness.clock.now() + 1_000);
  const out = house.startAttempt(run);
  out.end(await harness.advanceUntilSettled(out.perform({ world: answering, agent: house.agents })));
  await house.playAll();
  const kinds = await kindsOf(house);
  expect(kinds).not.toContain("ChildSuperseded");
  expect(kinds).not.toContain("ChildContinued");
  expect(house.children()).toHaveLength(1);
  expect((await show(harness.world, run))?.result).toMatchObject([{ outcome: "succeeded" }]);
});

test("schedule 130: a child is given up and still spends; what is reserved for it is not free before it reports", async () => {
  const agents = [boss({ children: 1, child: { deadlineMs: 1_000, tries: 1 } }), slowFirst()];
  const house = await household(agents);
  await house.runAttempt(house.run);
  for (let beat = 0; beat < 3; beat += 1) await house.runAttempt(house.run);
  const state = await house.state(house.run);
  expect(state.children).toMatchObject([{ superseded: true, askedToStop: true }]);
  expect(reservedBy(state)).toEqual({ beats: 5 });
  await house.playAll();
  expect(reservedBy(await house.state(house.run))).toEqual({});
});

test("schedule 131: a child that is left alone ends and is removed before its boss knows that it was made; it is made once", async () => {
  const asked: number[] = [];
  const alone = boss({ children: 1, child: { wait: false } });
  const house = await household([alone, worker({ onReply: (part) => asked.push(part) })]);
  const { harness, agents, run } = house;
  const out = house.startAttempt(run);
  out.perform({ world: crashAfterCall(harness.world, "createChildren"), agent: agents }).catch(() => undefined);
  await flushPromises();
  await flushPromises();
  const child = [...harness.world.store.rows.values()].find((row) => row.run !== run);
  await sweep(harness.world);
  await house.play(child?.run ?? "");
  house.remove({ run: child?.run ?? "" });
  out.end(null);
  await house.playAll();
  expect(asked).toEqual([0, 0]);
  expect(harness.world.store.rows.size).toBe(1);
  expect((await show(harness.world, run))?.result).toEqual([{ outcome: "succeeded", result: { run: child?.run } }]);
});

test("schedule 132: a boss is cancelled with compensation; the wish reaches its children before the cancel does", async () => {
  const house = await household([boss({ children: 1 }), worker({ reply: actThenWait() })]);
  const { harness, run } = house;
  await house.runAttempt(run);
  const [child] = house.children();
  await house.runAttempt(child?.run ?? "");
  await house.runAttempt(child?.run ?? "");
  expect(await kindsOf(house, child?.run)).toContain("ToolResultRecorded");
  expect(await requestCompensation(harness.world, { run, next: "cancel", by: "ada" })).toBe("accepted");
  await house.playAll();
  expect(harness.row(run)).toMatchObject({ status: "cancelled", endNotified: true });
  expect(harness.row(child?.run ?? "").status).toBe("cancelled");
  expect(await kindsOf(house, child?.run)).toContain("ToolCompensated");
});

/** It acts, then acts again and again. */
const actThenWait = () => () => ({ calls: [{ tool: "act", args: {} }] });

test("schedule 225: a restart waits for children to stop, and an operator cancels the run meanwhile; it ends as cancelled", async () => {
  for (const dies of [null, "commit", "request"] as const) {
    for (const next of ["cancel", null] as const) {
      const house = await household([boss({ children: 1 }), worker()]);
      const { harness, agents, run } = house;
      await house.runAttempt(run);
      await house.runAttempt(run);
      expect(await requestCompensation(harness.world, { run, next: "restart", by: "bob" })).toBe("accepted");
      await house.runAttempt(run);
      expect((await house.state(run)).ending).toMatchObject({ failure: { code: "RestartRequested" } });
      if (next === null) await sendRequest(harness.world, { run, want: "cancel" });
      else expect(await requestCompensation(harness.world, { run, next, by: "ada" })).toBe("accepted");
      if (dies !== null) {
        const out = house.startAttempt(run);
        out.perform({ world: crashAfterCall(harness.world, dies), agent: agents }).catch(() => undefined);
        await flushPromises();
        await flushPromises();
        out.end(null);
      }
      await house.playAll();
      assertSafety("the later word holds", () =>
        expect({ row: harness.row(run), children: house.children() }).toMatchObject({
          row: { status: "cancelled" },
          children: [{ status: "cancelled" }],
        }),
      );
    }
  }
});
