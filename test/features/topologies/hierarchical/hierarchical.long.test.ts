/** Whole runs of a hierarchy: levels, disjoint shards, a slow root, and the layer that merges its reports. */
import { expect, test } from "vitest";
import { z } from "zod";
import { type ScriptedReply, childTool, hierarchical, tool } from "../../../../src/index.ts";
import type { Agent } from "../../../../src/ports/agent.ts";
import { show, timeline } from "../../../../src/operations/views.ts";
import { playRun } from "../../../support/runs/topology-run.ts";
import { type Household, household } from "../../../support/runs/parent-steps.ts";
import { forEachCrashPoint } from "../../../support/faults/crash-at-call.ts";
import { ROLES, asking, bossOf, isFirst, memosIn, researcher } from "../../../support/agents/researchers.ts";
import { flushPromises } from "../../../support/harness/harness.ts";

const PARTS = z.object({ parts: z.array(z.string()) });
const SUMMARY = z.object({ memo: z.string() });

const delegate = (beats = 120) =>
  childTool({
    ...{ agent: "middle", description: "hands out parts", input: PARTS, output: SUMMARY },
    budget: { beats },
  });

/** A sub-root: it asks a researcher about each of its parts. */
function middle(of: { readonly levels?: number } = {}): Agent {
  const topology = hierarchical({ workers: ["ask"], ...ROLES, batch: 3, ...of });
  const { agent } = bossOf(topology, {
    ...{ name: "middle", task: PARTS, budget: { beats: 120 } },
    hands: ({ task }) => (of.levels === 2 ? { text: "alone" } : asking(...(task.json as { parts: string[] }).parts)),
  });
  return { ...agent, result: ({ text }) => ({ memo: text }) };
}

const delegating = (...shards: readonly (readonly string[])[]) => ({
  calls: shards.map((parts) => ({ tool: "delegate", args: { parts } })),
});

const SHARDS = ["a", "b", "c"].map((shard) => Array.from({ length: 9 }, (_, index) => `${shard}${index}`));
const LEAVES = SHARDS.flat();

test("three levels with 27 leaves: each leaf works once, and no section of the root shows more than a batch", async () => {
  const topology = hierarchical({ workers: ["delegate"], ...ROLES, partsIn: "parts", batch: 2 });
  const root = bossOf(topology, { more: { delegate: delegate() }, hands: () => delegating(...SHARDS) });
  const house = await household([root.agent, middle(), researcher()]);
  await house.playAll();
  const shown = await show(house.harness.world, house.run);
  expect(shown).toMatchObject({ status: "completed" });
  expect(memosIn(String(shown?.result)).toSorted()).toEqual(LEAVES.map((leaf) => `on ${leaf}`).toSorted());
  expect(house.harness.world.store.rows.size).toBe(1 + 3 + 27);
  // Three reports are merged in two sections: a batch of two, then its summary with the third.
  const merged = root.asked.slice(1).map(({ texts }) => texts.at(-1)?.match(/^\d+\. /gm)?.length);
  expect(merged).toEqual([2, 2]);
  // A run knows how many runs are above it.
  const depths = await Promise.all(
    [...house.harness.world.store.rows.keys()].map(async (run) => (await house.state(run)).depth ?? 0),
  );
  expect([0, 1, 2].map((depth) => depths.filter((each) => each === depth).length)).toEqual([1, 3, 27]);
});

test("two shards that share a part are not both handed out", async () => {
  const topology = hierarchical({ workers: ["delegate"], ...ROLES, partsIn: "parts" });
  const root = bossOf(topology, {
    more: { delegate: delegate() },
    hands: () => delegating(["rome", "oslo"], ["oslo", "bern"]),
  });
  const { shown, events } = await playRun(root.agent, { others: [middle(), researcher()] });
  expect(shown).toMatchObject({ status: "completed", result: "on rome + on oslo" });
  expect(events).toContainEqual(
    expect.objectContaining({
      kind: "ToolResultRecorded",
      value: { kind: "inline", json: "NotStarted: c1 has the part oslo already; parts must be disjoint" },
    }),
  );
});

