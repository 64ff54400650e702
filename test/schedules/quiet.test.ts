/** An invocation that lost its run may still act inside of its lease: until it cannot, nobody says that it did not. */
import { expect, test } from "vitest";
import type { Answer } from "../../src/core/event.ts";
import { OutcomeUnknown } from "../../src/index.ts";
import { ledger, transcript } from "../../src/operations/views.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import type { World } from "../../src/ports/world.ts";
import { begin, mortal } from "../support/drive.ts";
import { BEAT_MS, SETTLE_MS, SKEW_MS, actor, chainedStage, replyOf, rowOf } from "../support/stage.ts";
import { ahead, dyingAfter, enterTool, hear, lose, perform, playOut, rest, step } from "../support/steps.ts";

const LEASE_MS = BEAT_MS + SKEW_MS;

const say = ({ world }: { readonly world: World }, run: string, as: Answer["as"]) =>
  reconcile(world, { run, call: "c1", as, result: null, by: "ann", note: null });

/** A tool whose request takes effect on the other side, which can be asked about it. */
function outside(effect: "probed" | "unsafe") {
  const effects: string[] = [];
  const land = (key: string): string => {
    effects.push(key);
    return "acted";
  };
  const probe = (key: string) => (effects.includes(key) ? { kind: "happened", result: "seen" } : { kind: "absent" });
  const agent = actor({ effect, run: ({ key }) => land(key), ...(effect === "probed" ? { probe } : {}) });
  return { effects, land, agent };
}

/** A is in its tool, and its chain takes it for dead. */
async function overtaken(effect: "probed" | "unsafe") {
  const on = chainedStage();
  const { effects, land, agent } = outside(effect);
  const { run } = await begin(on.world, agent, {});
  const startedAt = on.clock.now();
  const a = await enterTool(on, agent);
  hear(on, a.out, null);
  return { on, effects, land, agent, run, startedAt, a };
}

test("schedule 3: A's probed call is under way, B takes over and would be told *absent*; A acts", async () => {
  const { on, effects, land, agent, run, startedAt, a } = await overtaken("probed");
  expect(await replyOf(step(on, agent))).toMatchObject({ route: "wait" });
  on.clock.moveTo(startedAt + LEASE_MS - 1);
  land(a.key);
  await playOut(on, agent);
  expect(effects).toEqual([a.key]);
  expect(rowOf(on, run).status).toBe("completed");
  expect(await ledger(on.world, run)).toMatchObject([{ status: "reconciled", attempts: 1 }]);
});

test("schedule 4: A's unsafe call is unknown, a person sees nothing and would say *retry*; A acts", async () => {
  const { on, effects, land, agent, run, startedAt, a } = await overtaken("unsafe");
  expect(await replyOf(step(on, agent))).toMatchObject({ route: "park" });
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "blocked", effectsSettleAt: startedAt + LEASE_MS });
  // Long after any request of a dead invocation would have settled.
  on.clock.moveTo(startedAt + LEASE_MS - 1);
  await say(on, run, "retry");
  await playOut(on, agent);
  land(a.key);
  on.clock.moveTo(startedAt + LEASE_MS + SETTLE_MS);
  await say(on, run, "succeeded");
  await playOut(on, agent);
  expect(effects).toEqual([a.key]);
  expect(await ledger(on.world, run)).toMatchObject([{ status: "reconciled", attempts: 1 }]);
});

test("schedule 5: B would end the run as cancelled while A, overtaken but alive, starts its effect", async () => {
  const { on, effects, land, agent, run, startedAt, a } = await overtaken("unsafe");
  expect(await sendRequest(on.world, { run, want: "cancel" })).toBe("requested");
  expect(await replyOf(step(on, agent))).toMatchObject({ route: "wait" });
  on.clock.moveTo(startedAt + LEASE_MS - 1);
  expect(rowOf(on, run).status).toBe("running");
  land(a.key);
  a.thaw("it acts inside of its lease");
  expect(await replyOf(a.result)).toMatchObject({ route: "superseded" });
  await playOut(on, agent);
  expect(on.clock.now()).toBeGreaterThanOrEqual(startedAt + LEASE_MS);
  expect(rowOf(on, run)).toMatchObject({ status: "cancelled", endNotified: true });
  expect(effects).toEqual([a.key]);
  expect(JSON.stringify(await transcript(on.world, run))).not.toContain("inside of its lease");
});

