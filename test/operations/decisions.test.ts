/** What comes of a decision: approved, edited, denied, or none in time; and what the model and the checks see of it. */
import { describe, expect, test } from "vitest";
import type { SettledCall } from "../../src/ports/agent.ts";
import { type Conversation, check } from "../../src/index.ts";
import type { Json } from "../../src/core/json.ts";
import { ledger, timeline } from "../../src/operations/views.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { send } from "../../src/operations/steer.ts";
import { asked, asking, gatesOf, pays, resultsOf, say, stateOf } from "../support/asking.ts";
import { attempt, drive, runnerOf } from "../support/drive.ts";
import { type Stage, OVER, beforeCommit, never, replyOf, rowOf, stage } from "../support/stage.ts";

const keysOf = async (on: Stage, run: string): Promise<readonly string[]> =>
  ((await timeline(on.world, { run, after: 0 })) ?? []).flatMap((event) =>
    event.kind === "ToolIntended" ? [event.key] : [],
  );

describe("approved", () => {
  test("a call runs with the key that was committed before anybody was asked", async () => {
    const on = stage();
    const { run, runner, payload, ran } = await asked(on);
    const key = (await stateOf(on.world, run)).open[0]?.intent?.key;
    await say(on.world, { run, as: "approve" });
    expect(await drive(runner, payload)).toMatchObject({ route: "done" });
    expect(ran).toEqual([{ args: { euros: 5 }, key }]);
    expect(await ledger(on.world, run)).toMatchObject([{ status: "succeeded", attempts: 1, key }]);
    expect(rowOf(on, run).spent.toolCalls).toBe(1);
  });

  test("an unsafe call starts in the epoch that absorbed the approval; when that dies first, a person is asked", async () => {
    const on = stage();
    const { run, runner, payload, ran, agent } = await asked(on);
    await say(on.world, { run, as: "approve" });
    // The commit that releases the call is durable, and its process never hears of it.
    const commit: typeof on.world.table.commit = async (of) => {
      const outcome = await on.world.table.commit(of);
      return of.release ? outcome : never();
    };
    void attempt(runnerOf({ ...on.world, table: { ...on.world.table, commit } }, agent), payload);
    await expect.poll(async () => (await stateOf(on.world, run)).open[0]?.status).toBe("started");
    const { epoch } = rowOf(on, run);
    expect((await stateOf(on.world, run)).open).toMatchObject([{ releasedBy: epoch, gate: null }]);
    const blocked = await replyOf(attempt(runner, payload, 1));
    expect(blocked.route).toBe("park");
    expect(ran).toEqual([]);
    expect(rowOf(on, run)).toMatchObject({ status: "blocked", epoch: epoch + 1 });
    // Nobody is asked to approve it again: who says *retry* has seen what it is.
    on.clock.moveTo((await stateOf(on.world, run)).open[0]?.askFrom ?? 0);
    const said = { run, call: "c1", as: "retry", result: null, by: "ann", note: null } as const;
    expect(await reconcile(on.world, said)).toMatchObject({ kind: "accepted" });
    expect(await drive(runner, blocked)).toMatchObject({ route: "done" });
    expect(ran).toHaveLength(1);
    const asks = ((await timeline(on.world, { run, after: 0 })) ?? []).filter(
      ({ kind }) => kind === "ApprovalRequested",
    );
    expect(asks).toHaveLength(1);
  });

  test("a call whose tool became unsafe while its gate was open is treated as what it is now", async () => {
    const on = stage();
    const { run, payload } = await asked(on, { effect: "keyed" });
    await say(on.world, { run, as: "approve" });
    // Deployed in the meantime.
    const ran: { readonly args: Json; readonly key: string }[] = [];
    const run2 = () => (ran.length > 1 ? "paid twice" : never());
    const newer = runnerOf(on.world, asking({ ran, effect: "unsafe", version: "2", run: run2 }));
    void attempt(newer, payload);
    await expect.poll(() => ran.length).toBe(1);
    const reply = await replyOf(attempt(newer, payload, 1));
    expect(ran).toHaveLength(1);
    expect(reply.route).toBe("park");
    expect((await stateOf(on.world, run)).open).toMatchObject([{ status: "unknown", intent: { effect: "unsafe" } }]);
    // It is the same intent: one key for all tries.
    expect(new Set(await keysOf(on, run)).size).toBe(1);
  });
});

