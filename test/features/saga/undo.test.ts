/** Sagas through the public surface: what is undone, in which order, under which keys, and what follows. */
import { describe, expect, test } from "vitest";
import type { Undo } from "../../../src/ports/agent.ts";
import { OutcomeUnknown, check } from "../../../src/index.ts";
import { requestCompensation, effectsOf } from "../../../src/operations/compensate.ts";
import { ledger, show } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { stateOf } from "../../support/agents/approval-agent.ts";
import { type PaymentOrder, replyWithCalls, sideEffectAgent } from "../../support/agents/side-effect-agent.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { createHarness } from "../../support/harness/harness.ts";
import { recoveryRulesOf } from "../../support/harness/chain-steps.ts";

interface Undone {
  readonly to: string;
  readonly key: string;
  readonly of: { readonly key: string; readonly result: unknown };
}

/** Notes what is undone; `fails` throws that many times before. */
function undoing(of: { readonly effect?: Undo<PaymentOrder>["effect"]; readonly fails?: number } = {}) {
  const undone: Undone[] = [];
  let failsLeft = of.fails ?? 0;
  const undo: Undo<PaymentOrder> = {
    effect: of.effect ?? "keyed",
    run: ({ input, key, of: what }) => {
      failsLeft -= 1;
      if (failsLeft >= 0) throw new Error("the desk is closed");
      undone.push({ to: input.to, key, of: what });
      return "cancelled";
    },
  };
  return { undo, undone };
}

const NEVER = [check("never", () => "it never is")];
const ASKED = replyWithCalls([["pay", "ada", 5]], [["pay", "bob", 7]]);

async function failing(
  of: Partial<Parameters<typeof sideEffectAgent>[0]> & { readonly undoes?: ReturnType<typeof undoing> } = {},
) {
  const harness = createHarness();
  const { undoes = undoing(), ...rest } = of;
  const made = sideEffectAgent({ reply: ASKED, done: NEVER, pay: { undo: undoes.undo }, ...rest });
  const runner = runnerOf(harness.world, made.agent);
  const payload = await beginRun(harness.world, made.agent, {});
  const reply = await harness.advanceUntilSettled(drive(runner, payload));
  return { harness, runner, reply, run: payload.run, ...made, undone: undoes.undone };
}

const statuses = async (of: { harness: { world: Parameters<typeof ledger>[0] }; run: string }) =>
  (await ledger(of.harness.world, of.run))?.map(({ call, status }) => `${call} ${status}`);

describe("a run that fails", () => {
  test("compensates newest first, each undo under its own key and with the call that it undoes", async () => {
    const it = await failing();
    expect(it.reply.route).toBe("failed");
    expect(it.undone.map(({ to }) => to)).toEqual(["bob", "ada"]);
    const keys = it.done.map(({ key }) => key);
    expect(it.undone.map(({ of }) => of)).toEqual([
      { key: keys[1], result: "done" },
      { key: keys[0], result: "done" },
    ]);
    expect(new Set([...keys, ...it.undone.map(({ key }) => key)]).size).toBe(4);
    expect(await statuses(it)).toEqual(["c1 compensated", "c2 compensated", "undo-c2 succeeded", "undo-c1 succeeded"]);
    const { failure } = (await show(it.harness.world, it.run)) ?? {};
    expect(failure).toMatchObject({ code: "NotDone", message: expect.stringContaining("its effects were undone") });
  });

  test("restarts with other keys when its agent allows it, and without its earlier results", async () => {
    const seen: number[] = [];
    const it = await failing({
      saga: { restarts: 1 },
      reply: (conversation) => {
        seen.push(conversation.messages.length);
        return ASKED(conversation);
      },
      done: [check("second time", ({ calls }) => (calls.length > 0 && seen.length > 8) || "not yet")],
    });
    expect(it.reply.route).toBe("done");
    expect(it.done.map(({ input }) => input.to)).toEqual(["ada", "bob", "ada", "bob"]);
    expect(new Set(it.done.map(({ key }) => key)).size).toBe(4);
    expect(await stateOf(it.harness.world, it.run)).toMatchObject({
      restart: 2,
      undo: [{ call: "c3" }, { call: "c4" }],
    });
    // The task and why it begins again.
    expect(seen.slice(-3)[0]).toBe(2);
    expect(await recoveryRulesOf(it.harness.world, it.run)).toContain("begins again");
  });

  test("leaves every effect when its agent wants an operator to look", async () => {
    const it = await failing({ saga: { onFailure: "leave" } });
    expect({ route: it.reply.route, undone: it.undone }).toEqual({ route: "failed", undone: [] });
    expect(await recoveryRulesOf(it.harness.world, it.run)).toContain("effects are left");
  });

  test("does not restart after effects without an undo, unless its agent accepts that", async () => {
    const reply = replyWithCalls([["mail", "ada", 1]], [["pay", "ada", 5]]);
    const refused = await failing({ reply, saga: { restarts: 1 } });
    expect(refused.done.map(({ tool }) => tool)).toEqual(["mail", "pay"]);
    expect((await show(refused.harness.world, refused.run))?.failure?.message).toContain("not undone: mail (c1)");
    const accepted = await failing({ reply, saga: { restarts: 1, leaving: "effects" } });
    expect(accepted.done.map(({ tool }) => tool)).toEqual(["mail", "pay", "mail", "pay"]);
  });

  test("retries a failed undo with its key, then asks an operator and applies the answer", async () => {
    const once = await failing({ undoes: undoing({ fails: 2 }) });
    expect(once.undone.map(({ to }) => to)).toEqual(["bob", "ada"]);
    const it = await failing({ undoes: undoing({ fails: 3 }) });
    expect(it.reply.route).toBe("park");
    expect(await show(it.harness.world, it.run)).toMatchObject({ status: "blocked", unknown: [{ call: "undo-c2" }] });
    it.harness.clock.moveTo(it.harness.clock.now() + 5_000);
    const said = { run: it.run, call: "undo-c2", as: "failed", result: null, by: "ann", note: null } as const;
    expect(await reconcile(it.harness.world, said)).toEqual({ kind: "accepted" });
    expect((await it.harness.advanceUntilSettled(drive(it.runner, it.reply))).route).toBe("failed");
    expect(it.undone.map(({ to }) => to)).toEqual(["ada"]);
    expect((await show(it.harness.world, it.run))?.failure?.message).toContain("not undone: pay (c2)");
  });

  test("undoes a call that may have happened after its requests have settled, without a result", async () => {
    const undoes = undoing();
    const it = await failing({
      undoes,
      pay: { effect: "unsafe", onUnknown: "fail", undo: undoes.undo },
      run: ({ input }) => {
        if (input.to === "bob") throw new OutcomeUnknown("the line went dead");
        return "done";
      },
    });
    expect(it.reply.route).toBe("wait");
    it.harness.clock.moveTo(it.harness.row(it.run).wakeAt ?? 0);
    expect((await it.harness.advanceUntilSettled(drive(it.runner, it.reply))).route).toBe("failed");
    expect(it.undone.map(({ to, of }) => ({ to, result: of.result }))).toEqual([
      { to: "bob", result: null },
      { to: "ada", result: "done" },
    ]);
  });
});

