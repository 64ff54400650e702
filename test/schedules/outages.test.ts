/** A store does not answer: the run is given back, nobody counts as dead, and what is paid for is counted once. */
import { expect, test } from "vitest";
import type { Commit } from "../../src/protocol/row.ts";
import type { ScriptedReply } from "../../src/index.ts";
import { StoreUnreachable } from "../../src/ports/world.ts";
import { timeline } from "../../src/operations/views.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { send } from "../../src/operations/steer.ts";
import { sweep as sweepWith } from "../../src/maintenance/sweep.ts";
import { begin, mortal } from "../support/drive.ts";
import { outageOf, struggle, underWay } from "../support/outages.ts";
import {
  BEAT_MS,
  OVER,
  type Stage,
  actor,
  beforeCommit,
  callsThenOver,
  chainedStage,
  never,
  passing,
  rowOf,
} from "../support/stage.ts";
import { dieInTool, enterTool, hear, leave, lose, meeting, playOut, step, withTakeovers } from "../support/steps.ts";

const HOUR_MS = 3_600_000;

const kindsOf = async ({ world }: Stage, run: string): Promise<readonly string[]> =>
  ((await timeline(world, { run, after: 0 })) ?? []).map(({ kind }) => kind);

const countOf = async (on: Stage, of: { readonly run: string; readonly kind: string }): Promise<number> =>
  (await kindsOf(on, of.run)).filter((each) => each === of.kind).length;

const releases = ({ release }: Commit): boolean => release;

test("schedule 91: a commit is under way when its run is given back; it lands later, and is refused", async () => {
  const on = chainedStage();
  const agent = actor({});
  const { run } = await begin(on.world, agent, {});
  const { world, land } = underWay(on.world, { when: releases });
  await struggle(on, agent, world);
  expect(rowOf(on, run)).toMatchObject({ owner: null, storeOutage: { store: "the table" }, deaths: 0 });
  expect(await land()).toMatchObject({ kind: "fenced" });
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", spent: { toolCalls: 1, beats: 2 } });
});

test("schedule 92: a commit landed and nobody heard of it; the run is given back from where it stands", async () => {
  const on = chainedStage();
  const agent = actor({ effect: "unsafe" });
  const { run } = await begin(on.world, agent, {});
  const { world } = underWay(on.world, { when: ({ release }) => !release, meanwhile: (land) => land() });
  const answered = await struggle(on, agent, world);
  expect(answered).toMatchObject({ kind: "beat", reply: { route: "wait" } });
  expect(rowOf(on, run)).toMatchObject({ owner: null, phase: "ExecutingTools", asks: 0 });
  await playOut(on, agent);
  expect(await countOf(on, { run, kind: "ModelCallLost" })).toBe(0);
});

test("schedule 93: an end is decided and no store takes it; a message comes, and is read before anything is given back", async () => {
  const on = chainedStage();
  const heard: number[] = [];
  const agent = actor({
    reply: ({ messages }) => {
      heard.push(messages.filter(({ text }) => text.includes("one more thing")).length);
      return OVER;
    },
  });
  const { run } = await begin(on.world, agent, {});
  const say = { run, text: "one more thing", by: "ann", id: "m1" };
  const { world } = underWay(on.world, {
    when: ({ unlessWoken }) => unlessWoken,
    meanwhile: () => send(on.world, say),
  });
  await struggle(on, agent, world);
  expect(rowOf(on, run)).toMatchObject({ status: "running", owner: null });
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed" });
  expect(heard).toEqual([0, 1]);
  // The same before it is committed: its key is not taken.
  const other = chainedStage();
  const quick = actor({ reply: () => OVER });
  const { run: ending } = await begin(other.world, quick, {});
  const away = meeting(other.world, "keepKey", () => async () => {
    await send(other.world, { run: ending, text: "one more thing", by: "ann", id: "m1" });
    throw new StoreUnreachable("the table does not answer", { store: "the table" });
  });
  await struggle(other, quick, away);
  expect(rowOf(other, ending)).toMatchObject({ status: "running", owner: null });
  await playOut(other, quick);
  expect(rowOf(other, ending)).toMatchObject({ status: "completed" });
  expect(await countOf(other, { run: ending, kind: "MessageAbsorbed" })).toBe(1);
});

test("schedule 94: a run backs off, and somebody speaks or deploys; it does not sleep until its pause is over", async () => {
  const on = chainedStage();
  const agent = actor({});
  const { run } = await begin(on.world, agent, {});
  const table = outageOf(on.world, "table");
  table.isAway = true;
  for (let attempts = 0; attempts < 12; attempts += 1) await struggle(on, agent, table.world);
  const invocation = { deadline: on.clock.now() + BEAT_MS, drain: new AbortController().signal };
  const sweep = (deployment: string) =>
    sweepWith(on.world, { ...invocation, deadline: on.clock.now() + BEAT_MS }, { deployment });
  expect(on.world.chain.next()).toBeGreaterThan(on.clock.now() + 60_000);
  await sweep("one");
  expect(rowOf(on, run)).toMatchObject({ chain: 2 });
  for (let attempts = 0; attempts < 24; attempts += 1) await struggle(on, agent, table.world);
  const { chain } = rowOf(on, run);
  await sweep("one");
  expect(rowOf(on, run)).toMatchObject({ chain });
  expect((await send(on.world, { run, text: "go on", by: "ann", id: "m1" })).kind).toBe("delivered");
  await sweep("one");
  expect(rowOf(on, run)).toMatchObject({ chain: chain + 1 });
  expect(on.world.chain.next()).toBeLessThanOrEqual(on.clock.now());
});

