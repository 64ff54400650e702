/** Sagas that meet what else a run can meet: no agent, gates, a budget that is used up, a pause, a deadline, a sweep. */
import { expect, test } from "vitest";
import type { Agent, Tool, Undo } from "../../../src/ports/agent.ts";
import { OutcomeUnknown, check } from "../../../src/index.ts";
import { decide } from "../../../src/operations/decide.ts";
import { ledger, show } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import type { Runner } from "../../../src/engine/context/runner.ts";
import { budgetFrom } from "../../../src/sdk/budget.ts";
import { verify } from "../../../src/features/seals/verify.ts";
import { gatesOf } from "../../support/agents/approval-agent.ts";
import {
  type PlannedCall,
  type PaymentOrder,
  replyWithCalls,
  sideEffectAgent,
} from "../../support/agents/side-effect-agent.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { type Harness, createChainHarness, createHarness, flushPromises } from "../../support/harness/harness.ts";
import { crashAfterCall, recoveryRulesOf, sweep, withTakeovers } from "../../support/harness/chain-steps.ts";

const NEVER = [check("never", () => "it never is")];
const TWO = replyWithCalls([["pay", "ada", 5]], [["pay", "bob", 7]]);

/** Notes what it undoes; may be closed. */
function closableService() {
  const undone: string[] = [];
  const state = { isClosed: false };
  const undo: Undo<PaymentOrder> = {
    effect: "unsafe",
    run: ({ input }) => {
      if (state.isClosed) throw new OutcomeUnknown("the desk is closed");
      undone.push(input.to);
    },
  };
  return { undone, undo, state };
}

const payloadOf = (harness: Harness, run: string) => {
  const { born, chain, epoch, agent } = harness.row(run);
  return { run, born, chain, epoch, agent };
};

/** As a chain drives it, until it ends or waits for somebody. */
async function driven(harness: Harness, of: { readonly runner: Runner; readonly run: string }): Promise<string> {
  for (let count = 0; count < 20; count += 1) {
    harness.clock.moveTo(Math.max(harness.clock.now(), harness.row(of.run).wakeAt ?? 0));
    const { route } = await harness.advanceUntilSettled(drive(of.runner, payloadOf(harness, of.run)));
    if (route !== "wait") return route;
  }
  throw new Error("it waits for ever");
}

async function begun(of: {
  readonly reply?: Parameters<typeof sideEffectAgent>[0]["reply"];
  readonly agent?: Partial<Agent>;
}) {
  const harness = createHarness();
  const at = closableService();
  const made = sideEffectAgent({ reply: of.reply ?? TWO, done: NEVER, pay: { undo: at.undo } });
  const agent = { ...made.agent, ...of.agent };
  const { run } = await beginRun(harness.world, agent, {});
  return { harness, ...at, agent, run, done: made.done, runner: runnerOf(harness.world, agent) };
}

test("a run whose agent disappears between two undos continues with them when it is back", async () => {
  const it = await begun({});
  let isBack = false;
  const agentOf: Runner["agentOf"] = async (name) =>
    it.undone.length === 1 && !isBack ? { kind: "absent", why: "it is gone" } : it.runner.agentOf(name);
  const runner: Runner = { ...it.runner, agentOf };
  expect(await driven(it.harness, { ...it, runner })).toBe("park");
  expect(it.harness.row(it.run).phase).toBe("AwaitingAgent");
  isBack = true;
  expect(await driven(it.harness, { ...it, runner })).toBe("failed");
  expect(it.undone).toEqual(["bob", "ada"]);
});

test("a gate that is open when its run fails is closed, and a decision about it has no effect", async () => {
  const harness = createHarness();
  const { undo, undone } = closableService();
  const made = sideEffectAgent({
    reply: replyWithCalls([["pay", "ada", 5]], [
      ["mail", "bob", 1],
      ["pay", "cyd", 9],
    ] as readonly PlannedCall[]),
    pay: { undo, effect: "unsafe", approval: ({ to }) => (to === "cyd" ? "it is much" : false) },
    mail: { undo, effect: "unsafe" },
    run: ({ input }) => {
      if (input.to === "bob") throw new OutcomeUnknown("the line went dead");
      return "done";
    },
  });
  const { run } = await beginRun(harness.world, made.agent, {});
  const runner = runnerOf(harness.world, made.agent);
  expect(await driven(harness, { runner, run })).toBe("park");
  const [gate] = await gatesOf(harness.world, run);
  const said = { run, call: "c2", as: "compensate", result: null, by: "ann", note: null } as const;
  expect(await reconcile(harness.world, said)).toEqual({ kind: "accepted" });
  await harness.advanceUntilSettled(drive(runner, payloadOf(harness, run)));
  const approval = { run, gate: gate?.gate ?? "", as: "approve", args: null, by: "ann", note: null } as const;
  expect(await decide(harness.world, approval)).toMatchObject({ kind: "stale" });
  expect(await driven(harness, { runner, run })).toBe("failed");
  expect({ done: made.done.map(({ input }) => input.to), undone }).toEqual({
    done: ["ada", "bob"],
    undone: ["bob", "ada"],
  });
});

