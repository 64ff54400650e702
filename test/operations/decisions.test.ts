/** What comes of a decision: approved, edited, denied, or none in time; and what the model and the checks see of it. */
import { describe, expect, test } from "vitest";
import type { Agent, SettledCall, ToolSource } from "../../src/ports/agent.ts";
import { type Conversation, check } from "../../src/index.ts";
import type { Json } from "../../src/core/json.ts";
import { performOperation } from "../../src/operations/perform.ts";
import { OPERATIONS } from "../../src/operations/table.ts";
import { ledger, timeline } from "../../src/operations/views.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { send } from "../../src/operations/steer.ts";
import {
  runUntilGate,
  approvalAgent,
  gatesOf,
  payCalls,
  toolResultsOf,
  decideGate,
  stateOf,
} from "../support/agents/approval-agent.ts";
import { attemptBeat, drive, runnerOf } from "../support/harness/drive.ts";
import { type Harness, FINAL_REPLY, neverSettles, beatReply, createHarness } from "../support/harness/harness.ts";
import { COMMIT } from "../../src/protocol/row-commit.ts";
import { type DecisionCalls, withCalls } from "../../src/testing/decisions.ts";
import { beforeCall } from "../support/harness/chain-steps.ts";

const keysOf = async (harness: Harness, run: string): Promise<readonly string[]> =>
  ((await timeline(harness.world, { run, after: 0 })) ?? []).flatMap((event) =>
    event.kind === "ToolIntended" ? [event.key] : [],
  );

test("a decision that names a call is refused with the gate that it has to name", async () => {
  const harness = createHarness();
  const { run } = await runUntilGate(harness);
  const gates = (await gatesOf(harness.world, run)).map(({ gate }) => gate);
  const refused = await decideGate(harness.world, { run, as: "approve", gate: "c1" });
  const why = `c1 is a call, and a decision names its whole gate: ${gates[0] ?? ""}`;
  expect(refused).toEqual({ kind: "stale", gates, why });
  expect(await decideGate(harness.world, { run, as: "approve", gate: gates[0] ?? "" })).toMatchObject({
    kind: "accepted",
  });
});

describe("an approved call", () => {
  test("runs with the key that was committed before the gate opened", async () => {
    const harness = createHarness();
    const { run, runner, payload, ran } = await runUntilGate(harness);
    const key = (await stateOf(harness.world, run)).open[0]?.intent?.key;
    await decideGate(harness.world, { run, as: "approve" });
    expect(await drive(runner, payload)).toMatchObject({ route: "done" });
    expect(ran).toEqual([{ args: { euros: 5 }, key }]);
    expect(await ledger(harness.world, run)).toMatchObject([{ status: "succeeded", attempts: 1, key }]);
    expect(harness.row(run).spent.toolCalls).toBe(1);
  });

  test("that is unsafe starts in the epoch that absorbed the approval; when that dies first, an operator is asked", async () => {
    const harness = createHarness();
    const { run, runner, payload, ran, agent } = await runUntilGate(harness);
    await decideGate(harness.world, { run, as: "approve" });
    // The commit that releases the call is durable, and its process never hears of it.
    const commit: DecisionCalls["commit"] = async (of) => {
      const outcome = await harness.world.table.decide(of, COMMIT);
      return of.release ? outcome : neverSettles();
    };
    void attemptBeat(runnerOf({ ...harness.world, table: withCalls(harness.world.table, { commit }) }, agent), payload);
    await expect.poll(async () => (await stateOf(harness.world, run)).open[0]?.status).toBe("started");
    const { epoch } = harness.row(run);
    const { open } = await stateOf(harness.world, run);
    expect(open).toMatchObject([{ releasedBy: epoch }]);
    expect(open[0]?.heldBy).toBeUndefined();
    const blocked = await beatReply(attemptBeat(runner, payload, 1));
    expect(blocked.route).toBe("park");
    expect(ran).toEqual([]);
    expect(harness.row(run)).toMatchObject({ status: "blocked", epoch: epoch + 1 });
    // Nobody is asked to approve it again: who says *retry* has seen what it is.
    harness.clock.moveTo((await stateOf(harness.world, run)).open[0]?.reconcilableFrom ?? 0);
    const said = { run, call: "c1", as: "retry", result: null, by: "ann", note: null } as const;
    expect(await reconcile(harness.world, said)).toMatchObject({ kind: "accepted" });
    expect(await drive(runner, blocked)).toMatchObject({ route: "done" });
    expect(ran).toHaveLength(1);
    const asks = ((await timeline(harness.world, { run, after: 0 })) ?? []).filter(
      ({ kind }) => kind === "ApprovalRequested",
    );
    expect(asks).toHaveLength(1);
  });

  test("is treated as unsafe when its tool became unsafe while its gate was open", async () => {
    const harness = createHarness();
    const { run, payload } = await runUntilGate(harness, { effect: "keyed" });
    await decideGate(harness.world, { run, as: "approve" });
    // Deployed in the meantime.
    const ran: { readonly args: Json; readonly key: string }[] = [];
    const run2 = () => (ran.length > 1 ? "paid twice" : neverSettles());
    const newer = runnerOf(harness.world, approvalAgent({ ran, effect: "unsafe", version: "2", run: run2 }));
    void attemptBeat(newer, payload);
    await expect.poll(() => ran.length).toBe(1);
    const reply = await beatReply(attemptBeat(newer, payload, 1));
    expect(ran).toHaveLength(1);
    expect(reply.route).toBe("park");
    expect((await stateOf(harness.world, run)).open).toMatchObject([
      { status: "unknown", intent: { effect: "unsafe" } },
    ]);
    // It is the same intent: one key for all tries.
    expect(new Set(await keysOf(harness, run)).size).toBe(1);
  });
});

