/** Sagas that meet what else a run can meet: no agent, gates, a budget that is used up, a pause, a deadline, a sweep. */
import { expect, test } from "vitest";
import type { Agent, Tool, Undo } from "../../../src/ports/agent.ts";
import { OutcomeUnknown, check } from "../../../src/index.ts";
import { decide } from "../../../src/operations/decide.ts";
import { ledger, show } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import type { Runner } from "../../../src/engine/context/runner.ts";
import { verify } from "../../../src/history/verify.ts";
import { gatesOf } from "../../support/asking.ts";
import { type Ask, type Order, asks, deeds } from "../../support/deeds.ts";
import { begin, drive, runnerOf } from "../../support/drive.ts";
import { type Stage, chainedStage, passing, rowOf, stage } from "../../support/stage.ts";
import { dyingAfter, hear, leave, perform, rest, rulesOf, stop, sweep, withTakeovers } from "../../support/steps.ts";

const NEVER = [check("never", () => "it never is")];
const TWO = asks([["pay", "ada", 5]], [["pay", "bob", 7]]);

/** Notes what it undoes; may be closed. */
function desk() {
  const undone: string[] = [];
  const state = { isClosed: false };
  const undo: Undo<Order> = {
    effect: "unsafe",
    run: ({ input }) => {
      if (state.isClosed) throw new OutcomeUnknown("the desk is closed");
      undone.push(input.to);
    },
  };
  return { undone, undo, state };
}

const payloadOf = (on: Stage, run: string) => {
  const { born, chain, epoch, agent } = rowOf(on, run);
  return { run, born, chain, epoch, agent };
};

/** As a chain drives it, until it ends or waits for somebody. */
async function driven(on: Stage, of: { readonly runner: Runner; readonly run: string }): Promise<string> {
  for (let count = 0; count < 20; count += 1) {
    on.clock.moveTo(Math.max(on.clock.now(), rowOf(on, of.run).wakeAt ?? 0));
    const { route } = await passing(on, drive(of.runner, payloadOf(on, of.run)));
    if (route !== "wait") return route;
  }
  throw new Error("it waits for ever");
}

async function begun(of: { readonly reply?: Parameters<typeof deeds>[0]["reply"]; readonly agent?: Partial<Agent> }) {
  const on = stage();
  const at = desk();
  const made = deeds({ reply: of.reply ?? TWO, done: NEVER, pay: { undo: at.undo } });
  const agent = { ...made.agent, ...of.agent };
  const { run } = await begin(on.world, agent, {});
  return { on, ...at, agent, run, done: made.done, runner: runnerOf(on.world, agent) };
}

test("a run whose agent goes between two undos goes on with them when it is back", async () => {
  const it = await begun({});
  let isBack = false;
  const agentOf: Runner["agentOf"] = async (name) =>
    it.undone.length === 1 && !isBack ? { kind: "absent", why: "it is gone" } : it.runner.agentOf(name);
  const runner: Runner = { ...it.runner, agentOf };
  expect(await driven(it.on, { ...it, runner })).toBe("park");
  expect(rowOf(it.on, it.run).phase).toBe("AwaitingAgent");
  isBack = true;
  expect(await driven(it.on, { ...it, runner })).toBe("failed");
  expect(it.undone).toEqual(["bob", "ada"]);
});

test("a gate that is open when its run fails is over, and so is a decision about it", async () => {
  const on = stage();
  const { undo, undone } = desk();
  const made = deeds({
    reply: asks([["pay", "ada", 5]], [
      ["mail", "bob", 1],
      ["pay", "cyd", 9],
    ] as readonly Ask[]),
    pay: { undo, effect: "unsafe", approval: ({ to }) => (to === "cyd" ? "it is much" : false) },
    mail: { undo, effect: "unsafe" },
    run: ({ input }) => {
      if (input.to === "bob") throw new OutcomeUnknown("the line went dead");
      return "done";
    },
  });
  const { run } = await begin(on.world, made.agent, {});
  const runner = runnerOf(on.world, made.agent);
  expect(await driven(on, { runner, run })).toBe("park");
  const [gate] = await gatesOf(on.world, run);
  const said = { run, call: "c2", as: "compensate", result: null, by: "ann", note: null } as const;
  expect(await reconcile(on.world, said)).toEqual({ kind: "accepted" });
  await passing(on, drive(runner, payloadOf(on, run)));
  const approval = { run, gate: gate?.gate ?? "", as: "approve", args: null, by: "ann", note: null } as const;
  expect(await decide(on.world, approval)).toMatchObject({ kind: "stale" });
  expect(await driven(on, { runner, run })).toBe("failed");
  expect([made.done.map(({ input }) => input.to), undone]).toEqual([
    ["ada", "bob"],
    ["bob", "ada"],
  ]);
});