test("a run that must stop compensates after its closing call, and does not restart", async () => {
  const it = await begun({
    agent: {
      budget: budgetFrom({ beats: 1 }, 40),
      saga: { onFailure: "undo", restarts: 3, leaving: "nothing", onOutage: "leave" },
    },
  });
  expect(await driven(it.harness, it)).toBe("failed");
  expect({ done: it.done.length, undone: it.undone }).toEqual({ done: 1, undone: ["ada"] });
  const { failure } = (await show(it.harness.world, it.run)) ?? {};
  expect(failure).toMatchObject({
    code: "BudgetExhausted",
    message: expect.stringContaining("its effects were undone"),
  });
  expect(await verify(it.harness.world, { run: it.run })).toMatchObject({ findings: [] });
});

test("a pause delays the undos that are not released, and a resume releases them", async () => {
  const it = await begun({ reply: replyWithCalls([["pay", "ada", 5]], [["pay", "bob", 7]], [["pay", "cyd", 9]]) });
  const pausing: Undo<PaymentOrder> = {
    ...it.undo,
    run: async (context) => {
      if (it.undone.length === 0) await sendRequest(it.harness.world, { run: it.run, want: "pause" });
      return it.undo.run(context);
    },
  };
  const pay = { ...(it.agent.tools["pay"] as Tool), undo: pausing as Tool["undo"] };
  const runner = runnerOf(it.harness.world, { ...it.agent, tools: { ...it.agent.tools, pay } });
  expect(await driven(it.harness, { ...it, runner })).toBe("park");
  expect({ phase: it.harness.row(it.run).phase, undone: it.undone }).toEqual({
    phase: "Paused",
    undone: ["cyd", "bob"],
  });
  await sendRequest(it.harness.world, { run: it.run, want: "resume" });
  expect(await it.harness.advanceUntilSettled(drive(runner, payloadOf(it.harness, it.run)))).toMatchObject({
    route: "failed",
  });
  expect(it.undone).toEqual(["cyd", "bob", "ada"]);
});

test("an undo without an answer ends with its run at the deadline, and its effect stays", async () => {
  const it = await begun({});
  it.state.isClosed = true;
  expect(await driven(it.harness, it)).toBe("park");
  const { deadline, wakeAt } = it.harness.row(it.run);
  it.harness.clock.moveTo(wakeAt ?? 0);
  const drives = () => it.harness.advanceUntilSettled(drive(it.runner, payloadOf(it.harness, it.run)));
  // It warns first.
  expect(await drives()).toMatchObject({ route: "park" });
  it.harness.clock.moveTo(deadline);
  expect(await drives()).toMatchObject({ route: "failed" });
  expect(await show(it.harness.world, it.run)).toMatchObject({ failure: { code: "Expired" } });
  expect((await ledger(it.harness.world, it.run))?.map(({ call, status }) => `${call} ${status}`)).toEqual([
    ...["c1 succeeded", "c2 succeeded", "undo-c2 unknown"],
  ]);
});

test("the sweeper ends a run whose undo has cost too many deaths, and reports the remaining effects", async () => {
  const harness = createChainHarness();
  const { undo, undone } = closableService();
  const made = sideEffectAgent({ reply: TWO, done: NEVER, pay: { undo } });
  const agent = withTakeovers(made.agent, 0);
  const { run } = await beginRun(harness.world, agent, {});
  const dying = crashAfterCall(
    harness.world,
    "commit",
    () => harness.world.store.rows.get(run)?.phase === "ExecutingTools" && made.done.length === 2,
  );
  for (let count = 0; count < 12 && harness.row(run).owner === null; count += 1) {
    const out = harness.startAttempt();
    out.perform({ world: dying, agent }).then(
      (result) => out.end(result),
      () => undefined,
    );
    await flushPromises();
  }
  expect(await recoveryRulesOf(harness.world, run)).toContain("effects are undone");
  harness.world.store.rows.set(run, { ...harness.row(run), deaths: 1 });
  harness.stopExecution(harness.row(run));
  harness.clock.moveTo((harness.row(run).leaseUntil ?? 0) + harness.world.limits.overdueMs);
  for (let count = 0; count < 3; count += 1) {
    await sweep(harness.world);
    harness.clock.moveTo(
      Math.max(harness.clock.now(), harness.row(run).effectsSettleAt) + harness.world.limits.overdueMs,
    );
  }
  expect({ status: harness.row(run).status, undone }).toEqual({ status: "failed", undone: [] });
  expect(await show(harness.world, run)).toMatchObject({ failure: { code: "Abandoned" } });
});