describe("an operator", () => {
  /** Two payments, the second with an outcome that nobody knows. */
  async function blocked(of: { readonly saga?: { readonly restarts: number } } = {}) {
    const undoes = undoing();
    let calls = 0;
    return failing({
      undoes,
      ...of,
      done: [],
      pay: { effect: "unsafe", undo: undoes.undo },
      run: () => {
        calls += 1;
        if (calls === 2) throw new OutcomeUnknown("the line went dead");
        return "done";
      },
    });
  }

  test("compensates by answering an unknown call so; then the run restarts if it may", async () => {
    const it = await blocked({ saga: { restarts: 1 } });
    expect(it.reply.route).toBe("park");
    const said = { run: it.run, call: "c2", as: "compensate", result: null, by: "ann", note: null } as const;
    expect(await reconcile(it.harness.world, said)).toEqual({ kind: "accepted" });
    const next = await it.harness.advanceUntilSettled(drive(it.runner, it.reply));
    it.harness.clock.moveTo(it.harness.row(it.run).wakeAt ?? it.harness.clock.now());
    const end = next.route === "done" ? next : await it.harness.advanceUntilSettled(drive(it.runner, next));
    expect(end.route).toBe("done");
    expect(it.undone.map(({ to }) => to)).toEqual(["bob", "ada"]);
    expect(it.done).toHaveLength(4);
  });

  test("is refused when the call cannot be undone, or when there is no such question", async () => {
    const it = await failing({
      done: [],
      pay: { effect: "unsafe" },
      run: () => {
        throw new OutcomeUnknown("the line went dead");
      },
    });
    const said = { run: it.run, as: "compensate", result: null, by: "ann", note: null } as const;
    expect(await reconcile(it.harness.world, { ...said, call: "c1" })).toEqual({ kind: "noUndo", tool: "pay" });
    expect(await reconcile(it.harness.world, { ...said, call: "c9" })).toEqual({ kind: "stale", unknown: ["c1"] });
  });

  test("cancels with or without compensation", async () => {
    const plain = await blocked();
    await sendRequest(plain.harness.world, { run: plain.run, want: "cancel" });
    expect((await plain.harness.advanceUntilSettled(drive(plain.runner, plain.reply))).route).toBe("done");
    expect(plain.undone).toEqual([]);
    const it = await blocked();
    expect(await requestCompensation(it.harness.world, { run: it.run, next: "cancel", by: "ann" })).toBe("accepted");
    expect(await requestCompensation(it.harness.world, { run: it.run, next: "cancel", by: "ann" })).toBe("duplicate");
    const next = await it.harness.advanceUntilSettled(drive(it.runner, it.reply));
    it.harness.clock.moveTo(it.harness.row(it.run).wakeAt ?? it.harness.clock.now());
    if (next.route !== "done") await it.harness.advanceUntilSettled(drive(it.runner, next));
    expect(await show(it.harness.world, it.run)).toMatchObject({ status: "cancelled" });
    expect(it.undone.map(({ to }) => to)).toEqual(["bob", "ada"]);
  });

  test("restarts a run as the last resort, and sees the cost before", async () => {
    const it = await blocked();
    expect(await effectsOf(it.harness.world, it.run)).toMatchObject({
      undoable: ["pay (c1)", "pay (c2)"],
      standing: [],
      spent: { beats: 2 },
    });
    expect(await requestCompensation(it.harness.world, { run: it.run, next: "restart", by: "ann" })).toBe("accepted");
    const next = await it.harness.advanceUntilSettled(drive(it.runner, it.reply));
    it.harness.clock.moveTo(it.harness.row(it.run).wakeAt ?? it.harness.clock.now());
    if (next.route !== "done") await it.harness.advanceUntilSettled(drive(it.runner, next));
    expect(await show(it.harness.world, it.run)).toMatchObject({ status: "completed" });
    expect(await stateOf(it.harness.world, it.run)).toMatchObject({ restart: 2 });
    expect(await requestCompensation(it.harness.world, { run: it.run, next: "restart", by: "ann" })).toBe("late");
  });
});
