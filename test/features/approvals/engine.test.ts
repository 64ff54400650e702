/** Gates in the runner: who is asked, what a decision is answered, and what runs then. */
import { describe, expect, test } from "vitest";
import type { Conversation } from "../../../src/index.ts";
import { decide } from "../../../src/operations/decide.ts";
import type { Json } from "../../../src/core/json.ts";
import { ledger } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import {
  type ApprovalAgentOptions,
  runUntilGate,
  gatesOf,
  payCalls,
  toolResultsOf,
  decideGate,
  stateOf,
} from "../../support/agents/approval-agent.ts";
import { drive } from "../../support/harness/drive.ts";
import { FINAL_REPLY, parkRun, createHarness, flushPromises } from "../../support/harness/harness.ts";

const HOURS_24 = 24 * 3_600_000;
const AGAIN = "a".repeat(26);

describe("a call that needs approval", () => {
  test("is not started: the run parks until its gate expires, and an operator sees the call", async () => {
    const harness = createHarness();
    const { run, payload, ran } = await runUntilGate(harness);
    expect(payload).toMatchObject({ route: "park", seconds: HOURS_24 / 1_000 });
    expect(harness.row(run)).toMatchObject({ status: "waiting", phase: "AwaitingApproval", owner: null });
    const [gate] = await gatesOf(harness.world, run);
    expect(gate).toMatchObject({ reason: "this tool always needs approval", decision: null });
    expect(gate?.expiresAt).toBe(harness.clock.now() + HOURS_24);
    expect(harness.row(run).wakeAt).toBe(gate?.expiresAt);
    expect(ran).toEqual([]);
    expect(harness.row(run).spent.toolCalls).toBe(0);
    expect(await ledger(harness.world, run)).toMatchObject([{ status: "intended", attempts: 0 }]);
  });

  test("is gated as its policy decides: with a reason, or not at all", async () => {
    const harness = createHarness();
    const approval = ({ euros }: { euros: number }): string | false => (euros > 10 ? `${euros} is much` : false);
    const reply = payCalls({ euros: 5 }, { euros: 50 });
    const { run, ran } = await runUntilGate(harness, {
      approval: approval as ApprovalAgentOptions["approval"] & {},
      reply,
    });
    expect(ran.map(({ args }) => args)).toEqual([{ euros: 5 }]);
    expect(await gatesOf(harness.world, run)).toMatchObject([{ reason: "50 is much" }]);
    expect((await stateOf(harness.world, run)).open.map(({ call }) => call)).toEqual(["c2"]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("no rates today");
      },
      "its approval policy threw: no rates today",
    ],
    ["answers what is no answer", () => undefined, "its approval policy returned no reason and not false: undefined"],
    ["gives a promise that rejects", () => Promise.reject(new Error("503")), "its approval policy threw: 503"],
    ["gives a promise of a reason", async () => "50 is much", "50 is much"],
    ["rejects with nothing", () => Promise.reject(null as never), "its approval policy threw: null"],
    ["says nothing", () => "", ""],
  ])("is gated also if its policy %s, because it was not judged", async (_, approval, reason) => {
    const harness = createHarness();
    const { run, ran } = await runUntilGate(harness, { approval: approval as ApprovalAgentOptions["approval"] & {} });
    expect(await gatesOf(harness.world, run)).toMatchObject([{ reason }]);
    expect(ran).toEqual([]);
  });

  test("is gated if its policy gives no answer in the time of its beat, and a late rejection ends nothing", async () => {
    const harness = createHarness();
    const late = Promise.withResolvers<false>();
    const { run, ran } = await harness.advanceUntilSettled(runUntilGate(harness, { approval: () => late.promise }));
    late.reject(new Error("too late"));
    await flushPromises();
    expect(await gatesOf(harness.world, run)).toMatchObject([
      { reason: expect.stringMatching(/^its approval policy gave no answer within \d+ ms$/) },
    ]);
    expect(ran).toEqual([]);
  });

  test("starts without a gate once its asynchronous policy says that none is needed", async () => {
    const harness = createHarness();
    const { payload, ran } = await runUntilGate(harness, { approval: async () => false as const });
    expect({ route: payload.route, ran: ran.length }).toEqual({ route: "done", ran: 1 });
  });

  test("is refused at once when its arguments do not fit: no gate opens", async () => {
    const harness = createHarness();
    const { run, payload } = await runUntilGate(harness, { reply: payCalls({ euros: "five" }) });
    expect(payload.route).toBe("done");
    expect(await toolResultsOf(harness, run)).toMatchObject([
      { outcome: "failed", value: { json: expect.stringMatching(/^InvalidArguments/) } },
    ]);
  });
});

