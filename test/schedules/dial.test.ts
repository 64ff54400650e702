/** The dial across deaths: a plan that waits for its results costs one reply at most, and somebody knows of it. */
import { expect, test } from "vitest";
import type { Agent, Tool } from "../../src/ports/agent.ts";
import type { Conversation, ScriptedReply } from "../../src/index.ts";
import { ledger, timeline } from "../../src/operations/views.ts";
import { beginRun, killableWorld } from "../support/harness/drive.ts";
import {
  FINAL_REPLY,
  type Harness,
  scriptedAgent,
  createChainHarness,
  neverSettles,
} from "../support/harness/harness.ts";
import { dieInTool } from "../support/harness/chain-steps.ts";

/** How often its model was asked. */
interface Asked {
  replies: number;
}

type Script = (conversation: Conversation, asked: Asked) => ScriptedReply | Promise<ScriptedReply>;

/** `look` acts nowhere, `act` does. */
function dialled(script: Script): { readonly agent: Agent; readonly asked: Asked } {
  const asked: Asked = { replies: 0 };
  const reply = (conversation: Conversation): ScriptedReply | Promise<ScriptedReply> => {
    asked.replies += 1;
    return script(conversation, asked);
  };
  const made = scriptedAgent({ effect: "keyed", reply });
  const act = made.tools["act"] as Tool;
  return { agent: { ...made, dial: "auto", tools: { act, look: { ...act, effect: "none" } } }, asked };
}

const call = (tool: string): ScriptedReply => ({ calls: [{ tool, args: {} }] });

const stuckIn = (agent: Agent, name: string): Agent => ({
  ...agent,
  tools: { ...agent.tools, [name]: { ...(agent.tools[name] as Tool), run: neverSettles } },
});

async function die(harness: Harness, agent: Agent): Promise<void> {
  const { world, kill } = killableWorld(harness.world);
  await harness.loseAttempt(agent, world);
  kill();
}

/** The replies that a run knows of: its own, and those that it counts as lost. */
async function knownIn({ world }: Harness, run: string): Promise<{ readonly own: number; readonly lost: number }> {
  const events = (await timeline(world, { run, after: 0 })) ?? [];
  const lost = events.map((event) => (event.kind === "ModelCallLost" ? event.calls : 0));
  return {
    own: events.filter(({ kind }) => kind === "ModelCallCompleted").length,
    lost: lost.reduce((sum, calls) => sum + calls, 0),
  };
}

test("schedule 70: a process dies in a call whose plan waits for its result; the reply counts as lost, once", async () => {
  const harness = createChainHarness();
  const { agent, asked } = dialled(({ calls }) => (calls.length === 0 ? call("look") : FINAL_REPLY));
  const { run } = await beginRun(harness.world, agent, {});
  await die(harness, stuckIn(agent, "look"));
  expect(harness.row(run)).toMatchObject({ version: 0, phase: "Preparing", claims: 1 });
  await harness.runUntilIdle(agent);
  expect({ status: harness.row(run).status, replies: asked.replies }).toEqual({ status: "completed", replies: 3 });
  expect(await knownIn(harness, run)).toEqual({ own: 2, lost: 1 });
  expect(await ledger(harness.world, run)).toMatchObject([{ tool: "look", status: "succeeded", attempts: 1 }]);
  // Behind a call that acts outside nobody could tell that the model was asked again: there the plan is committed.
  const other = createChainHarness({ beatsPerInvocation: 2 });
  const next = dialled(({ calls }) => [call("act"), call("look")][calls.length] ?? FINAL_REPLY);
  const begun = await beginRun(other.world, next.agent, {});
  await die(other, stuckIn(next.agent, "look"));
  expect(other.row(begun.run)).toMatchObject({ phase: "ExecutingTools" });
  await other.runUntilIdle(next.agent);
  expect({ status: other.row(begun.run).status, replies: next.asked.replies }).toEqual({
    status: "completed",
    replies: 3,
  });
  expect(await knownIn(other, begun.run)).toEqual({ own: 3, lost: 0 });
});

test("schedule 71: an invocation calls its model once more and dies while an earlier reply is uncommitted; both are debited", async () => {
  const harness = createChainHarness({ beatsPerInvocation: 3 });
  const { agent, asked } = dialled(({ calls }, { replies }) => {
    if (calls.length === 0) return call("look");
    return replies === 2 ? neverSettles() : FINAL_REPLY;
  });
  const { run } = await beginRun(harness.world, agent, {});
  await die(harness, agent);
  expect(asked.replies).toBe(2);
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("completed");
  const { own, lost } = await knownIn(harness, run);
  expect({ replies: own + lost, lost }).toEqual({ replies: asked.replies, lost: 1 });
});

test("schedule 72: a call kills its process each time; its plan is committed at once, and no death costs another reply", async () => {
  const harness = createChainHarness();
  const agent: Agent = {
    ...scriptedAgent({ effect: "none", reply: () => (asked.push("asked"), call("act")) }),
    dial: "auto",
  };
  const asked: string[] = [];
  const { run } = await beginRun(harness.world, agent, {});
  for (let deaths = 0; deaths < 4; deaths += 1) await dieInTool(harness, agent);
  expect(asked).toHaveLength(2);
  expect(harness.row(run)).toMatchObject({ phase: "ExecutingTools", takeovers: 3 });
  await harness.runAttempt(agent);
  expect((await ledger(harness.world, run))?.[0]).toMatchObject({ status: "succeeded", attempts: 4 });
});
