/** A store does not answer: the run is given back, nobody counts as dead, and what is paid for is counted once. */
import { expect, test } from "vitest";
import type { Commit } from "../../src/protocol/row.ts";
import type { ScriptedReply } from "../../src/index.ts";
import { StoreUnreachable } from "../../src/ports/world.ts";
import { timeline } from "../../src/operations/views.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { send } from "../../src/operations/steer.ts";
import { sweep as sweepWith } from "../../src/maintenance/sweep.ts";
import { beginRun, killableWorld } from "../support/harness/drive.ts";
import { storeOutage, attemptDuringOutage, beginBackingOff, delayCommit } from "../support/faults/store-outages.ts";
import {
  FINAL_REPLY,
  type Harness,
  scriptedAgent,
  callsThenFinal,
  createChainHarness,
  neverSettles,
  MS,
} from "../support/harness/harness.ts";
import { dieInTool, enterTool, wrapTableCall, withTakeovers, beforeCall } from "../support/harness/chain-steps.ts";

const HOUR_MS = 3_600_000;

const kindsOf = async ({ world }: Harness, run: string): Promise<readonly string[]> =>
  ((await timeline(world, { run, after: 0 })) ?? []).map(({ kind }) => kind);

const countOf = async (harness: Harness, of: { readonly run: string; readonly kind: string }): Promise<number> =>
  (await kindsOf(harness, of.run)).filter((each) => each === of.kind).length;

const releases = ({ release }: Commit): boolean => release;

test("schedule 91: a commit is in flight when its run is released; it is applied later, and is refused", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({});
  const { run } = await beginRun(harness.world, agent, {});
  const { world, land } = delayCommit(harness.world, { when: releases });
  await attemptDuringOutage(harness, agent, world);
  expect(harness.row(run)).toMatchObject({ owner: null, storeOutage: { store: "the table" }, deaths: 0 });
  expect(await land()).toMatchObject({ kind: "fenced" });
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", spent: { toolCalls: 1, beats: 2 } });
});

test("schedule 92: a commit is applied and its response lost; the run is released from its present state", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({ effect: "unsafe" });
  const { run } = await beginRun(harness.world, agent, {});
  const { world } = delayCommit(harness.world, { when: ({ release }) => !release, meanwhile: (land) => land() });
  const answered = await attemptDuringOutage(harness, agent, world);
  expect(answered).toMatchObject({ kind: "beat", reply: { route: "wait" } });
  expect(harness.row(run)).toMatchObject({ owner: null, phase: "ExecutingTools", unaccountedModelCalls: 0 });
  await harness.runUntilIdle(agent);
  expect(await countOf(harness, { run, kind: "ModelCallLost" })).toBe(0);
  // The same where that commit moved the run to its next execution, which no process has started yet.
  const moving = createChainHarness({ chainClaimsMax: 1 });
  const { run: moved } = await beginRun(moving.world, agent, {});
  const lost = delayCommit(moving.world, { when: ({ nextChain }) => nextChain, meanwhile: (land) => land() });
  expect(await attemptDuringOutage(moving, agent, lost.world)).toMatchObject({ reply: { route: "renew", chain: 2 } });
  await moving.runUntilIdle(agent);
  expect(moving.row(moved)).toMatchObject({ status: "completed", deaths: 0 });
});

test("schedule 93: an end is decided and no store accepts it; a message arrives, and is read before the run is released", async () => {
  const harness = createChainHarness();
  const heard: number[] = [];
  const agent = scriptedAgent({
    reply: ({ messages }) => {
      heard.push(messages.filter(({ text }) => text.includes("one more thing")).length);
      return FINAL_REPLY;
    },
  });
  const { run } = await beginRun(harness.world, agent, {});
  const say = { run, text: "one more thing", by: "ann", id: "m1" };
  const { world } = delayCommit(harness.world, {
    when: ({ unlessWoken }) => unlessWoken,
    meanwhile: () => send(harness.world, say),
  });
  await attemptDuringOutage(harness, agent, world);
  expect(harness.row(run)).toMatchObject({ status: "running", owner: null });
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed" });
  expect(heard).toEqual([0, 1]);
  // The same before it is committed: its key is not taken.
  const other = createChainHarness();
  const quick = scriptedAgent({ reply: () => FINAL_REPLY });
  const { run: ending } = await beginRun(other.world, quick, {});
  const away = wrapTableCall(other.world, "keepKey", () => async () => {
    await send(other.world, { run: ending, text: "one more thing", by: "ann", id: "m1" });
    throw new StoreUnreachable("the table does not answer", { store: "the table" });
  });
  await attemptDuringOutage(other, quick, away);
  expect(other.row(ending)).toMatchObject({ status: "running", owner: null });
  await other.runUntilIdle(quick);
  expect(other.row(ending)).toMatchObject({ status: "completed" });
  expect(await countOf(other, { run: ending, kind: "MessageAbsorbed" })).toBe(1);
});