test("schedule 95: the table is away for hours; each attempt leaves an owner behind, and nobody is dead", async () => {
  const on = chainedStage();
  const agent = withTakeovers(actor({}), 1);
  const { run } = await begin(on.world, agent, {});
  const table = outageOf(on.world, "table");
  const until = on.clock.now() + 6 * HOUR_MS;
  let attempts = 0;
  for (; on.clock.now() < until; attempts += 1) {
    // It comes back for one claim, and is gone again.
    table.isAway = false;
    const claimed = meeting(table.world, "claim", (call) => async (asked) => {
      const outcome = await call(asked);
      table.isAway = true;
      return outcome;
    });
    await struggle(on, agent, claimed);
  }
  expect(attempts).toBeLessThan(6 * 60);
  expect(rowOf(on, run)).toMatchObject({ status: "running", deaths: 0 });
  expect(rowOf(on, run).takeovers).toBeGreaterThan(10);
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed" });
});

test("schedule 96: the table is away, the next attempt dies before it claims, and the third finds the owner of the first", async () => {
  const on = chainedStage();
  const agent = actor({});
  const { run } = await begin(on.world, agent, {});
  const table = outageOf(on.world, "table");
  const reached = await enterTool(on, agent, table.world);
  table.isAway = true;
  reached.thaw("acted");
  await passing(on, reached.result).catch(() => undefined);
  on.world.chain.end(reached.out.name, reached.out.attempt, null, false);
  hear(on, leave(on), null);
  const claims: unknown[] = [];
  const watched = meeting(on.world, "claim", (call) => async (claim) => {
    const outcome = await call(claim);
    claims.push([claim.entry.retry, claim.died, outcome.kind === "granted" ? outcome.row.deaths : outcome.kind]);
    return outcome;
  });
  await step(on, agent, watched);
  expect(claims).toEqual([[2_000, 1_000, 0]]);
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", takeovers: 1 });
});

test("schedule 97: a run is paused where nothing calls a model; it resumes to a message, asks its model and dies; that call is debited", async () => {
  const on = chainedStage();
  let asked = 0;
  const over = (): ScriptedReply => {
    asked += 1;
    return OVER;
  };
  const agent = actor({ reply: over });
  const { run } = await begin(on.world, agent, {});
  const pause = () => sendRequest(on.world, { run, want: "pause" });
  await step(on, agent, beforeCommit(on, { when: ({ unlessWoken }) => unlessWoken, act: pause }));
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "paused", will: 0 });
  expect((await send(on.world, { run, text: "one more thing", by: "ann", id: "m1" })).kind).toBe("delivered");
  await sendRequest(on.world, { run, want: "resume" });
  const { world, kill } = mortal(on.world);
  const stuck = (): Promise<never> => {
    asked += 1;
    return never();
  };
  await lose(on, actor({ reply: stuck }), world);
  kill();
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed" });
  const kinds = await kindsOf(on, run);
  const accounted = kinds.filter((kind) => kind === "ModelCallLost" || kind === "ModelCallCompleted");
  expect([accounted.length, asked]).toEqual([3, 3]);
});

test("schedule 98: the objects are away when a run is loaded; no model was called, and nothing is debited", async () => {
  const on = chainedStage();
  const agent = actor({});
  const { run } = await begin(on.world, agent, {});
  const objects = outageOf(on.world, "objects");
  objects.isAway = true;
  for (let attempts = 0; attempts < 5; attempts += 1) {
    expect(await struggle(on, agent, objects.world)).toMatchObject({ kind: "beat", reply: { route: "wait" } });
    expect(rowOf(on, run)).toMatchObject({ owner: null, storeOutage: { store: "the objects" }, deaths: 0 });
  }
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", storeOutage: null, takeovers: 0 });
  expect(await countOf(on, { run, kind: "ModelCallLost" })).toBe(0);
});

test("schedule 99: an unsafe call is released, and a store goes away before it begins; nobody has to be asked about it", async () => {
  const on = chainedStage();
  const acted: string[] = [];
  const args = { text: "x".repeat(20_000) };
  const agent = actor({
    effect: "unsafe",
    run: ({ key }) => acted.push(key),
    reply: ({ calls }) => (calls.length === 0 ? { calls: [{ tool: "act", args }] } : OVER),
  });
  const { run } = await begin(on.world, agent, {});
  const objects = outageOf(on.world, "objects");
  const world = meeting(objects.world, "commit", (call) => async (commit) => {
    const outcome = await call(commit);
    objects.isAway = !commit.release;
    return outcome;
  });
  await struggle(on, agent, world);
  expect([rowOf(on, run).owner, acted]).toEqual([null, []]);
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed" });
  expect(acted).toHaveLength(1);
});

test("schedule 100: one process dies in each beat, and each beat brings the run on; that is no loop of crashes", async () => {
  const on = chainedStage();
  const agent = withTakeovers(actor({ reply: callsThenOver(4) }), 1);
  const { run } = await begin(on.world, agent, {});
  for (let beats = 0; beats < 4; beats += 1) {
    await dieInTool(on, agent);
    await step(on, agent);
  }
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", deaths: 0, takeovers: 4 });
});