describe("edited", () => {
  test("a call is a new intent with a new key, and runs with what the person said; nobody is asked again", async () => {
    const on = stage();
    const { run, runner, payload, ran } = await asked(on);
    expect(await say(on.world, { run, as: "edit", args: { euros: 3 } })).toMatchObject({ kind: "accepted" });
    expect(await drive(runner, payload)).toMatchObject({ route: "done" });
    const [before, after] = await keysOf(on, run);
    expect(after).not.toBe(before);
    expect(ran).toEqual([{ args: { euros: 3 }, key: after }]);
    expect(await ledger(on.world, run)).toMatchObject([{ key: after, attempts: 1, status: "succeeded" }]);
  });

  test("is what the model is told, and what the definition of done sees", async () => {
    const on = stage();
    const told: string[] = [];
    const seen: SettledCall[] = [];
    const reply = (conversation: Conversation) => {
      told.push(conversation.messages.at(-1)?.text ?? "");
      return pays({ euros: 5 })(conversation);
    };
    const done = [
      check("cheap", (view) => {
        seen.push(...view.calls);
        return true;
      }),
    ];
    const { run, runner, payload } = await asked(on, { reply, done });
    await say(on.world, { run, as: "edit", args: { euros: 3, note: "as a friend" } });
    await drive(runner, payload);
    expect(told[1]).toBe(
      'A person changed the arguments of this call before it ran, to {"euros":3,"note":"as a friend"}. What came of it: paid',
    );
    expect(seen).toEqual([
      { call: "c1", tool: "pay", args: { euros: 3, note: "as a friend" }, outcome: "succeeded", result: "paid" },
    ]);
    expect(await resultsOf(on, run)).toMatchObject([{ edited: { json: { euros: 3, note: "as a friend" } } }]);
  });

  test("to what it was is the same intent, with the same key", async () => {
    const on = stage();
    const { run, runner, payload, ran } = await asked(on);
    await say(on.world, { run, as: "edit", args: { euros: 5 } });
    await drive(runner, payload);
    expect(await keysOf(on, run)).toEqual([ran[0]?.key]);
  });

  test("with a long note goes beside the state, and runs with all of it", async () => {
    const on = stage();
    const { run, runner, payload, ran } = await asked(on);
    const args = { euros: 3, note: "please ".repeat(2_000) };
    await say(on.world, { run, as: "edit", args });
    await drive(runner, payload);
    expect(ran.map((each) => each.args)).toEqual([args]);
    expect(await resultsOf(on, run)).toMatchObject([{ edited: { kind: "blob" } }]);
  });
});

describe("denied", () => {
  test.each(["by a person", "because the gate expired"])(
    "%s, the call never runs and the model is told",
    async (how) => {
      const on = stage();
      const told: string[] = [];
      const reply = (conversation: Conversation) => {
        told.push(conversation.messages.at(-1)?.text ?? "");
        return pays({ euros: 5 })(conversation);
      };
      const { run, runner, payload, ran } = await asked(on, { reply });
      const isPerson = how === "by a person";
      if (isPerson) await say(on.world, { run, as: "deny" });
      else on.clock.moveTo((await gatesOf(on.world, run))[0]?.expiresAt ?? 0);
      expect(await drive(runner, payload)).toMatchObject({ route: "done" });
      expect(ran).toEqual([]);
      const words = isPerson ? "denied by ann" : "denied by expiry: no decision before the gate expired";
      expect(told[1]).toBe(`The call failed: ${words}`);
      expect(await ledger(on.world, run)).toMatchObject([{ status: "failed", attempts: 0 }]);
      expect(rowOf(on, run).spent.toolCalls).toBe(0);
    },
  );

  test("not a moment before the gate expires", async () => {
    const on = stage();
    const { run, runner, payload } = await asked(on);
    const { expiresAt = 0 } = (await gatesOf(on.world, run))[0] ?? {};
    on.clock.moveTo(expiresAt - 1);
    const early = await drive(runner, payload);
    expect(early).toMatchObject({ route: "wait", seconds: 1 });
    expect(await gatesOf(on.world, run)).toHaveLength(1);
    on.clock.moveTo(expiresAt);
    expect(await drive(runner, early)).toMatchObject({ route: "done" });
  });
});