test("a run on the last level hands out nothing: it does the work itself", async () => {
  let isAsked = false;
  const leaf = bossOf(hierarchical({ workers: ["delegate"], ...ROLES, levels: 2 }), {
    ...{ name: "middle", task: PARTS, more: { delegate: delegate(10) }, budget: { beats: 120 } },
    hands: ({ calls }) => {
      isAsked ||= calls.length > 0;
      return calls.length === 0 ? delegating(["x"]) : { text: "on itself" };
    },
  });
  const topology = hierarchical({ workers: ["delegate"], ...ROLES, levels: 2 });
  const root = bossOf(topology, { more: { delegate: delegate() }, hands: () => delegating(["x"]) });
  const agents = [root.agent, { ...leaf.agent, result: ({ text }: { text: string }) => ({ memo: text }) } as Agent];
  const house = await household(agents);
  await house.playAll();
  expect(await show(house.harness.world, house.run)).toMatchObject({ status: "completed", result: "on itself" });
  expect(isAsked).toBe(true);
  const [child] = house.children();
  const events = (await timeline(house.harness.world, { run: child?.run ?? "", after: 0 })) ?? [];
  const refused = expect.stringMatching(/^NotStarted: this run is on the last of 2 levels/);
  expect(events).toContainEqual(expect.objectContaining({ value: { kind: "inline", json: refused } }));
  expect(house.harness.world.store.rows.size).toBe(2);
});

/** The tools of a root that hands out and, in the same beat, works on a chapter of its own until `release`. */
function slowRoot() {
  let release = (): void => undefined;
  const written = new Promise<string>((resolve) => {
    release = () => resolve("written");
  });
  const write = tool({ input: z.object({}), effect: "none", run: () => written });
  return { tools: { delegate: delegate(), write }, release };
}

const WRITES = { boss: { ...ROLES.boss, tools: ["write"] } };

/** What the slow root does first. */
const busy = (...questions: readonly string[]): ScriptedReply => ({
  calls: [...(asking(...questions).calls ?? []), { tool: "write", args: {} }],
});

/** The first beat of the root. While it works, its leaves report; none of their reports is read. */
async function reportToBusyRoot(house: Household, release: () => void): Promise<void> {
  const { harness, agents, run } = house;
  const out = house.startAttempt(run);
  const beat = out.perform({ world: harness.world, agent: agents });
  await flushPromises();
  for (const child of house.children()) await house.play(child.run);
  expect(new Set(house.children().map(({ endNotified }) => endNotified))).toEqual(new Set([true]));
  // The root is at work: it is neither parked nor between two beats.
  expect(harness.row(run)).toMatchObject({ status: "running", phase: "ExecutingTools", park: null });
  release();
  out.end(await harness.advanceUntilSettled(beat));
}

test("a slow root is signalled before it merges anything, and hands out the rest to its shards alone", async () => {
  const topology = hierarchical({
    ...{ workers: ["ask"], shards: ["delegate"], ...ROLES, ...WRITES, partsIn: "parts" },
    ...{ rounds: 2, unread: 4, batch: 3 },
  });
  const slow = slowRoot();
  const root = bossOf(topology, {
    more: slow.tools,
    hands: ({ messages, calls }) =>
      calls.length === 0 && isFirst(messages)
        ? busy("a1", "a2", "a3", "a4", "a5", "a6")
        : delegating(["b1", "b2"], ["b3"]),
  });
  const house = await household([root.agent, middle(), researcher()]);
  await reportToBusyRoot(house, slow.release);
  await house.playAll();
  const { world } = house.harness;
  const events = (await timeline(world, { run: house.run, after: 0 })) ?? [];
  const signals = events.flatMap((event) => (event.kind === "CrackSignalled" ? [event] : []));
  expect(signals).toMatchObject([
    { crack: "rootBottleneck", why: "6 reports waited unread, and 0 children still worked", times: 1 },
  ]);
  const order = events.map(({ kind }) => kind);
  expect(order.indexOf("CrackSignalled")).toBeLessThan(
    order.indexOf("ModelCallCompleted", 1 + order.indexOf("ChildDispatched")),
  );
  // From then on the root sees no leaf: only its shards are open to it.
  const hands = root.asked.filter(({ instructions }) => instructions.includes("You hand out."));
  expect(hands.map(({ tools }) => tools)).toEqual([
    ["ask", "delegate", "write"],
    ["delegate", "write"],
  ]);
  const shown = await show(world, house.run);
  const leaves = ["a1", "a2", "a3", "a4", "a5", "a6", "b1", "b2", "b3"];
  expect(memosIn(String(shown?.result)).toSorted()).toEqual(leaves.map((leaf) => `on ${leaf}`));
  expect(shown?.cracks).toMatchObject({ rootBottleneck: { times: 1 } });
  for (const { texts } of root.asked) expect(texts.at(-1)?.match(/^\d+\. /gm)?.length ?? 0).toBeLessThanOrEqual(3);
});