test("the answer to an approval says at once that the agent has no such tool any more, where its code is known", async () => {
  const decideOver = async (as: "approve" | "deny", agentOf: (agent: Agent) => Promise<Agent | null>) => {
    const harness = createHarness();
    const { world } = harness;
    const { run, agent } = await runUntilGate(harness);
    const [{ gate } = { gate: "" }] = await gatesOf(world, run);
    const context = { world, by: "ann", tenant: "local", agentOf: () => agentOf(agent) };
    return performOperation(OPERATIONS.decide, context, { run, gate, as, note: null, waitMs: 0 });
  };
  const accepted = { kind: "accepted", stage: "waits" };
  const without = async ({ tools: { pay: _, ...tools }, ...agent }: Agent): Promise<Agent> => ({ ...agent, tools });
  expect(await decideOver("approve", without)).toEqual({ ...accepted, toolGone: true });
  expect(await decideOver("deny", without)).toEqual(accepted);
  expect(await decideOver("approve", async (agent) => agent)).toEqual(accepted);
  // Its tools are those that a server lists, which only a beat asks.
  const listed = { label: "the server", prefix: "pay", list: async () => ({}) } as unknown as ToolSource;
  expect(await decideOver("approve", async (agent) => ({ ...(await without(agent)), sources: [listed] }))).toEqual(
    accepted,
  );
  expect(await decideOver("approve", () => Promise.reject(new Error("a file that cannot be loaded")))).toEqual(
    accepted,
  );
});

describe("an edited call", () => {
  test("is a new intent with a new key, runs with the edited arguments, and opens no second gate", async () => {
    const harness = createHarness();
    const { run, runner, payload, ran } = await runUntilGate(harness);
    expect(await decideGate(harness.world, { run, as: "edit", args: { euros: 3 } })).toMatchObject({
      kind: "accepted",
    });
    expect(await drive(runner, payload)).toMatchObject({ route: "done" });
    const [before, after] = await keysOf(harness, run);
    expect(after).not.toBe(before);
    expect(ran).toEqual([{ args: { euros: 3 }, key: after }]);
    expect(await ledger(harness.world, run)).toMatchObject([{ key: after, attempts: 1, status: "succeeded" }]);
  });

  test("is shown to the model and to the definition of done with its edited arguments", async () => {
    const harness = createHarness();
    const told: string[] = [];
    const seen: SettledCall[] = [];
    const reply = (conversation: Conversation) => {
      told.push(conversation.messages.at(-1)?.text ?? "");
      return payCalls({ euros: 5 })(conversation);
    };
    const done = [
      check("cheap", (view) => {
        seen.push(...view.calls);
        return true;
      }),
    ];
    const { run, runner, payload } = await runUntilGate(harness, { reply, done });
    await decideGate(harness.world, { run, as: "edit", args: { euros: 3, note: "as a friend" } });
    await drive(runner, payload);
    expect(told[1]).toBe(
      'A person changed the arguments of this call before it ran, to {"euros":3,"note":"as a friend"}. What came of it: paid',
    );
    expect(seen).toEqual([
      { call: "c1", tool: "pay", args: { euros: 3, note: "as a friend" }, outcome: "succeeded", result: "paid" },
    ]);
    expect(await toolResultsOf(harness, run)).toMatchObject([{ edited: { json: { euros: 3, note: "as a friend" } } }]);
  });

  test("with unchanged arguments keeps its intent and its key", async () => {
    const harness = createHarness();
    const { run, runner, payload, ran } = await runUntilGate(harness);
    await decideGate(harness.world, { run, as: "edit", args: { euros: 5 } });
    await drive(runner, payload);
    expect(await keysOf(harness, run)).toEqual([ran[0]?.key]);
  });

  test("with a long note is stored outside of the state, and runs with all of it", async () => {
    const harness = createHarness();
    const { run, runner, payload, ran } = await runUntilGate(harness);
    const args = { euros: 3, note: "please ".repeat(2_000) };
    await decideGate(harness.world, { run, as: "edit", args });
    await drive(runner, payload);
    expect(ran.map((each) => each.args)).toEqual([args]);
    expect(await toolResultsOf(harness, run)).toMatchObject([{ edited: { kind: "blob" } }]);
  });
});