test("schedule 94: a run backs off, and a message or a deploy arrives; it does not wait for the end of its pause", async () => {
  const { harness, agent, run, table } = await beginBackingOff();
  const invocation = { deadline: harness.clock.now() + MS.beat, drain: new AbortController().signal };
  const sweep = (deployment: string) =>
    sweepWith(harness.world, { ...invocation, deadline: harness.clock.now() + MS.beat }, { deployment });
  expect(harness.world.chain.next()).toBeGreaterThan(harness.clock.now() + 60_000);
  await sweep("one");
  expect(harness.row(run)).toMatchObject({ chain: 2 });
  for (let attempts = 0; attempts < 24; attempts += 1) await attemptDuringOutage(harness, agent, table.world);
  const { chain } = harness.row(run);
  await sweep("one");
  expect(harness.row(run)).toMatchObject({ chain });
  expect((await send(harness.world, { run, text: "go on", by: "ann", id: "m1" })).kind).toBe("delivered");
  await sweep("one");
  expect(harness.row(run)).toMatchObject({ chain: chain + 1 });
  expect(harness.world.chain.next()).toBeLessThanOrEqual(harness.clock.now());
});

test("schedule 95: the table is unavailable for hours; each attempt leaves an owner, and no death is counted", async () => {
  const harness = createChainHarness();
  const agent = withTakeovers(scriptedAgent({}), 1);
  const { run } = await beginRun(harness.world, agent, {});
  const table = storeOutage(harness.world, "table");
  const until = harness.clock.now() + 6 * HOUR_MS;
  let attempts = 0;
  for (; harness.clock.now() < until; attempts += 1) {
    // It comes back for one claim, and is gone again.
    table.isAway = false;
    const claimed = wrapTableCall(table.world, "claim", (call) => async (asked) => {
      const outcome = await call(asked);
      table.isAway = true;
      return outcome;
    });
    await attemptDuringOutage(harness, agent, claimed);
  }
  expect(attempts).toBeLessThan(6 * 60);
  expect(harness.row(run)).toMatchObject({ status: "running", deaths: 0 });
  expect(harness.row(run).takeovers).toBeGreaterThan(10);
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed" });
});

test("schedule 96: the table is unavailable, the next attempt dies before it claims, and the third finds the first's owner", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({});
  const { run } = await beginRun(harness.world, agent, {});
  const table = storeOutage(harness.world, "table");
  const reached = await enterTool(harness, agent, table.world);
  table.isAway = true;
  reached.thaw("acted");
  await harness.advanceUntilSettled(reached.result).catch(() => undefined);
  harness.world.chain.end(reached.out.name, reached.out.attempt, null, false);
  harness.startAttempt().end(null);
  const claims: unknown[] = [];
  const watched = wrapTableCall(harness.world, "claim", (call) => async (claim) => {
    const outcome = await call(claim);
    claims.push([claim.entry.retry, claim.died, outcome.kind === "granted" ? outcome.row.deaths : outcome.kind]);
    return outcome;
  });
  await harness.runAttempt(agent, watched);
  expect(claims).toEqual([[2_000, 1_000, 0]]);
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", takeovers: 1 });
});

