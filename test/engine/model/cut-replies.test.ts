/** Runs whose replies are cut by a limit: what runs, what completes, and when a run waits for an operator. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Agent } from "../../../src/ports/agent.ts";
import { type ScriptedReply, pipeline, react, recordedModel, tool } from "../../../src/index.ts";
import { exportRun } from "../../../src/features/archive/export.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { diagnose } from "../../../src/operations/diagnose.ts";
import { send } from "../../../src/operations/steer.ts";
import { show } from "../../../src/operations/views.ts";
import { UNTOLD } from "../../../src/render/story.ts";
import { renderEvents } from "../../../src/render/timeline.ts";
import { plain } from "../../../src/render/paint.ts";
import { asynchronousAgent } from "../../support/agents/asynchronous-agent.ts";
import { type Asked, playRun, roleAgent } from "../../support/runs/topology-run.ts";
import { MS } from "../../support/harness/harness.ts";

const CUT = { cutBy: "max_tokens" } as const;
const PAY = { tool: "pay", args: { euros: 500 } } as const;

/** An agent that gives these replies, one after the other, and then the last one again and again. */
function replying(replies: readonly ScriptedReply[], more: Partial<Parameters<typeof roleAgent>[1]> = {}) {
  const paid: unknown[] = [];
  const undone: unknown[] = [];
  let count = 0;
  const pay = tool({
    input: z.object({ euros: z.number().optional() }),
    effect: "idempotent",
    run: ({ input }) => paid.push(input),
    undo: { effect: "idempotent", run: ({ input }) => undone.push(input) },
  });
  const { agent, asked } = roleAgent(react({ maxBeats: 100 }) as Agent["topology"], {
    ...{ name: "payer", tools: { pay }, price: { inUsd: 1, outUsd: 1 } },
    reply: () => replies[Math.min(count++, replies.length - 1)] as ScriptedReply,
    ...more,
  });
  return { agent, asked, paid, undone };
}

const lastOf = (asked: readonly Asked[], index: number): string => asked[index]?.texts.at(-1) ?? "";

