/** A recorded run held against today's agent: which request would be made differently, and what of it. Nobody is asked. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Agent, Tool } from "../../src/ports/agent.ts";
import { requestDigests } from "../../src/engine/model/request-digests.ts";
import type { Message } from "../../src/core/message.ts";
import { pipeline, scriptedModel, tool } from "../../src/index.ts";
import { type Comparison, RequestComparison } from "../../src/operations/replay-against.ts";
import { timeline } from "../../src/operations/views.ts";
import { type Recording, recordingIn } from "../../src/features/archive/recording.ts";
import { KERNEL } from "../../src/features/compose.ts";
import { replay } from "../../src/features/archive/replay.ts";
import { beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import { scriptedAgent, callsThenFinal, createHarness } from "../support/harness/harness.ts";
import { playRun, roleAgent } from "../support/runs/topology-run.ts";

const fail = (): never => {
  throw new Error("nobody is asked");
};

/** The same as the actor, but whoever asks its model or runs its tools fails. */
function mute(change: Partial<Agent> = {}): Agent {
  const agent = scriptedAgent({ reply: fail, run: fail });
  return { ...agent, ...change };
}

async function recording(calls = 3): Promise<Recording> {
  const { world } = createHarness();
  const agent = scriptedAgent({ reply: callsThenFinal(calls) });
  const payload = await beginRun(world, agent, {});
  await drive(runnerOf(world, agent), payload);
  return (await recordingIn(world, payload)) as Recording;
}

async function against(agent: Agent, of?: Recording): Promise<Comparison> {
  const comparison = new RequestComparison(agent);
  const replayed = replay(KERNEL, of ?? (await recording()), { witness: comparison.witness });
  expect(replayed.differs).toBeNull();
  return comparison.result;
}

const whysOf = async (agent: Agent, of?: Recording) => (await against(agent, of)).first?.whys ?? [];
const tools = (change: Record<string, Tool>): Partial<Agent> => ({ tools: { ...mute().tools, ...change } });
const other = (): Tool => tool({ input: z.object({}), effect: "none", run: fail });

describe("a run compared with", () => {
  test("its own agent has no difference, and neither a model nor a tool is called", async () => {
    expect(await against(mute())).toEqual({
      ...{ compared: 4, unrecorded: 0, differing: 0, first: null, models: ["scripted:script"] },
      listed: null,
    });
    const silent = scriptedModel({ name: "another", reply: fail });
    expect(await whysOf(mute({ model: silent }))).toEqual([]);
  });

  test("other instructions differs from the first request on", async () => {
    expect(await against(mute({ instructions: "Hurry." }))).toMatchObject({
      ...{ compared: 4, differing: 4 },
      first: { version: 1, reply: 1, whys: ["the instructions are different"] },
    });
  });

  test("other tools names the difference: new, changed, removed, or reordered", async () => {
    const { act } = mute().tools;
    expect(await whysOf(mute(tools({ look: other() })))).toEqual(["tool look is new"]);
    const described = { ...(act as Tool), description: "Acts." };
    expect(await whysOf(mute(tools({ act: described })))).toEqual(["tool act has another description or input"]);
    const wider = { ...(act as Tool), input: z.object({ more: z.string() }) };
    expect(await whysOf(mute(tools({ act: wider })))).toEqual(["tool act has another description or input"]);
    expect(await whysOf(mute({ tools: {} }))).toEqual(["1 of its tools that it had not called are gone"]);
    // Whatever else a tool says of itself is nothing that a model sees.
    expect(await whysOf(mute(tools({ act: { ...(act as Tool), effect: "none", timeoutMs: 9 } })))).toEqual([]);
  });

  test("removed tools names them as soon as the run had called them", async () => {
    const first = (await recording()).commits;
    const late = new RequestComparison(mute({ tools: {} }));
    const of = await recording();
    const known = of.commits.map((commit, index) =>
      index > 2 ? commit : { ...commit, events: commit.events.map(unasked) },
    );
    replay(KERNEL, { ...of, commits: known }, { witness: late.witness });
    expect(first.length).toBeGreaterThan(3);
    expect(late.result).toMatchObject({ unrecorded: 2, first: { reply: 3, whys: ["tool act is gone"] } });
  });

  test("an agent with servers does not compare the tools that they list, and asks no server", async () => {
    const source = { label: "MCP server desk", prefix: "desk_", timeoutMs: null, startsProcess: true, list: fail };
    const { world } = createHarness();
    const ran = scriptedAgent({
      reply: ({ calls }) => (calls.length > 0 ? { text: "over" } : { calls: [{ tool: "desk_look", args: {} }] }),
    });
    const { act } = ran.tools;
    const listed = { desk_look: act as Tool, desk_post: other(), act: act as Tool };
    const payload = await beginRun(world, { ...ran, tools: listed }, {});
    await drive(runnerOf(world, { ...ran, tools: listed }), payload);
    const of = (await recordingIn(world, payload)) as Recording;
    expect(await against(mute({ sources: [source] }), of)).toMatchObject({
      differing: 0,
      listed: { servers: ["MCP server desk"], tools: 2, called: ["desk_look"] },
    });
    // A tool of its own that is new is still a difference, and so is one that a server cannot have listed.
    expect(await whysOf(mute({ ...tools({ look: other() }), sources: [source] }), of)).toEqual(["tool look is new"]);
    const elsewhere = { ...source, prefix: "web_" };
    const late = await against(mute({ sources: [elsewhere] }), of);
    expect(late.first?.whys).toEqual(["tool desk_look is gone"]);
  });

  test("tools in another order names that difference", async () => {
    const { world } = createHarness();
    const pair = {
      ...scriptedAgent({ reply: callsThenFinal(1) }),
      tools: { act: mute().tools["act"] as Tool, look: other() },
    };
    const ran = { ...pair, tools: { ...pair.tools, act: scriptedAgent({}).tools["act"] as Tool } };
    const payload = await beginRun(world, ran, {});
    await drive(runnerOf(world, ran), payload);
    const of = (await recordingIn(world, payload)) as Recording;
    const { act, look } = pair.tools;
    expect(await whysOf({ ...pair, tools: { look, act } }, of)).toEqual(["its tools come in another order"]);
    expect(await whysOf(pair, of)).toEqual([]);
  });

  test("another rendering of messages names that message", async () => {
    const of = await recording();
    const commits = of.commits.map((commit) => ({
      ...commit,
      events: commit.events.map((event) =>
        event.kind === "ModelCallCompleted" && event.request !== undefined && commit.version > 3
          ? { ...event, request: { ...event.request, messages: "0".repeat(16) } }
          : event,
      ),
    }));
    const marks = of.begun.marks.slice(0, 1);
    const shown = await against(mute(), { ...of, commits, begun: { ...of.begun, marks } });
    expect(shown).toMatchObject({ differing: 2, first: { reply: 3 } });
    expect(shown.first?.whys).toEqual(["one or more of the messages m4 to m5 are shown to the model in another way"]);
  });

  test("an agent from before digests were stored compares nothing, and reports for how many requests", async () => {
    const of = await recording();
    const commits = of.commits.map((commit) => ({ ...commit, events: commit.events.map(unasked) }));
    expect(await against(mute({ instructions: "Hurry." }), { ...of, commits })).toMatchObject({
      ...{ compared: 0, unrecorded: 4, differing: 0, first: null },
    });
  });
});