test("schedule 97: a paused run resumes to a message, calls its model and dies; that call is debited", async () => {
  const harness = createChainHarness();
  let asked = 0;
  const over = (): ScriptedReply => {
    asked += 1;
    return FINAL_REPLY;
  };
  const agent = scriptedAgent({ reply: over });
  const { run } = await beginRun(harness.world, agent, {});
  const pause = () => sendRequest(harness.world, { run, want: "pause" });
  await harness.runAttempt(
    agent,
    beforeCall(harness.world, "commit", pause, ({ unlessWoken }) => unlessWoken),
  );
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "paused", marksAtClaim: 0 });
  expect((await send(harness.world, { run, text: "one more thing", by: "ann", id: "m1" })).kind).toBe("delivered");
  await sendRequest(harness.world, { run, want: "resume" });
  const { world, kill } = killableWorld(harness.world);
  const stuck = (): Promise<never> => {
    asked += 1;
    return neverSettles();
  };
  await harness.loseAttempt(scriptedAgent({ reply: stuck }), world);
  kill();
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed" });
  const kinds = await kindsOf(harness, run);
  const accounted = kinds.filter((kind) => kind === "ModelCallLost" || kind === "ModelCallCompleted");
  expect({ accounted: accounted.length, asked }).toEqual({ accounted: 3, asked: 3 });
});

test("schedule 98: the objects are unavailable when a run is loaded; no model was called, and nothing is debited", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({});
  const { run } = await beginRun(harness.world, agent, {});
  const objects = storeOutage(harness.world, "objects");
  objects.isAway = true;
  for (let attempts = 0; attempts < 5; attempts += 1) {
    expect(await attemptDuringOutage(harness, agent, objects.world)).toMatchObject({
      kind: "beat",
      reply: { route: "wait" },
    });
    expect(harness.row(run)).toMatchObject({ owner: null, storeOutage: { store: "the objects" }, deaths: 0 });
  }
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", storeOutage: null, takeovers: 0 });
  expect(await countOf(harness, { run, kind: "ModelCallLost" })).toBe(0);
});

test("schedule 99: an unsafe call is released, and a store fails before it starts; no operator is asked", async () => {
  const harness = createChainHarness();
  const acted: string[] = [];
  const args = { text: "x".repeat(20_000) };
  const agent = scriptedAgent({
    effect: "unsafe",
    run: ({ key }) => acted.push(key),
    reply: ({ calls }) => (calls.length === 0 ? { calls: [{ tool: "act", args }] } : FINAL_REPLY),
  });
  const { run } = await beginRun(harness.world, agent, {});
  const objects = storeOutage(harness.world, "objects");
  const world = wrapTableCall(objects.world, "commit", (call) => async (commit) => {
    const outcome = await call(commit);
    objects.isAway = !commit.release;
    return outcome;
  });
  await attemptDuringOutage(harness, agent, world);
  expect({ owner: harness.row(run).owner, acted }).toEqual({ owner: null, acted: [] });
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed" });
  expect(acted).toHaveLength(1);
});

test("schedule 100: one process dies in each beat, and each beat makes progress; that is no crash loop", async () => {
  const harness = createChainHarness();
  const agent = withTakeovers(scriptedAgent({ reply: callsThenFinal(4) }), 1);
  const { run } = await beginRun(harness.world, agent, {});
  for (let beats = 0; beats < 4; beats += 1) {
    await dieInTool(harness, agent);
    await harness.runAttempt(agent);
  }
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", deaths: 0, takeovers: 4 });
});

test("schedule 136: a store accepts requests and answers none; each invocation ends before it is killed, and none counts as a death", async () => {
  const harness = createChainHarness();
  const agent = withTakeovers(scriptedAgent({}), 1);
  const { run } = await beginRun(harness.world, agent, {});
  for (const store of ["objects", "table"] as const) {
    for (let attempts = 0; attempts < 3; attempts += 1) {
      const outage = storeOutage(harness.world, store);
      outage.isSilent = true;
      let killedAt = 0;
      const claimed = wrapTableCall(outage.world, "claim", (call) => async (asked) => {
        const outcome = await call(asked);
        outage.isAway = true;
        killedAt = asked.leaseUntil - MS.skew;
        return outcome;
      });
      const result = await attemptDuringOutage(harness, agent, claimed);
      expect(harness.clock.now()).toBeLessThan(killedAt);
      const isReleased = store === "objects";
      expect(result).toEqual(isReleased ? expect.objectContaining({ kind: "beat" }) : null);
      expect(harness.row(run).owner === null).toBe(isReleased);
    }
  }
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", deaths: 0, takeovers: 3 });
});