describe("a reply that was cut", () => {
  test("runs none of its calls, whole or not, and the model asks again", async () => {
    const { agent, asked, paid } = replying([
      { text: "I pay.", calls: [PAY, { tool: "pay", args: {} }], ...CUT },
      { calls: [PAY] },
      { text: "paid" },
    ]);
    const { shown, events } = await playRun(agent);
    expect(shown).toMatchObject({ status: "completed", result: "paid" });
    expect(paid).toEqual([{ euros: 500 }]);
    expect(lastOf(asked, 1)).toMatch(
      /^Your last reply was cut by its limit of tokens \(max_tokens\) while you wrote calls/,
    );
    expect(asked[1]?.texts).toHaveLength(2);
    const first = events.find(({ kind }) => kind === "ModelCallCompleted");
    expect(first).toMatchObject({ parts: [], finish: "length", cut: { limit: "max_tokens", calls: 2 } });
  });

  test("completes no run: the result is its text with what follows", async () => {
    const { agent, asked } = replying([{ text: "The refund of 500 euros is", ...CUT }, { text: " booked." }]);
    const { shown } = await playRun(agent);
    expect(shown).toMatchObject({ status: "completed", result: "The refund of 500 euros is booked." });
    expect(asked[1]?.texts.slice(-2)).toEqual([
      "The refund of 500 euros is",
      expect.stringContaining("Go on exactly where it stops") as string,
    ]);
  });

  test("is joined over several cuts, and not with what was said before calls", async () => {
    const { agent } = replying([
      { text: "one ", ...CUT },
      { text: "two ", ...CUT },
      { text: "three", calls: [PAY] },
      { text: "four ", ...CUT },
      { text: "five" },
    ]);
    expect((await playRun(agent)).shown).toMatchObject({ status: "completed", result: "four five" });
  });

  test("is seen by the definition of done as a whole", async () => {
    const seen: string[] = [];
    const holds = ({ text }: { readonly text: string }): boolean => seen.push(text) > 0;
    const { agent } = replying([{ text: "half", ...CUT }, { text: " and half" }], { done: [{ name: "d", holds }] });
    await playRun(agent);
    expect(seen).toEqual(["half and half"]);
  });

  test("of reasoning alone is asked for again", async () => {
    const { agent, asked } = replying([{ ...CUT }, { text: "done" }]);
    expect((await playRun(agent)).shown).toMatchObject({ status: "completed", result: "done" });
    expect(lastOf(asked, 1)).toContain("with less reasoning");
  });

  test("is paid for, counts as a beat, and is told in the timeline and by diagnose", async () => {
    const { agent } = replying([
      { text: "half", ...CUT, tokensIn: 10, tokensOut: 7 },
      { text: " whole", tokensOut: 1 },
    ]);
    const { shown, events, harness, run } = await playRun(agent);
    expect(shown).toMatchObject({ beats: 2, spent: { tokensOut: 8 } });
    const told = renderEvents(UNTOLD, events, { paint: plain, width: 200 }).lines.join("\n");
    expect(told).toContain("cut by its limit of tokens (max_tokens), says: half");
    const findings = (await diagnose(harness.world, run)) ?? [];
    expect(findings[0]).toMatchObject({
      likely: "cutReplies",
      evidence: [expect.stringContaining("cut by max_tokens after 7 tokens")],
    });
  });

  test("in the closing call is the last word, marked as cut", async () => {
    const again: ScriptedReply = { calls: [PAY], tokensOut: 1 };
    const { agent } = replying([again, { text: "I was about to", ...CUT }], { budget: { beats: 1 } });
    const { shown } = await playRun(agent);
    expect(shown).toMatchObject({
      status: "failed",
      failure: { message: expect.stringContaining("about to … (cut)") },
    });
  });

  test("by a context that is full makes it shorter before the model goes on", async () => {
    const read = tool({ input: z.object({}), effect: "none", run: () => "line ".repeat(200) });
    const look: ScriptedReply = { calls: [{ tool: "read", args: {} }] };
    const cut: ScriptedReply = { text: "half", cutBy: "model_context_window_exceeded" };
    const { agent } = replying([look, look, cut, { text: "short" }, { text: " whole" }], { tools: { read } });
    const { shown, events } = await playRun(agent);
    expect(shown).toMatchObject({ status: "completed", result: "half whole" });
    const kinds = events.map(({ kind }) => kind);
    expect(kinds.indexOf("Compacted")).toBeGreaterThan(kinds.lastIndexOf("ToolResultRecorded"));
  });
});

