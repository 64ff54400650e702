/** Gates in the runner: who is asked, what a decision is answered, and what runs then. */
import { describe, expect, test } from "vitest";
import type { Conversation } from "../../../src/index.ts";
import { decide } from "../../../src/operations/decide.ts";
import type { Json } from "../../../src/core/json.ts";
import { ledger } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { type Asking, asked, gatesOf, pays, resultsOf, say, stateOf } from "../../support/asking.ts";
import { drive } from "../../support/drive.ts";
import { OVER, park, rowOf, stage } from "../../support/stage.ts";

const HOURS_24 = 24 * 3_600_000;
const AGAIN = "a".repeat(26);

describe("a call that is asked about", () => {
  test("is not started: the run parks until its gate expires, and a person sees what is asked", async () => {
    const on = stage();
    const { run, payload, ran } = await asked(on);
    expect(payload).toMatchObject({ route: "park", seconds: HOURS_24 / 1_000 });
    expect(rowOf(on, run)).toMatchObject({ status: "waiting", phase: "AwaitingApproval", owner: null });
    const [gate] = await gatesOf(on.world, run);
    expect(gate).toMatchObject({ reason: "this tool always needs approval", decision: null });
    expect(gate?.expiresAt).toBe(on.clock.now() + HOURS_24);
    expect(rowOf(on, run).wakeAt).toBe(gate?.expiresAt);
    expect(ran).toEqual([]);
    expect(rowOf(on, run).spent.toolCalls).toBe(0);
    expect(await ledger(on.world, run)).toMatchObject([{ status: "intended", attempts: 0 }]);
  });

  test("as its policy says: with a reason, or not at all", async () => {
    const on = stage();
    const approval = ({ euros }: { euros: number }): string | false => (euros > 10 ? `${euros} is much` : false);
    const reply = pays({ euros: 5 }, { euros: 50 });
    const { run, ran } = await asked(on, { approval: approval as Asking["approval"] & {}, reply });
    expect(ran.map(({ args }) => args)).toEqual([{ euros: 5 }]);
    expect(await gatesOf(on.world, run)).toMatchObject([{ reason: "50 is much" }]);
    expect((await stateOf(on.world, run)).open.map(({ call }) => call)).toEqual(["c2"]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("no rates today");
      },
      "its approval policy threw: no rates today",
    ],
    ["answers what is no answer", () => undefined, "undefined"],
    ["says nothing", () => "", ""],
  ])("also if its policy %s: what nobody could judge is not started unseen", async (_, approval, reason) => {
    const on = stage();
    const { run, ran } = await asked(on, { approval: approval as Asking["approval"] & {} });
    expect(await gatesOf(on.world, run)).toMatchObject([{ reason }]);
    expect(ran).toEqual([]);
  });

  test("is refused at once where its arguments do not fit: nobody is asked about what cannot be", async () => {
    const on = stage();
    const { run, payload } = await asked(on, { reply: pays({ euros: "five" }) });
    expect(payload.route).toBe("done");
    expect(await resultsOf(on, run)).toMatchObject([
      { outcome: "failed", value: { json: expect.stringMatching(/^InvalidArguments/) } },
    ]);
  });
});