const unasked = (event: Recording["commits"][number]["events"][number]): typeof event => {
  if (event.kind !== "ModelCallCompleted") return event;
  const { request: _, ...rest } = event;
  return rest;
};

describe("the digest of a request", () => {
  test("is in the event of its reply, also of a closing call, and small", async () => {
    const harness = createHarness();
    const agent = { ...scriptedAgent({ reply: callsThenFinal(9) }), instructions: "Act." };
    const bounded = { ...agent, budget: { ...agent.budget, beats: 2 } };
    const payload = await beginRun(harness.world, bounded, {});
    await drive(runnerOf(harness.world, bounded), payload);
    const events = (await timeline(harness.world, { run: payload.run, after: 0 })) ?? [];
    const replies = events.filter((event) => event.kind === "ModelCallCompleted");
    expect(replies).toHaveLength(3);
    for (const { request } of replies) {
      expect(request).toEqual({
        instructions: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
        tools: [expect.stringMatching(/^[0-9a-f]{12}$/) as string],
        messages: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
      });
    }
    expect(new Set(replies.map(({ request }) => request?.messages)).size).toBe(3);
    expect(new Set(replies.map(({ request }) => request?.instructions)).size).toBe(1);
  });

  test("does not fail when a description has half a character, which has no canonical form", () => {
    const half = { ...other(), description: "\ud800" };
    const digests = requestDigests({ instructions: "\ud800", tools: { half } }, []);
    expect(digests.tools).toEqual([expect.stringMatching(/^[0-9a-f]{12}$/)]);
  });

  test("digests each message once", () => {
    let looks = 0;
    const text = (id: string): Message => ({
      ...{ id, at: 1, source: "task", role: "user", tokens: 0 },
      get parts() {
        looks += 1;
        return [{ kind: "text", text: id }] as const;
      },
    });
    const messages = [text("m1"), text("m2")];
    const first = requestDigests({ instructions: "", tools: {} }, messages);
    const after = looks;
    expect(requestDigests({ instructions: "", tools: {} }, messages)).toEqual(first);
    expect(looks).toBe(after);
    const more = requestDigests({ instructions: "", tools: {} }, [...messages, text("m3")]);
    expect(more.messages).not.toBe(first.messages);
    expect(looks).toBe(after + after / 2);
  });
});

describe("a run of a pipeline against", () => {
  const stages = (tools: readonly string[]) =>
    pipeline({
      stages: [
        { name: "read", instructions: "Read." },
        { name: "tell", instructions: "Tell.", tools },
      ],
    });
  const agentOf = (tools: readonly string[]) =>
    roleAgent(stages(tools), { reply: () => ({ text: "read" }), tools: { look: other() } }).agent;

  test("its own agent has no difference, and against another stage says which request differs", async () => {
    const { harness, run } = await playRun(agentOf(["look"]));
    const recorded = (await recordingIn(harness.world, harness.row(run))) as Recording;
    expect(await against(agentOf(["look"]), recorded)).toMatchObject({ compared: 2, differing: 0 });
    expect(await against(agentOf([]), recorded)).toMatchObject({ differing: 1, first: { reply: 2 } });
  });
});