test("schedule 22: a tool times out, the probe would say *absent*, and the first request lands late", async () => {
  const settleMs = 5_000;
  const on = chainedStage({ settleMs });
  const effects: string[] = [];
  const keys: string[] = [];
  const agent = actor({
    effect: "probed",
    timeoutMs: 400,
    run: ({ key, signal }) => {
      keys.push(key);
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          on.clock.after(settleMs - 1, () => effects.push(key));
          reject(new Error("stopped, and its request is on the way"));
        });
      });
    },
    probe: (key) => (effects.includes(key) ? { kind: "happened", result: "landed late" } : { kind: "absent" }),
  });
  const { run } = await begin(on.world, agent, {});
  expect(await replyOf(step(on, agent))).toMatchObject({ route: "wait" });
  expect(effects).toEqual([]);
  await playOut(on, agent);
  expect(keys).toHaveLength(1);
  expect(effects).toEqual(keys);
  expect(JSON.stringify(await transcript(on.world, run))).toContain("landed late");
});

test("schedule 28: a call outlives its timeout in a warm process, and would act after a person's *retry*", async () => {
  const on = chainedStage();
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
  const agent = actor({ effect: "unsafe", timeoutMs: 400, run });
  const payload = await begin(on.world, agent, {});
  const ended = await step(on, agent);
  if (ended.kind === "exit") alive += 1;
  await playOut(on, agent);
  expect(rowOf(on, payload.run).status).toBe("blocked");
  const early = await say(on, payload.run, "retry");
  if (early.kind !== "tooEarly") throw new Error(`not refused: ${early.kind}`);
  on.clock.moveTo(early.askFrom);
  expect(await say(on, payload.run, "retry")).toEqual({ kind: "accepted" });
  // The later invocation has done what was asked, and the frozen promise thaws.
  await playOut(on, agent);
  for (const thaw of thaws) thaw();
  await rest();
  expect(effects).toHaveLength(1);
  expect(rowOf(on, payload.run).status).toBe("completed");
});

test("schedule 33: a request leaves, its beat dies, the run is handed over when the lease is over; it lands", async () => {
  const on = chainedStage();
  const { effects, land, agent } = outside("probed");
  const payload = await begin(on.world, agent, {});
  const startedAt = on.clock.now();
  const a = await enterTool(on, agent);
  hear(on, a.out, null);
  // The clock of whoever hands over is ahead, as far as the margin allows.
  on.clock.moveTo(startedAt + LEASE_MS - SKEW_MS);
  const by = { world: ahead(on.world, SKEW_MS), agent };
  expect(await perform({ kind: "rescue", payload }, by)).toEqual({ kind: "rescue", until: null });
  expect(rowOf(on, payload.run)).toMatchObject({ owner: null, chain: 2, effectsSettleAt: startedAt + LEASE_MS });
  on.clock.after(startedAt + LEASE_MS + SETTLE_MS - 1 - on.clock.now(), () => land(a.key));
  await playOut(on, agent);
  expect(effects).toEqual([a.key]);
  expect(rowOf(on, payload.run).status).toBe("completed");
});

test("schedule 34: a call outlives its timeout, its beat releases; before its process ends the promise fires", async () => {
  const on = chainedStage();
  const { effects, land, agent } = outside("probed");
  const { run } = await begin(on.world, agent, {});
  const startedAt = on.clock.now();
  const keys: string[] = [];
  const frozen = ({ key }: { readonly key: string }): Promise<never> => {
    keys.push(key);
    return new Promise(() => undefined);
  };
  const act = { ...agent.tools["act"], run: frozen, timeoutMs: 400 } as never;
  expect(await step(on, { ...agent, tools: { act } })).toMatchObject({ kind: "exit" });
  expect(rowOf(on, run)).toMatchObject({ owner: null, takeovers: 0, effectsSettleAt: startedAt + LEASE_MS });
  on.clock.after(startedAt + LEASE_MS - 1 - on.clock.now(), () => land(keys[0] ?? ""));
  expect(await replyOf(step(on, agent))).toMatchObject({ route: "wait" });
  await playOut(on, agent);
  expect(effects).toEqual(keys);
  expect(rowOf(on, run).status).toBe("completed");
});

