/** An invocation that lost its run may still act inside of its lease: until it cannot, nobody says that it did not. */
import { expect, test } from "vitest";
import type { Answer } from "../../src/core/event.ts";
import { OutcomeUnknown } from "../../src/index.ts";
import { ledger, transcript } from "../../src/operations/views.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import type { World } from "../../src/ports/world.ts";
import { beginRun, killableWorld } from "../support/harness/drive.ts";
import {
  scriptedAgent,
  createChainHarness,
  beatReply,
  performTask,
  flushPromises,
  MS,
} from "../support/harness/harness.ts";
import { withClockAhead, crashAfterCall, enterTool } from "../support/harness/chain-steps.ts";

const LEASE_MS = MS.beat + MS.skew;

const reconcileAs = ({ world }: { readonly world: World }, run: string, as: Answer["as"]) =>
  reconcile(world, { run, call: "c1", as, result: null, by: "ann", note: null });

/** A tool whose request takes effect on the other side, which can be asked about it. */
function externalService(effect: "probed" | "unsafe") {
  const effects: string[] = [];
  const land = (key: string): string => {
    effects.push(key);
    return "acted";
  };
  const probe = (key: string) => (effects.includes(key) ? { kind: "happened", result: "seen" } : { kind: "absent" });
  const agent = scriptedAgent({ effect, run: ({ key }) => land(key), ...(effect === "probed" ? { probe } : {}) });
  return { effects, land, agent };
}

/** A is in its tool, and its chain takes it for dead. */
async function takenOverRun(effect: "probed" | "unsafe") {
  const harness = createChainHarness();
  const { effects, land, agent } = externalService(effect);
  const { run } = await beginRun(harness.world, agent, {});
  const startedAt = harness.clock.now();
  const a = await enterTool(harness, agent);
  a.out.end(null);
  return { harness, effects, land, agent, run, startedAt, a };
}

test("schedule 3: A's probed call is in flight, B takes over and would probe *absent*; A acts", async () => {
  const { harness, effects, land, agent, run, startedAt, a } = await takenOverRun("probed");
  expect(await beatReply(harness.runAttempt(agent))).toMatchObject({ route: "wait" });
  harness.clock.moveTo(startedAt + LEASE_MS - 1);
  land(a.key);
  await harness.runUntilIdle(agent);
  expect(effects).toEqual([a.key]);
  expect(harness.row(run).status).toBe("completed");
  expect(await ledger(harness.world, run)).toMatchObject([{ status: "reconciled", attempts: 1 }]);
});

test("schedule 4: A's unsafe call is unknown, an operator sees nothing and would answer *retry*; A acts", async () => {
  const { harness, effects, land, agent, run, startedAt, a } = await takenOverRun("unsafe");
  expect(await beatReply(harness.runAttempt(agent))).toMatchObject({ route: "park" });
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "blocked", effectsSettleAt: startedAt + LEASE_MS });
  // Long after any request of a dead invocation would have settled.
  harness.clock.moveTo(startedAt + LEASE_MS - 1);
  await reconcileAs(harness, run, "retry");
  await harness.runUntilIdle(agent);
  land(a.key);
  harness.clock.moveTo(startedAt + LEASE_MS + MS.settle);
  await reconcileAs(harness, run, "succeeded");
  await harness.runUntilIdle(agent);
  expect(effects).toEqual([a.key]);
  expect(await ledger(harness.world, run)).toMatchObject([{ status: "reconciled", attempts: 1 }]);
});

test("schedule 5: B would end the run as cancelled while A, fenced but alive, starts its effect", async () => {
  const { harness, effects, land, agent, run, startedAt, a } = await takenOverRun("unsafe");
  expect(await sendRequest(harness.world, { run, want: "cancel" })).toBe("requested");
  expect(await beatReply(harness.runAttempt(agent))).toMatchObject({ route: "wait" });
  harness.clock.moveTo(startedAt + LEASE_MS - 1);
  expect(harness.row(run).status).toBe("running");
  land(a.key);
  a.thaw("it acts inside of its lease");
  expect(await beatReply(a.result)).toMatchObject({ route: "superseded" });
  await harness.runUntilIdle(agent);
  expect(harness.clock.now()).toBeGreaterThanOrEqual(startedAt + LEASE_MS);
  expect(harness.row(run)).toMatchObject({ status: "cancelled", endNotified: true });
  expect(effects).toEqual([a.key]);
  expect(JSON.stringify(await transcript(harness.world, run))).not.toContain("inside of its lease");
});

