/** What follows when nobody knows whether a call happened, and which call goes first. */
import { expect, test } from "vitest";
import type { Agent, Tool } from "../../src/ports/agent.ts";
import { type Conversation, OutcomeUnknown, type ScriptedReply } from "../../src/index.ts";
import { ledger } from "../../src/operations/views.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { begin } from "../support/drive.ts";
import {
  OVER,
  type Part,
  type Stage,
  actor,
  beforeCommit,
  callsThenOver,
  chainedStage,
  rowOf,
} from "../support/stage.ts";
import { dieInTool, enterTool, frozenBefore, hear, playOut, rest, rulesOf, step } from "../support/steps.ts";

const CALL = { tool: "act", args: {} } as const;

function unsafe(part: Part, rules: Partial<Pick<Tool, "onUnknown" | "parallel">>): Agent {
  const agent = actor({ effect: "unsafe", ...part });
  return { ...agent, tools: { act: { ...agent.tools["act"], ...rules } as Tool } };
}

/** Attempts leave as long as one may without the passing of time. */
async function untilItWaits(on: Stage, agent: Agent): Promise<void> {
  while ((on.world.chain.next() ?? Infinity) <= on.clock.now()) await step(on, agent);
}

const say = (on: Stage, run: string, world = on.world as Parameters<typeof reconcile>[0]) =>
  reconcile(world, { run, call: "c1", as: "succeeded", result: null, by: "ann", note: null });

/** A run whose model is told, unless somebody says before what became of its call; the call cannot tell. */
async function lost(on: Stage) {
  let runs = 0;
  const act = (): string => {
    runs += 1;
    if (runs === 1) throw new OutcomeUnknown("the answer was lost");
    return "done";
  };
  const agent = unsafe({ run: act, reply: callsThenOver(2) }, { onUnknown: "tell" });
  const payload = await begin(on.world, agent, {});
  await untilItWaits(on, agent);
  expect(rowOf(on, payload.run).status).toBe("blocked");
  return { agent, run: payload.run };
}

test("schedule 59: the owner of a call is frozen; the model is told, looks, sees nothing and does it again; it thaws", async () => {
  const on = chainedStage();
  const effects: string[] = [];
  const reply = ({ calls }: Conversation): ScriptedReply => {
    const isMissing = calls.at(-1)?.outcome === "unknown" && effects.length === 0;
    return calls.length === 0 || isMissing ? { calls: [CALL] } : OVER;
  };
  const agent = unsafe({ run: ({ key }) => effects.push(key), reply }, { onUnknown: "tell" });
  const { run } = await begin(on.world, agent, {});
  const frozen = await enterTool(on, agent);
  hear(on, frozen.out, null);
  await untilItWaits(on, agent);
  // It thaws inside its lease, and what it sends lands.
  effects.push(frozen.key);
  await playOut(on, agent);
  expect([rowOf(on, run).status, effects]).toEqual(["completed", [frozen.key]]);
  expect(await rulesOf(on.world, run)).toContain("outcome stays unknown, the model is told");
});

test("schedule 60: a call is given up while an answer about it is acknowledged, and another one comes too late", async () => {
  const on = chainedStage();
  const { run, agent } = await lost(on);
  const act = async () => expect(await say(on, run)).toEqual({ kind: "accepted" });
  await step(on, agent, beforeCommit(on, { when: () => true, act }));
  await playOut(on, agent);
  expect(await ledger(on.world, run)).toMatchObject([{ status: "reconciled" }, { status: "succeeded" }]);
  // Whoever looked before and answers after it is told that nobody will hear it.
  const other = chainedStage();
  const late = await lost(other);
  const slow = frozenBefore(other.world, "deliver");
  const said = say(other, late.run, slow.world);
  await rest();
  await step(other, late.agent);
  expect(rowOf(other, late.run).status).toBe("running");
  slow.thaw();
  expect(await said).toMatchObject({ kind: "stale" });
});

test("schedule 61: the first of two calls that run one after another dies; the second waits for what became of it", async () => {
  const on = chainedStage();
  const keys: string[] = [];
  const reply = ({ calls }: Conversation): ScriptedReply => (calls.length === 0 ? { calls: [CALL, CALL] } : OVER);
  const agent = unsafe({ run: ({ key }) => keys.push(key), reply }, { parallel: false });
  const { run } = await begin(on.world, agent, {});
  const first = await dieInTool(on, agent);
  await untilItWaits(on, agent);
  expect([rowOf(on, run).status, rowOf(on, run).phase, keys]).toEqual(["blocked", "AwaitingReconcile", []]);
  expect(await say(on, run)).toEqual({ kind: "accepted" });
  await playOut(on, agent);
  expect(rowOf(on, run).status).toBe("completed");
  expect(keys).toHaveLength(1);
  expect(keys).not.toContain(first);
});

test("schedule 74: a keyed call lands and its process dies; the next try cannot reach the other side", async () => {
  const on = chainedStage();
  const run = (): never => {
    throw new Error("the connection is refused");
  };
  const agent = actor({ effect: "keyed", run });
  const { run: id } = await begin(on.world, agent, {});
  const landed = await dieInTool(on, agent);
  await playOut(on, agent);
  // Its model is told that nobody knows: told that it failed, it would do it once more under another key.
  expect(await ledger(on.world, id)).toMatchObject([{ key: landed, status: "unknown" }]);
  expect(rowOf(on, id).status).toBe("completed");
});