test("whoever dies while a slow root reads: one signal, each leaf works once, and the rest goes to the shards", async () => {
  const topology = hierarchical({
    ...{ workers: ["ask"], shards: ["delegate"], ...ROLES, ...WRITES, partsIn: "parts" },
    ...{ rounds: 2, unread: 4, batch: 3 },
  });
  let deaths = 0;
  await forEachCrashPoint(async (crash) => {
    // Every sixth moment: a run has hundreds.
    if (crash.at % 6 !== 0) return crash.at > 90;
    const slow = slowRoot();
    const root = bossOf(topology, {
      more: slow.tools,
      hands: ({ messages, calls }) =>
        calls.length === 0 && isFirst(messages) ? busy("a1", "a2", "a3", "a4") : delegating(["b1", "b2"]),
    });
    const played = await playRun(root.agent, {
      crash,
      others: [middle(), researcher()],
      before: (house) => reportToBusyRoot(house, slow.release),
    });
    expect(played.cracks.filter((crack) => crack === "rootBottleneck")).toHaveLength(1);
    const leaves = ["a1", "a2", "a3", "a4", "b1", "b2"];
    expect(memosIn(String(played.shown?.result)).toSorted()).toEqual(leaves.map((leaf) => `on ${leaf}`));
    expect(played.harness.world.store.rows.size).toBe(1 + leaves.length + 1);
    const hands = root.asked.filter(({ instructions }) => instructions.includes("You hand out."));
    expect(new Set(hands.slice(1).map(({ tools }) => tools.join()))).toEqual(new Set(["delegate,write"]));
    deaths += 1;
    return played.lives;
  });
  expect(deaths).toBeGreaterThan(10);
});

test("a root that reads as fast as its leaves report gives no signal", async () => {
  const topology = hierarchical({ workers: ["ask"], ...ROLES, unread: 2 });
  const root = bossOf(topology, { hands: () => asking("a1", "a2", "a3") });
  const house = await household([root.agent, researcher()]);
  await house.runAttempt(house.run);
  for (const { run } of house.children()) {
    await house.play(run);
    // The task that parked it ends first.
    while ((await house.runAttempt(house.run)).kind === "park");
  }
  await house.playAll();
  const shown = await show(house.harness.world, house.run);
  expect({ status: shown?.status, cracks: shown?.cracks }).toEqual({ status: "completed", cracks: {} });
});

test("a root that was parked gives no signal, however many reports come before it wakes", async () => {
  const topology = hierarchical({ workers: ["ask"], ...ROLES, unread: 2 });
  const root = bossOf(topology, { hands: () => asking("a1", "a2", "a3", "a4") });
  const house = await household([root.agent, researcher()]);
  await house.runAttempt(house.run);
  expect(house.harness.row(house.run)).toMatchObject({ status: "waiting", phase: "AwaitingChildren" });
  house.harness.clock.moveTo(house.harness.clock.now() + 1_000);
  for (const { run } of house.children()) await house.play(run);
  const { wakeCount, wakeCountSeen } = house.harness.row(house.run);
  expect(wakeCount - wakeCountSeen).toBe(4);
  await house.playAll();
  const shown = await show(house.harness.world, house.run);
  expect({ status: shown?.status, cracks: shown?.cracks }).toEqual({ status: "completed", cracks: {} });
});