describe("in the beat in which its gate expires", () => {
  test("a decision that is there already counts", async () => {
    const on = stage();
    const { run, runner, payload, ran } = await asked(on);
    on.clock.moveTo((await gatesOf(on.world, run))[0]?.expiresAt ?? 0);
    expect(await say(on.world, { run, as: "approve" })).toMatchObject({ kind: "accepted" });
    expect(await drive(runner, payload)).toMatchObject({ route: "done" });
    expect(ran).toHaveLength(1);
  });

  test.each(["approve", "deny", "edit"] as const)(
    "schedule 13: to %s right before the denial commits counts",
    async (as) => {
      const on = stage();
      const { run, payload, ran, agent } = await asked(on);
      on.clock.moveTo((await gatesOf(on.world, run))[0]?.expiresAt ?? 0);
      const act = async () =>
        expect(await say(on.world, { run, as, args: { euros: 4 } })).toMatchObject({ kind: "accepted" });
      const world = beforeCommit(on, { when: ({ unlessWoken }) => unlessWoken, act });
      expect(await drive(runnerOf(world, agent), payload)).toMatchObject({ route: "done" });
      expect(ran.map(({ args }) => args)).toEqual(as === "deny" ? [] : [{ euros: as === "edit" ? 4 : 5 }]);
      const decisions = ((await timeline(on.world, { run, after: 0 })) ?? []).flatMap((event) =>
        event.kind === "HumanApprovalReceived" ? [event.decision.by] : [],
      );
      expect(decisions).toEqual(["ann"]);
    },
  );

  test("a decision that comes right after the denial is told so", async () => {
    const on = stage();
    const { run, payload, ran, agent } = await asked(on, {
      reply: ({ calls }) => (calls.length < 2 ? pays({ euros: 5 })({ calls: [] } as never) : OVER),
    });
    const gate = (await gatesOf(on.world, run))[0];
    on.clock.moveTo(gate?.expiresAt ?? 0);
    const runner = runnerOf(on.world, agent);
    const next = await replyOf(attempt(runner, payload));
    expect(next.route).toBe("park");
    expect(await say(on.world, { run, as: "approve", gate: gate?.gate ?? "" })).toMatchObject({
      kind: "duplicate",
      decision: { as: "deny", by: "expiry" },
    });
    expect(ran).toEqual([]);
  });

  test("what is not a decision holds the denial up, and does not prevent it", async () => {
    const on = stage();
    const { run, payload, ran, agent } = await asked(on);
    on.clock.moveTo((await gatesOf(on.world, run))[0]?.expiresAt ?? 0);
    const act = () => send(on.world, { run, text: "hurry", by: "ann", id: "w" });
    const world = beforeCommit(on, { when: ({ unlessWoken }) => unlessWoken, act });
    expect(await drive(runnerOf(world, agent), payload)).toMatchObject({ route: "done" });
    expect(ran).toEqual([]);
    const events = (await timeline(on.world, { run, after: 0 })) ?? [];
    expect(events.filter(({ kind }) => kind === "HumanApprovalReceived")).toHaveLength(1);
    expect(events.filter((event) => event.kind === "MessageAbsorbed" && event.stage === "taken")).toHaveLength(1);
  });
});