test("schedule 22: a tool times out, the probe would return *absent*, and the first request takes effect late", async () => {
  const settleMs = 5_000;
  const harness = createChainHarness({ settleMs });
  const effects: string[] = [];
  const keys: string[] = [];
  const agent = scriptedAgent({
    effect: "probed",
    timeoutMs: 400,
    run: ({ key, signal }) => {
      keys.push(key);
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          // As late as a request of this beat may take effect.
          harness.clock.after(startedAt + LEASE_MS + settleMs - 1 - harness.clock.now(), () => effects.push(key));
          reject(new Error("stopped, and its request is on the way"));
        });
      });
    },
    probe: (key) => (effects.includes(key) ? { kind: "happened", result: "landed late" } : { kind: "absent" }),
  });
  const { run } = await beginRun(harness.world, agent, {});
  const startedAt = harness.clock.now();
  expect(await beatReply(harness.runAttempt(agent))).toMatchObject({ route: "wait" });
  expect(effects).toEqual([]);
  await harness.runUntilIdle(agent);
  expect(keys).toHaveLength(1);
  expect(effects).toEqual(keys);
  expect(JSON.stringify(await transcript(harness.world, run))).toContain("landed late");
});

test("schedule 28: a call outlives its timeout in a warm process, and would act after an operator's *retry*", async () => {
  const harness = createChainHarness();
  const effects: string[] = [];
  const thaws: (() => void)[] = [];
  let alive = 0;
  const run = ({ key }: { readonly key: string }): Promise<string> | string => {
    const mine = alive;
    const act = (): string => {
      // Nothing acts in a process that has ended.
      if (mine === alive) effects.push(key);
      return "acted";
    };
    if (thaws.length > 0) return act();
    return new Promise((resolve) => thaws.push(() => resolve(act())));
  };
  const agent = scriptedAgent({ effect: "unsafe", timeoutMs: 400, run });
  const payload = await beginRun(harness.world, agent, {});
  const ended = await harness.runAttempt(agent);
  if (ended.kind === "exit") alive += 1;
  await harness.runUntilIdle(agent);
  expect(harness.row(payload.run).status).toBe("blocked");
  const early = await reconcileAs(harness, payload.run, "retry");
  if (early.kind !== "tooEarly") throw new Error(`not refused: ${early.kind}`);
  harness.clock.moveTo(early.reconcilableFrom);
  expect(await reconcileAs(harness, payload.run, "retry")).toEqual({ kind: "accepted" });
  // The later invocation has done what was asked, and the frozen promise thaws.
  await harness.runUntilIdle(agent);
  for (const thaw of thaws) thaw();
  await flushPromises();
  expect(effects).toHaveLength(1);
  expect(harness.row(payload.run).status).toBe("completed");
});

test("schedule 33: a request is sent, its beat dies, the run is handed over at the end of the lease; it takes effect", async () => {
  const harness = createChainHarness();
  const { effects, land, agent } = externalService("probed");
  const payload = await beginRun(harness.world, agent, {});
  const startedAt = harness.clock.now();
  const a = await enterTool(harness, agent);
  a.out.end(null);
  // The clock of whoever hands over is ahead, as far as the margin allows.
  harness.clock.moveTo(startedAt + LEASE_MS - MS.skew);
  const by = { world: withClockAhead(harness.world, MS.skew), agent };
  expect(await performTask({ kind: "rescue", payload }, by)).toEqual({ kind: "rescue", until: null });
  expect(harness.row(payload.run)).toMatchObject({ owner: null, chain: 2, effectsSettleAt: startedAt + LEASE_MS });
  harness.clock.after(startedAt + LEASE_MS + MS.settle - 1 - harness.clock.now(), () => land(a.key));
  await harness.runUntilIdle(agent);
  expect(effects).toEqual([a.key]);
  expect(harness.row(payload.run).status).toBe("completed");
});

test("schedule 34: a call outlives its timeout, its beat releases; before its process ends the promise acts", async () => {
  const harness = createChainHarness();
  const { effects, land, agent } = externalService("probed");
  const { run } = await beginRun(harness.world, agent, {});
  const startedAt = harness.clock.now();
  const keys: string[] = [];
  const frozen = ({ key }: { readonly key: string }): Promise<never> => {
    keys.push(key);
    return new Promise(() => undefined);
  };
  const act = { ...agent.tools["act"], run: frozen, timeoutMs: 400 } as never;
  expect(await harness.runAttempt({ ...agent, tools: { act } })).toMatchObject({ kind: "exit" });
  expect(harness.row(run)).toMatchObject({ owner: null, takeovers: 0, effectsSettleAt: startedAt + LEASE_MS });
  harness.clock.after(startedAt + LEASE_MS - 1 - harness.clock.now(), () => land(keys[0] ?? ""));
  expect(await beatReply(harness.runAttempt(agent))).toMatchObject({ route: "wait" });
  await harness.runUntilIdle(agent);
  expect(effects).toEqual(keys);
  expect(harness.row(run).status).toBe("completed");
});