describe("a decision", () => {
  test("is accepted once; its repetition gets the decision that counts, then and later", async () => {
    const harness = createHarness();
    const { run, runner, payload, ran } = await runUntilGate(harness);
    const [gate] = await gatesOf(harness.world, run);
    await parkRun(harness, { reply: payload, token: "t1" });
    expect(await decideGate(harness.world, { run, as: "approve" })).toMatchObject({ kind: "accepted" });
    expect(harness.wakes).toEqual(["t1"]);
    const standing = { kind: "duplicate", decision: { as: "approve", args: null, by: "ann", note: null } };
    // On its way.
    expect(await decideGate(harness.world, { run, as: "deny" })).toEqual(standing);
    const after = await drive(runner, payload);
    expect(ran).toMatchObject([{ args: { euros: 5 } }]);
    // Applied: the run has ended.
    expect(after.route).toBe("done");
    expect(await decideGate(harness.world, { run, as: "deny", gate: gate?.gate ?? "" })).toEqual(standing);
  });

  test("about a decided gate gets the earlier decision and changes nothing", async () => {
    const harness = createHarness();
    const reply = ({ calls }: Conversation) =>
      calls.length < 2 ? { calls: [{ tool: "pay", args: { euros: calls.length } }] } : { text: "over" };
    const { run, runner, payload } = await runUntilGate(harness, { reply });
    const [first] = await gatesOf(harness.world, run);
    await decideGate(harness.world, { run, as: "approve" });
    await drive(runner, payload);
    const before = harness.row(run);
    const again = await decideGate(harness.world, { run, as: "deny", gate: first?.gate ?? "" });
    expect(again).toEqual({ kind: "duplicate", decision: { as: "approve", args: null, by: "ann", note: null } });
    expect(harness.row(run)).toEqual(before);
  });

  test.each(["c1", "c9", `c1-${AGAIN}`, ""])(
    "about %o, which is no gate of the run, is refused before any write (schedule 29)",
    async (gate) => {
      const harness = createHarness();
      const { run } = await runUntilGate(harness);
      const [open] = await gatesOf(harness.world, run);
      const before = harness.row(run);
      const said = { run, gate, as: "approve", args: null, by: "ann", note: null } as const;
      const why = gate === "c1" ? `c1 is a call, and a decision names its whole gate: ${open?.gate}` : null;
      expect(await decide(harness.world, said)).toEqual({ kind: "stale", gates: [open?.gate], why });
      expect(harness.row(run)).toEqual(before);
      expect(await decide(harness.world, { ...said, run: `local-${AGAIN}` })).toEqual({ kind: "missing" });
    },
  );

  test("is too late when the run has ended", async () => {
    const harness = createHarness();
    const { run, runner, payload } = await runUntilGate(harness);
    const [open] = await gatesOf(harness.world, run);
    await sendRequest(harness.world, { run, want: "cancel" });
    expect(await drive(runner, payload)).toMatchObject({ route: "done" });
    expect(await decideGate(harness.world, { run, as: "approve", gate: open?.gate ?? "" })).toEqual({ kind: "late" });
    expect(await ledger(harness.world, run)).toMatchObject([{ status: "intended", attempts: 0 }]);
  });

  test("about a closed gate is refused also when the history with its outcome is lost", async () => {
    const harness = createHarness();
    const reply = ({ calls }: Conversation) =>
      calls.length < 2 ? { calls: [{ tool: "pay", args: { euros: calls.length } }] } : FINAL_REPLY;
    const { run, runner, payload } = await runUntilGate(harness, { reply });
    const [first] = await gatesOf(harness.world, run);
    await decideGate(harness.world, { run, as: "approve" });
    await drive(runner, payload);
    const newest = harness.row(run).snapshot.key;
    for (const key of harness.world.store.objects.keys()) {
      if (key.includes("/snapshots/") && key !== newest) harness.world.store.objects.delete(key);
    }
    const [open] = await gatesOf(harness.world, run);
    const again = await decideGate(harness.world, { run, as: "deny", gate: first?.gate ?? "" });
    expect(again).toEqual({ kind: "stale", gates: [open?.gate], why: null });
  });

  test("on a paused run is accepted, and applied after the resume", async () => {
    const harness = createHarness();
    const { run, runner, payload, ran } = await runUntilGate(harness);
    await sendRequest(harness.world, { run, want: "pause" });
    const paused = await drive(runner, payload);
    expect(harness.row(run).status).toBe("paused");
    expect(await decideGate(harness.world, { run, as: "approve" })).toMatchObject({ kind: "accepted" });
    harness.clock.moveTo(harness.clock.now() + 2 * HOURS_24);
    const still = await drive(runner, paused);
    expect(still.route).toBe("park");
    expect(ran).toEqual([]);
    await sendRequest(harness.world, { run, want: "resume" });
    // Long past its expiry: it was decided in time.
    expect(await drive(runner, still)).toMatchObject({ route: "done" });
    expect(ran).toHaveLength(1);
  });

  test("that is sent twice after a lost response is one decision, and the sender gets its own", async () => {
    const harness = createHarness();
    const { run } = await runUntilGate(harness);
    let sent = 0;
    const deliver: typeof harness.world.inbox.deliver = async (of) => {
      sent += 1;
      const outcome = await harness.world.inbox.deliver(of);
      return sent === 1 ? { kind: "ambiguous", why: "timeout" } : outcome;
    };
    const world = { ...harness.world, inbox: { ...harness.world.inbox, deliver } };
    expect(await decideGate(world, { run, as: "approve" })).toMatchObject({
      kind: "duplicate",
      decision: { as: "approve" },
    });
    expect({ sent, wakeCount: harness.row(run).wakeCount }).toEqual({ sent: 2, wakeCount: 1 });
  });
});