describe("a run whose replies are only ever cut", () => {
  const blocked = {
    status: "blocked",
    failure: null,
    waitsFor: { kind: "operator", mends: "replies", code: "ReplyCut" },
  } as const;

  test.each<[string, ScriptedReply]>([
    ["in their calls", { calls: [PAY], ...CUT }],
    ["in their text", { text: "more ", ...CUT }],
    ["in their reasoning", CUT],
  ])("%s waits for an operator, undoes nothing, and asks for nothing meanwhile", async (_, reply) => {
    const { agent, asked, paid, undone } = replying([{ calls: [PAY] }, reply]);
    const { shown, harness, run } = await playRun(agent);
    expect(shown).toMatchObject({ ...blocked, label: "waiting for an operator: the replies of its model are cut" });
    expect(shown?.waitsFor).toMatchObject({ why: expect.stringMatching(/5 replies.*max_tokens.*maxOutputTokens/) });
    expect({ asked: asked.length, paid: paid.length, undone: undone.length }).toEqual({ asked: 6, paid: 1, undone: 0 });
    await harness.runForTime(agent, 2 * MS.day);
    expect({ asked: asked.length, status: (await show(harness.world, run))?.status }).toEqual({
      asked: 6,
      status: "blocked",
    });
  });

  test("goes on after a resume, after a message, and with another version of its agent", async () => {
    const cuts = Array.from({ length: 5 }, (): ScriptedReply => ({ text: "x", ...CUT }));
    const waysOut = {
      resume: async (world: Parameters<typeof sendRequest>[0], run: string, agent: Agent) => {
        await sendRequest(world, { run, want: "resume" });
        return agent;
      },
      message: async (world: Parameters<typeof sendRequest>[0], run: string, agent: Agent) => {
        await send(world, { run, text: "Be brief.", by: "ann", id: "1" });
        return agent;
      },
      version: async (_world: unknown, _run: string, agent: Agent) => ({ ...agent, version: "2" }),
    };
    for (const [name, out] of Object.entries(waysOut)) {
      const { agent, asked } = replying([...cuts, { text: "done" }]);
      const { harness, run, shown } = await playRun(agent);
      expect(shown).toMatchObject(blocked);
      const next = await out(harness.world, run, agent);
      await harness.runForTime(next, 2 * MS.hour);
      expect({ name, status: (await show(harness.world, run))?.status, asked: asked.length }).toEqual({
        name,
        status: "completed",
        asked: 6,
      });
    }
  });

  test("is cut as often again after a resume before it waits again", async () => {
    const { agent, asked } = replying([{ text: "x", ...CUT }]);
    const { harness, run } = await playRun(agent);
    await sendRequest(harness.world, { run, want: "resume" });
    await harness.runForTime(agent, MS.hour);
    expect({ asked: asked.length, status: (await show(harness.world, run))?.status }).toEqual({
      asked: 10,
      status: "blocked",
    });
  });
});

test("the job of an asynchronous model whose reply was cut is over, paid for, and asked for again", async () => {
  let count = 0;
  const { agent } = asynchronousAgent({
    reply: () => (count++ === 0 ? { text: "half", ...CUT, tokensOut: 5 } : { text: " whole", tokensOut: 1 }),
  });
  const { shown, events } = await playRun(agent);
  expect(shown).toMatchObject({ status: "completed", result: "half whole", spent: { tokensOut: 6 } });
  expect(events.filter(({ kind }) => kind === "DetachedCallSubmitted")).toHaveLength(2);
  expect(events.filter(({ kind }) => kind === "DetachedCallEnded" || kind === "ModelCallLost")).toEqual([]);
});

describe("a topology", () => {
  const ROLES: readonly (readonly [string, Agent["topology"]])[] = [
    ["pipeline", pipeline({ stages: [{ name: "draft", instructions: "Draft." }] }) as unknown as Agent["topology"]],
  ];

  test.each(ROLES)("takes the whole text of a role whose reply was cut: %s", async (_, topology) => {
    let count = 0;
    const { agent } = roleAgent(topology, {
      reply: () => (count++ === 0 ? { text: "The draft is ", ...CUT } : { text: "whole." }),
    });
    expect((await playRun(agent)).shown).toMatchObject({ status: "completed", result: "The draft is whole." });
  });
});

test("a recorded run replays its cut replies as cut", async () => {
  const first = replying([
    { calls: [PAY], ...CUT },
    { text: "The refund ", ...CUT },
    { calls: [PAY] },
    { text: "is paid" },
  ]);
  const played = await playRun(first.agent);
  const chunks: string[] = [];
  await exportRun(played.harness.world, { run: played.run, write: (chunk) => void chunks.push(chunk) });
  const second = replying([]);
  const again = await playRun({ ...second.agent, model: recordedModel(Buffer.from(chunks.join(""))) });
  const replies = ({ events }: typeof played) =>
    events.flatMap((event) => (event.kind === "ModelCallCompleted" ? [[event.parts, event.cut]] : []));
  expect(replies(again)).toEqual(replies(played));
  expect({ status: again.shown?.status, result: again.shown?.result, paid: second.paid }).toEqual({
    status: "completed",
    result: "is paid",
    paid: [{ euros: 500 }],
  });
});