test("schedule 35: an operator looks before effectsSettleAt, sees nothing and answers *retry*; the frozen owner acts", async () => {
  const { harness, effects, land, agent, run, startedAt, a } = await takenOverRun("unsafe");
  await harness.runUntilIdle(agent);
  const before = harness.row(run);
  const early = await reconcileAs(harness, run, "retry");
  expect(early).toEqual({ kind: "tooEarly", reconcilableFrom: startedAt + LEASE_MS + MS.settle });
  expect(await reconcileAs(harness, run, "failed")).toEqual(early);
  expect(harness.row(run)).toEqual(before);
  expect(harness.world.store.messages.size).toBe(0);
  land(a.key);
  harness.clock.moveTo(startedAt + LEASE_MS + MS.settle);
  expect(await reconcileAs(harness, run, "succeeded")).toEqual({ kind: "accepted" });
  await harness.runUntilIdle(agent);
  expect(effects).toEqual([a.key]);
});

test("schedule 42: an answer arrives before a later effectsSettleAt, is kept, and is applied then", async () => {
  const harness = createChainHarness();
  const { effects, agent } = externalService("unsafe");
  const { run } = await beginRun(harness.world, agent, {});
  const a = await enterTool(harness, agent, killableWorld(harness.world).world);
  a.out.end(null);
  await harness.runUntilIdle(agent);
  harness.clock.moveTo(harness.clock.now() + LEASE_MS + MS.settle);
  expect(await reconcileAs(harness, run, "retry")).toEqual({ kind: "accepted" });
  // The beat that the answer woke dies right after its claim: from here on there is quiet again.
  await harness.loseAttempt(agent, crashAfterCall(harness.world, "claim"));
  expect(await beatReply(harness.runAttempt(agent))).toMatchObject({ route: "wait" });
  expect(harness.row(run)).toMatchObject({ wakeCount: 1, wakeCountSeen: 1 });
  expect(effects).toEqual([]);
  await harness.runUntilIdle(agent);
  expect(effects).toEqual([a.key]);
  expect(harness.row(run).status).toBe("completed");
});

test("schedule 48: a call ends without an answer, and its settle time is judged by a clock that is ahead", async () => {
  // Within its beat, and in a process that was frozen until its lease was over.
  for (const frozenMs of [0, LEASE_MS]) {
    const harness = createChainHarness();
    const startedAt = harness.clock.now();
    const settledAt = startedAt + Math.max(MS.beat, frozenMs) + MS.settle;
    const effects: string[] = [];
    const run = ({ key }: { readonly key: string }): never => {
      harness.clock.moveTo(startedAt + frozenMs);
      harness.clock.after(settledAt - 1 - harness.clock.now(), () => effects.push(key));
      throw new OutcomeUnknown("the connection broke");
    };
    const agent = scriptedAgent({ effect: "unsafe", run });
    const payload = await beginRun(harness.world, agent, {});
    await harness.runUntilIdle(agent);
    expect(harness.row(payload.run).status).toBe("blocked");
    // By the clock of whoever looks the request has settled; by the one of the call it has not.
    harness.clock.moveTo(settledAt - MS.skew + 1);
    const early = await reconcileAs({ world: withClockAhead(harness.world, MS.skew - 1) }, payload.run, "failed");
    expect(early).toMatchObject({ kind: "tooEarly" });
    expect(effects).toEqual([]);
    harness.clock.moveTo(settledAt);
    expect(effects).toHaveLength(1);
  }
});

test("schedule 80: A's run is released while A is in its tool, B would probe *absent*; A's request takes effect", async () => {
  const { harness, effects, land, agent, run, startedAt, a } = await takenOverRun("probed");
  // As a release does that commits no event. An older lease is long over.
  harness.clock.moveTo(harness.clock.now() + MS.settle + MS.skew);
  const effectsSettleAt = harness.clock.now() - MS.settle;
  harness.world.store.rows.set(run, {
    ...harness.row(run),
    owner: null,
    leaseUntil: null,
    claims: 0,
    effectsSettleAt,
  });
  expect(await beatReply(harness.runAttempt(agent))).toMatchObject({ route: "wait" });
  harness.clock.after(startedAt + LEASE_MS + MS.settle - 1 - harness.clock.now(), () => land(a.key));
  await harness.runUntilIdle(agent);
  expect(effects).toEqual([a.key]);
  expect(harness.row(run).status).toBe("completed");
});