describe("several gates of one reply", () => {
  test("are decided separately, in any order, and each call runs as decided", async () => {
    const harness = createHarness();
    const { run, runner, payload, ran } = await runUntilGate(harness, {
      reply: payCalls({ euros: 1 }, { euros: 2 }, { euros: 3 }),
    });
    const gates = await gatesOf(harness.world, run);
    expect(new Set(gates.map(({ gate }) => gate)).size).toBe(3);
    expect(new Set(gates.map(({ planHash }) => planHash)).size).toBe(1);
    const by = (index: number, as: "approve" | "deny" | "edit", args: Json = null) =>
      decideGate(harness.world, { run, as, args, gate: gates[index]?.gate ?? "" });
    await by(2, "approve");
    const one = await drive(runner, payload);
    expect(one.route).toBe("park");
    expect(ran.map(({ args }) => args)).toEqual([{ euros: 3 }]);
    expect(harness.row(run)).toMatchObject({ status: "waiting", phase: "AwaitingApproval" });
    await by(0, "deny");
    await by(1, "edit", { euros: 20 });
    expect(await drive(runner, one)).toMatchObject({ route: "done" });
    expect(ran.map(({ args }) => args)).toEqual([{ euros: 3 }, { euros: 20 }]);
    expect((await toolResultsOf(harness, run)).map(({ call, outcome }) => ({ call, outcome }))).toEqual([
      ...[
        { call: "c3", outcome: "succeeded" },
        { call: "c1", outcome: "failed" },
        { call: "c2", outcome: "succeeded" },
      ],
    ]);
  });

  test("do not delay a call without a gate, which runs at once and only once", async () => {
    const harness = createHarness();
    const reply = ({ calls }: Conversation) =>
      calls.length === 0
        ? {
            calls: [
              { tool: "pay", args: { euros: 1 } },
              { tool: "look", args: {} },
            ],
          }
        : FINAL_REPLY;
    const { run, runner, payload } = await runUntilGate(harness, { reply });
    expect((await stateOf(harness.world, run)).open.map(({ call }) => call)).toEqual(["c1"]);
    await decideGate(harness.world, { run, as: "approve" });
    await drive(runner, payload);
    expect(await ledger(harness.world, run)).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
  });

  test("with long reasons and long edits fit into the state together", async () => {
    const harness = createHarness();
    const many = Array.from({ length: 16 }, (_, index) => ({ euros: index }));
    const approval = (() => "because it is a large sum of money ".repeat(50)) as never;
    const { run, runner, payload, ran } = await runUntilGate(harness, { approval, reply: payCalls(...many) });
    expect(payload.route).toBe("park");
    const gates = await gatesOf(harness.world, run);
    expect(gates).toHaveLength(16);
    for (const { gate } of gates) {
      await decideGate(harness.world, { run, gate, as: "edit", args: { euros: 1, note: "x".repeat(4_000) } });
    }
    expect(await drive(runner, payload)).toMatchObject({ route: "done" });
    expect(ran).toHaveLength(16);
  });
});