describe("to decide", () => {
  test("is accepted once; the same again is told the decision that counts, now and later", async () => {
    const on = stage();
    const { run, runner, payload, ran } = await asked(on);
    const [gate] = await gatesOf(on.world, run);
    await park(on, { reply: payload, token: "t1" });
    expect(await say(on.world, { run, as: "approve" })).toMatchObject({ kind: "accepted" });
    expect(on.wakes).toEqual(["t1"]);
    const standing = { kind: "duplicate", decision: { as: "approve", args: null, by: "ann", note: null } };
    // On its way.
    expect(await say(on.world, { run, as: "deny" })).toEqual(standing);
    const after = await drive(runner, payload);
    expect(ran).toMatchObject([{ args: { euros: 5 } }]);
    // Applied: the run has ended.
    expect(after.route).toBe("done");
    expect(await say(on.world, { run, as: "deny", gate: gate?.gate ?? "" })).toEqual(standing);
  });

  test("about a gate that was decided returns what was decided, and changes nothing", async () => {
    const on = stage();
    const reply = ({ calls }: Conversation) =>
      calls.length < 2 ? { calls: [{ tool: "pay", args: { euros: calls.length } }] } : { text: "over" };
    const { run, runner, payload } = await asked(on, { reply });
    const [first] = await gatesOf(on.world, run);
    await say(on.world, { run, as: "approve" });
    await drive(runner, payload);
    const before = rowOf(on, run);
    const again = await say(on.world, { run, as: "deny", gate: first?.gate ?? "" });
    expect(again).toEqual({ kind: "duplicate", decision: { as: "approve", args: null, by: "ann", note: null } });
    expect(rowOf(on, run)).toEqual(before);
  });

  test.each(["c1", "c9", `c1-${AGAIN}`, ""])(
    "about %o, which is no gate of the run, is refused before any write (schedule 29)",
    async (gate) => {
      const on = stage();
      const { run } = await asked(on);
      const [open] = await gatesOf(on.world, run);
      const before = rowOf(on, run);
      const said = { run, gate, as: "approve", args: null, by: "ann", note: null } as const;
      expect(await decide(on.world, said)).toEqual({ kind: "stale", gates: [open?.gate], why: null });
      expect(rowOf(on, run)).toEqual(before);
      expect(await decide(on.world, { ...said, run: `local-${AGAIN}` })).toEqual({ kind: "missing" });
    },
  );

  test("is late once the run has ended", async () => {
    const on = stage();
    const { run, runner, payload } = await asked(on);
    const [open] = await gatesOf(on.world, run);
    await sendRequest(on.world, { run, want: "cancel" });
    expect(await drive(runner, payload)).toMatchObject({ route: "done" });
    expect(await say(on.world, { run, as: "approve", gate: open?.gate ?? "" })).toEqual({ kind: "late" });
    expect(await ledger(on.world, run)).toMatchObject([{ status: "intended", attempts: 0 }]);
  });

  test("about a gate that is gone is refused also where the history that would tell is lost", async () => {
    const on = stage();
    const reply = ({ calls }: Conversation) =>
      calls.length < 2 ? { calls: [{ tool: "pay", args: { euros: calls.length } }] } : OVER;
    const { run, runner, payload } = await asked(on, { reply });
    const [first] = await gatesOf(on.world, run);
    await say(on.world, { run, as: "approve" });
    await drive(runner, payload);
    const newest = rowOf(on, run).snapshot.key;
    for (const key of on.world.store.objects.keys()) {
      if (key.includes("/snapshots/") && key !== newest) on.world.store.objects.delete(key);
    }
    const [open] = await gatesOf(on.world, run);
    const again = await say(on.world, { run, as: "deny", gate: first?.gate ?? "" });
    expect(again).toEqual({ kind: "stale", gates: [open?.gate], why: null });
  });

  test("while the run is paused is accepted, and waits until it is resumed", async () => {
    const on = stage();
    const { run, runner, payload, ran } = await asked(on);
    await sendRequest(on.world, { run, want: "pause" });
    const paused = await drive(runner, payload);
    expect(rowOf(on, run).status).toBe("paused");
    expect(await say(on.world, { run, as: "approve" })).toMatchObject({ kind: "accepted" });
    on.clock.moveTo(on.clock.now() + 2 * HOURS_24);
    const still = await drive(runner, paused);
    expect(still.route).toBe("park");
    expect(ran).toEqual([]);
    await sendRequest(on.world, { run, want: "resume" });
    // Long past its expiry: it was decided in time.
    expect(await drive(runner, still)).toMatchObject({ route: "done" });
    expect(ran).toHaveLength(1);
  });

  test("twice by a sender whose answer was lost is one decision, and the sender is told its own", async () => {
    const on = stage();
    const { run } = await asked(on);
    let sent = 0;
    const deliver: typeof on.world.table.deliver = async (of) => {
      sent += 1;
      const outcome = await on.world.table.deliver(of);
      return sent === 1 ? { kind: "ambiguous", why: "timeout" } : outcome;
    };
    const world = { ...on.world, table: { ...on.world.table, deliver } };
    expect(await say(world, { run, as: "approve" })).toMatchObject({ kind: "duplicate", decision: { as: "approve" } });
    expect([sent, rowOf(on, run).wakeCount]).toEqual([2, 1]);
  });
});

describe("several gates of one reply", () => {
  test("are decided each by itself, in any order, and each call runs as it was decided", async () => {
    const on = stage();
    const { run, runner, payload, ran } = await asked(on, { reply: pays({ euros: 1 }, { euros: 2 }, { euros: 3 }) });
    const gates = await gatesOf(on.world, run);
    expect(new Set(gates.map(({ gate }) => gate)).size).toBe(3);
    expect(new Set(gates.map(({ planHash }) => planHash)).size).toBe(1);
    const by = (index: number, as: "approve" | "deny" | "edit", args: Json = null) =>
      say(on.world, { run, as, args, gate: gates[index]?.gate ?? "" });
    await by(2, "approve");
    const one = await drive(runner, payload);
    expect(one.route).toBe("park");
    expect(ran.map(({ args }) => args)).toEqual([{ euros: 3 }]);
    expect(rowOf(on, run)).toMatchObject({ status: "waiting", phase: "AwaitingApproval" });
    await by(0, "deny");
    await by(1, "edit", { euros: 20 });
    expect(await drive(runner, one)).toMatchObject({ route: "done" });
    expect(ran.map(({ args }) => args)).toEqual([{ euros: 3 }, { euros: 20 }]);
    expect((await resultsOf(on, run)).map(({ call, outcome }) => [call, outcome])).toEqual([
      ...[
        ["c3", "succeeded"],
        ["c1", "failed"],
        ["c2", "succeeded"],
      ],
    ]);
  });

  test("and a call that nobody is asked about: that one runs at once, and is not run again", async () => {
    const on = stage();
    const reply = ({ calls }: Conversation) =>
      calls.length === 0
        ? {
            calls: [
              { tool: "pay", args: { euros: 1 } },
              { tool: "look", args: {} },
            ],
          }
        : OVER;
    const { run, runner, payload } = await asked(on, { reply });
    expect((await stateOf(on.world, run)).open.map(({ call }) => call)).toEqual(["c1"]);
    await say(on.world, { run, as: "approve" });
    await drive(runner, payload);
    expect(await ledger(on.world, run)).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
  });

  test("with long reasons and long edits fit into the state together", async () => {
    const on = stage();
    const many = Array.from({ length: 16 }, (_, index) => ({ euros: index }));
    const approval = (() => "because it is a large sum of money ".repeat(50)) as never;
    const { run, runner, payload, ran } = await asked(on, { approval, reply: pays(...many) });
    expect(payload.route).toBe("park");
    const gates = await gatesOf(on.world, run);
    expect(gates).toHaveLength(16);
    for (const { gate } of gates) {
      await say(on.world, { run, gate, as: "edit", args: { euros: 1, note: "x".repeat(4_000) } });
    }
    expect(await drive(runner, payload)).toMatchObject({ route: "done" });
    expect(ran).toHaveLength(16);
  });
});