test("schedule 35: a person looks during quiet, sees nothing and says *retry*; the frozen owner acts", async () => {
  const { on, effects, land, agent, run, startedAt, a } = await overtaken("unsafe");
  await playOut(on, agent);
  const before = rowOf(on, run);
  const early = await say(on, run, "retry");
  expect(early).toEqual({ kind: "tooEarly", askFrom: startedAt + LEASE_MS + SETTLE_MS });
  expect(await say(on, run, "failed")).toEqual(early);
  expect(rowOf(on, run)).toEqual(before);
  expect(on.world.store.messages.size).toBe(0);
  land(a.key);
  on.clock.moveTo(startedAt + LEASE_MS + SETTLE_MS);
  expect(await say(on, run, "succeeded")).toEqual({ kind: "accepted" });
  await playOut(on, agent);
  expect(effects).toEqual([a.key]);
});

test("schedule 42: an answer meets a later quiet, is kept, and is applied when that is over", async () => {
  const on = chainedStage();
  const { effects, agent } = outside("unsafe");
  const { run } = await begin(on.world, agent, {});
  const a = await enterTool(on, agent, mortal(on.world).world);
  hear(on, a.out, null);
  await playOut(on, agent);
  on.clock.moveTo(on.clock.now() + LEASE_MS + SETTLE_MS);
  expect(await say(on, run, "retry")).toEqual({ kind: "accepted" });
  // The beat that the answer woke dies right after its claim: from here on there is quiet again.
  await lose(on, agent, dyingAfter(on.world, "claim"));
  expect(await replyOf(step(on, agent))).toMatchObject({ route: "wait" });
  expect(rowOf(on, run)).toMatchObject({ wakeCount: 1, wakeCountSeen: 1 });
  expect(effects).toEqual([]);
  await playOut(on, agent);
  expect(effects).toEqual([a.key]);
  expect(rowOf(on, run).status).toBe("completed");
});

test("schedule 48: a call ends without an answer, and its settle time is judged by a clock that is ahead", async () => {
  const on = chainedStage();
  const effects: string[] = [];
  const run = ({ key }: { readonly key: string }): never => {
    on.clock.after(SETTLE_MS - 1, () => effects.push(key));
    throw new OutcomeUnknown("the connection broke");
  };
  const agent = actor({ effect: "unsafe", run });
  const payload = await begin(on.world, agent, {});
  const startedAt = on.clock.now();
  await playOut(on, agent);
  expect(rowOf(on, payload.run).status).toBe("blocked");
  // By the clock of whoever looks the request has settled; by the one of the call it has not.
  on.clock.moveTo(startedAt + SETTLE_MS - SKEW_MS + 1);
  const early = await say({ world: ahead(on.world, SKEW_MS - 1) }, payload.run, "failed");
  expect(early).toMatchObject({ kind: "tooEarly" });
  expect(effects).toEqual([]);
  on.clock.moveTo(startedAt + SETTLE_MS);
  expect(effects).toHaveLength(1);
});

test("schedule 80: A's run is given back while A is in its tool, B finds it and would be told *absent*; A's request lands", async () => {
  const { on, effects, land, agent, run, a } = await overtaken("probed");
  // As a release does that commits no event. An older lease is long over.
  on.clock.moveTo(on.clock.now() + SETTLE_MS + SKEW_MS);
  const effectsSettleAt = on.clock.now() - SETTLE_MS;
  on.world.store.rows.set(run, { ...rowOf(on, run), owner: null, leaseUntil: null, claims: 0, effectsSettleAt });
  const foundAt = on.clock.now();
  expect(await replyOf(step(on, agent))).toMatchObject({ route: "wait" });
  on.clock.after(foundAt + SETTLE_MS - 1 - on.clock.now(), () => land(a.key));
  await playOut(on, agent);
  expect(effects).toEqual([a.key]);
  expect(rowOf(on, run).status).toBe("completed");
});