describe("a denied call", () => {
  test.each(["by a person", "because the gate expired"])(
    "%s, never runs, and the model gets the denial",
    async (how) => {
      const harness = createHarness();
      const told: string[] = [];
      const reply = (conversation: Conversation) => {
        told.push(conversation.messages.at(-1)?.text ?? "");
        return payCalls({ euros: 5 })(conversation);
      };
      const { run, runner, payload, ran } = await runUntilGate(harness, { reply });
      const isPerson = how === "by a person";
      if (isPerson) await decideGate(harness.world, { run, as: "deny" });
      else harness.clock.moveTo((await gatesOf(harness.world, run))[0]?.expiresAt ?? 0);
      expect(await drive(runner, payload)).toMatchObject({ route: "done" });
      expect(ran).toEqual([]);
      const words = isPerson ? "denied by ann" : "denied by expiry: no decision before the gate expired";
      expect(told[1]).toBe(`The call failed: ${words}`);
      expect(await ledger(harness.world, run)).toMatchObject([{ status: "failed", attempts: 0 }]);
      expect(harness.row(run).spent.toolCalls).toBe(0);
    },
  );

  test("is not denied by expiry before the gate expires", async () => {
    const harness = createHarness();
    const { run, runner, payload } = await runUntilGate(harness);
    const { expiresAt = 0 } = (await gatesOf(harness.world, run))[0] ?? {};
    harness.clock.moveTo(expiresAt - 1);
    const early = await drive(runner, payload);
    expect(early).toMatchObject({ route: "wait", seconds: 1 });
    expect(await gatesOf(harness.world, run)).toHaveLength(1);
    harness.clock.moveTo(expiresAt);
    expect(await drive(runner, early)).toMatchObject({ route: "done" });
  });
});

describe("in the beat in which its gate expires", () => {
  test("a decision that was delivered before counts", async () => {
    const harness = createHarness();
    const { run, runner, payload, ran } = await runUntilGate(harness);
    harness.clock.moveTo((await gatesOf(harness.world, run))[0]?.expiresAt ?? 0);
    expect(await decideGate(harness.world, { run, as: "approve" })).toMatchObject({ kind: "accepted" });
    expect(await drive(runner, payload)).toMatchObject({ route: "done" });
    expect(ran).toHaveLength(1);
  });

  test.each(["approve", "deny", "edit"] as const)(
    "schedule 13: a decision to %s right before the denial commits counts",
    async (as) => {
      const harness = createHarness();
      const { run, payload, ran, agent } = await runUntilGate(harness);
      harness.clock.moveTo((await gatesOf(harness.world, run))[0]?.expiresAt ?? 0);
      const act = async () =>
        expect(await decideGate(harness.world, { run, as, args: { euros: 4 } })).toMatchObject({ kind: "accepted" });
      const world = beforeCall(harness.world, "commit", act, ({ unlessWoken }) => unlessWoken);
      expect(await drive(runnerOf(world, agent), payload)).toMatchObject({ route: "done" });
      expect(ran.map(({ args }) => args)).toEqual(as === "deny" ? [] : [{ euros: as === "edit" ? 4 : 5 }]);
      const decisions = ((await timeline(harness.world, { run, after: 0 })) ?? []).flatMap((event) =>
        event.kind === "HumanApprovalReceived" ? [event.decision.by] : [],
      );
      expect(decisions).toEqual(["ann"]);
    },
  );

  test("a decision right after the denial gets the denial as its response", async () => {
    const harness = createHarness();
    const { run, payload, ran, agent } = await runUntilGate(harness, {
      reply: ({ calls }) => (calls.length < 2 ? payCalls({ euros: 5 })({ calls: [] } as never) : FINAL_REPLY),
    });
    const gate = (await gatesOf(harness.world, run))[0];
    harness.clock.moveTo(gate?.expiresAt ?? 0);
    const runner = runnerOf(harness.world, agent);
    const next = await beatReply(attemptBeat(runner, payload));
    expect(next.route).toBe("park");
    expect(await decideGate(harness.world, { run, as: "approve", gate: gate?.gate ?? "" })).toMatchObject({
      kind: "duplicate",
      decision: { as: "deny", by: "expiry" },
    });
    expect(ran).toEqual([]);
  });

  test("another message delays the denial and does not prevent it", async () => {
    const harness = createHarness();
    const { run, payload, ran, agent } = await runUntilGate(harness);
    harness.clock.moveTo((await gatesOf(harness.world, run))[0]?.expiresAt ?? 0);
    const act = () => send(harness.world, { run, text: "hurry", by: "ann", id: "w" });
    const world = beforeCall(harness.world, "commit", act, ({ unlessWoken }) => unlessWoken);
    expect(await drive(runnerOf(world, agent), payload)).toMatchObject({ route: "done" });
    expect(ran).toEqual([]);
    const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
    expect(events.filter(({ kind }) => kind === "HumanApprovalReceived")).toHaveLength(1);
    expect(events.filter((event) => event.kind === "MessageAbsorbed" && event.stage === "taken")).toHaveLength(1);
  });
});