test("a run that has to stop undoes what it did after its last words, and does not begin again", async () => {
  const it = await begun({
    agent: {
      budget: { beats: 1, takeovers: 10 },
      saga: { onFailure: "undo", restarts: 3, leaving: "nothing" },
    } as Partial<Agent>,
  });
  expect(await driven(it.on, it)).toBe("failed");
  expect([it.done.length, it.undone]).toEqual([1, ["ada"]]);
  const { failure } = (await show(it.on.world, it.run)) ?? {};
  expect(failure).toMatchObject({
    code: "BudgetExhausted",
    message: expect.stringContaining("its effects were undone"),
  });
  expect(await verify(it.on.world, { run: it.run })).toMatchObject({ findings: [] });
});

test("a pause holds up the undos that are not released yet, and a resume lets them go on", async () => {
  const it = await begun({ reply: asks([["pay", "ada", 5]], [["pay", "bob", 7]], [["pay", "cyd", 9]]) });
  const pausing: Undo<Order> = {
    ...it.undo,
    run: async (context) => {
      if (it.undone.length === 0) await sendRequest(it.on.world, { run: it.run, want: "pause" });
      return it.undo.run(context);
    },
  };
  const pay = { ...(it.agent.tools["pay"] as Tool), undo: pausing as Tool["undo"] };
  const runner = runnerOf(it.on.world, { ...it.agent, tools: { ...it.agent.tools, pay } });
  expect(await driven(it.on, { ...it, runner })).toBe("park");
  expect([rowOf(it.on, it.run).phase, it.undone]).toEqual(["Paused", ["cyd", "bob"]]);
  await sendRequest(it.on.world, { run: it.run, want: "resume" });
  expect(await passing(it.on, drive(runner, payloadOf(it.on, it.run)))).toMatchObject({ route: "failed" });
  expect(it.undone).toEqual(["cyd", "bob", "ada"]);
});

test("an undo that nobody answers for ends with its run at the deadline, and what stands is left", async () => {
  const it = await begun({});
  it.state.isClosed = true;
  expect(await driven(it.on, it)).toBe("park");
  it.on.clock.moveTo(rowOf(it.on, it.run).deadline);
  expect(await passing(it.on, drive(it.runner, payloadOf(it.on, it.run)))).toMatchObject({ route: "failed" });
  expect(await show(it.on.world, it.run)).toMatchObject({ failure: { code: "Expired" } });
  expect((await ledger(it.on.world, it.run))?.map(({ call, status }) => `${call} ${status}`)).toEqual([
    ...["c1 succeeded", "c2 succeeded", "undo-c2 unknown"],
  ]);
});

test("the sweeper ends a run whose undo has cost too many deaths, and leaves what stands", async () => {
  const on = chainedStage();
  const { undo, undone } = desk();
  const made = deeds({ reply: TWO, done: NEVER, pay: { undo } });
  const agent = withTakeovers(made.agent, 0);
  const { run } = await begin(on.world, agent, {});
  const dying = dyingAfter(
    on.world,
    "commit",
    () => on.world.store.rows.get(run)?.phase === "ExecutingTools" && made.done.length === 2,
  );
  for (let count = 0; count < 12 && rowOf(on, run).owner === null; count += 1) {
    const out = leave(on);
    perform(out.task, { world: dying, agent }).then(
      (result) => hear(on, out, result),
      () => undefined,
    );
    await rest();
  }
  expect(await rulesOf(on.world, run)).toContain("effects are undone");
  on.world.store.rows.set(run, { ...rowOf(on, run), deaths: 1 });
  stop(on, rowOf(on, run));
  on.clock.moveTo((rowOf(on, run).leaseUntil ?? 0) + on.world.limits.overdueMs);
  for (let count = 0; count < 3; count += 1) {
    await sweep(on.world);
    on.clock.moveTo(Math.max(on.clock.now(), rowOf(on, run).effectsSettleAt) + on.world.limits.overdueMs);
  }
  expect([rowOf(on, run).status, undone]).toEqual(["failed", []]);
  expect(await show(on.world, run)).toMatchObject({ failure: { code: "Abandoned" } });
});
