/** Whole runs of a pipeline: what each stage sees, the way back, and crashes at every moment. */
import { expect, test } from "vitest";
import { z } from "zod";
import { type Conversation, type ScriptedReply, check, judge, pipeline, react, tool } from "../../../../src/index.ts";
import type { TopologyFunction } from "../../../../src/ports/agent.ts";
import { forSampledCrashPoints } from "../../../support/faults/crash-at-call.ts";
import { createChainHarness } from "../../../support/harness/harness.ts";
import { playRun, roleAgent } from "../../../support/runs/topology-run.ts";

/** The reader looks something up and writes JSON; the writer writes of it; the judge likes it. */
function reply({ instructions, messages, calls }: Conversation): ScriptedReply {
  const opening = messages.findLast(({ text }) => text.startsWith("Stage"))?.text ?? "";
  if (instructions.includes("Read.")) {
    if (calls.length === 0) return { calls: [{ tool: "look", args: {} }] };
    return { text: JSON.stringify({ fact: opening.includes("not accepted") ? "right" : "wrong" }) };
  }
  if (instructions.includes("Write.")) return { text: `It is ${/"fact":"(\w+)"/.exec(opening)?.[1] ?? "?"}.` };
  return { text: '{"score": 0.9, "why": "fine"}' };
}

const look = tool({ input: z.object({}), effect: "none", run: () => "seen" });
const gateOf =
  (bad: string): TopologyFunction =>
  ({ output }) =>
    !output.includes(bad) || `it says ${bad}`;

const agentWith = (of: { gate?: TopologyFunction; endToEnd?: TopologyFunction; retriesPerStage?: number }) =>
  roleAgent(
    pipeline({
      stages: [
        {
          name: "read",
          instructions: "Read.",
          tools: ["look"],
          output: z.object({ fact: z.string() }),
          ...(of.gate && { gate: of.gate }),
        },
        { name: "write", instructions: "Write.", tools: [], gate: judge({ instructions: "Judge.", threshold: 0.5 }) },
      ],
      ...(of.endToEnd && { endToEnd: of.endToEnd }),
      ...(of.retriesPerStage === undefined ? {} : { retriesPerStage: of.retriesPerStage }),
    }),
    { reply, tools: { look, spare: look } },
  );

test("each stage sees the task, its input and its own tools, and the last output is the answer", async () => {
  const { agent, asked } = agentWith({});
  const { shown, moves } = await playRun(agent);
  expect(shown).toMatchObject({ status: "completed", result: "It is wrong.", beats: 4 });
  expect(asked.map(({ tools }) => tools)).toEqual([["look"], ["look"], [], []]);
  expect(asked[2]).toMatchObject({
    instructions: "Be brief.\n\nWrite.",
    texts: ["{}", 'Stage 2 of 2: write.\n\nWhat stage read handed on:\n{"fact":"wrong"}'],
  });
  expect(asked[3]?.texts).toEqual(["{}", "Judge the output of stage write:\n\nIt is wrong."]);
  expect(moves.map(({ role }) => role)).toEqual(["read", "write", "judge of write", "write"]);
  expect(shown?.topology).toMatchObject({ kind: "pipeline", where: "stage 2 of 2, write, done" });
});

test("a gate that falls sends the run back before the next stage has seen the output", async () => {
  const { agent, asked } = agentWith({ gate: gateOf("wrong") });
  const { shown, cracks } = await playRun(agent);
  expect(shown).toMatchObject({ status: "completed", result: "It is right." });
  expect(asked.flatMap(({ texts }) => texts).filter((text) => text.includes("handed on"))).not.toContain("wrong");
  expect(cracks).toEqual([]);
});

test("cascading poison is signalled while all gates are green, and before the answer is given", async () => {
  const endToEnd: TopologyFunction = ({ output }) =>
    output.includes("right") || { holds: false, why: "the fact is wrong", detail: "read" };
  const { shown, events, cracks } = await playRun(agentWith({ endToEnd }).agent);
  expect(cracks).toEqual(["cascadingPoison"]);
  expect(shown).toMatchObject({ status: "completed", result: "It is right." });
  const kinds = events.map(({ kind }) => kind);
  expect(kinds.indexOf("CrackSignalled")).toBeLessThan(kinds.indexOf("RunEnded"));
  const never = await playRun(agentWith({ endToEnd: () => false, retriesPerStage: 1 }).agent);
  expect(never.shown).toMatchObject({ status: "failed", failure: { code: "CascadingPoison" } });
  expect(never.cracks).toEqual(["cascadingPoison", "cascadingPoison"]);
});

test("whoever dies where, the run takes the same way, and no stage gets another retry", async () => {
  const of = { gate: gateOf("wrong") };
  const calm = await playRun(agentWith(of).agent);
  const crashes = await forSampledCrashPoints(async (crash) => {
    const { lives, shown, moves } = await playRun(agentWith(of).agent, { crash });
    expect(shown).toMatchObject({ status: "completed", result: "It is right." });
    expect(moves.map(({ note }) => note)).toEqual(calm.moves.map(({ note }) => note));
    return lives;
  });
  expect(crashes).toBeGreaterThan(40);
  const hopeless = { gate: () => "never good", retriesPerStage: 1 };
  await forSampledCrashPoints(async (crash) => {
    const { lives, shown, moves } = await playRun(agentWith(hopeless).agent, { crash });
    expect(shown).toMatchObject({ status: "failed", failure: { code: "GateFailed" } });
    expect(moves).toHaveLength(2);
    return lives;
  });
});

test("a stage has a cap of its own, which counts beats before a crash and is signalled at 80 %", async () => {
  let looks = 0;
  const endless = tool({ input: z.object({}), effect: "none", run: () => (looks += 1) });
  const topology = pipeline({
    stages: [{ name: "read", instructions: "Read.", topology: react({ maxBeats: 5 }) }],
    retriesPerStage: 0,
  });
  const { agent } = roleAgent(topology, {
    reply: () => ({ calls: [{ tool: "look", args: {} }] }),
    tools: { look: endless },
  });
  const { shown, events } = await playRun(agent);
  expect(shown).toMatchObject({
    status: "failed",
    failure: { code: "GateFailed", message: expect.stringContaining("Runaway: 5 of 5") },
    beats: 5,
  });
  expect(events.filter(({ kind }) => kind === "CrackSignalled")).toMatchObject([
    { crack: "runaway", why: "4 of 5 beats are used" },
  ]);
});

test("a tool of another stage is refused, even if the model calls it", async () => {
  const { agent } = roleAgent(pipeline({ stages: [{ name: "write", instructions: "Write.", tools: [] }] }), {
    reply: ({ calls }) =>
      calls.length === 0 ? { calls: [{ tool: "look", args: {} }] } : { text: JSON.stringify(calls[0]?.result) },
    tools: { look },
  });
  expect((await playRun(agent)).shown).toMatchObject({ result: expect.stringContaining("UnknownTool") });
});

test("a pipeline runs inside a stage of another one, and its judge sees the input of that stage", async () => {
  const inner = pipeline({
    stages: [{ name: "write", instructions: "Write.", gate: judge({ instructions: "Judge.", threshold: 0.5 }) }],
    maxBeats: 10,
  });
  const topology = pipeline({
    stages: [
      { name: "read", instructions: "Read.", tools: ["look"] },
      { name: "tell", instructions: "Tell.", topology: inner },
    ],
  });
  const { agent, asked } = roleAgent(topology, { reply, tools: { look } });
  const { shown, moves } = await playRun(agent);
  expect(shown).toMatchObject({ status: "completed", result: "It is wrong." });
  expect(moves.map(({ role }) => role)).toEqual(["read", "tell/write", "tell/judge of write", "tell"]);
  expect(asked.at(-1)?.texts.at(-1)).toContain("What stage read handed on");
  expect(asked.at(-1)?.instructions).toContain("Tell.\n\nJudge.");
});

test("checks of done send the run back to the last stage, and a checkpoint may wait for the stage", async () => {
  let asked = 0;
  const done = [check("twice", () => (asked += 1) > 1 || "once is not enough")];
  const { agent } = roleAgent(pipeline({ stages: [{ name: "write", instructions: "Write." }] }), {
    reply,
    done,
    checkpoint: "unit",
  });
  const { shown, moves, cracks } = await playRun(agent);
  expect(shown).toMatchObject({ status: "completed" });
  expect(cracks).toEqual(["prematureStop"]);
  expect(moves.map(({ note }) => note)[2]).toContain("the definition of done does not hold");
});

test("the agent sets how often a snapshot is stored: each beat, some beats, or each stage", async () => {
  const epochsOf = async (checkpoint?: number | "unit"): Promise<number | undefined> => {
    const { agent } = agentWith({});
    return (await playRun(checkpoint === undefined ? agent : { ...agent, checkpoint })).shown?.epoch;
  };
  // Four beats in three sections: two beats to read, one to write, one to judge.
  expect([await epochsOf(), await epochsOf("unit"), await epochsOf(2), await epochsOf(9)]).toEqual([4, 3, 2, 1]);
});

test("a gate for which no time is left is asked by the next invocation, and no retry is lost", async () => {
  const harness = createChainHarness();
  const slow = () => new Promise<boolean>((resolve) => harness.clock.after(500, () => resolve(true)));
  const topology = pipeline({ stages: [{ name: "write", instructions: "Write.", gate: slow }], retriesPerStage: 0 });
  const { agent } = roleAgent(topology, {
    reply: () => {
      harness.clock.moveTo(harness.clock.now() + harness.world.limits.beatMs - harness.world.limits.drainMs - 100);
      return { text: "written" };
    },
  });
  const { shown } = await playRun(agent, { harness });
  expect(shown).toMatchObject({ status: "completed", result: "written", beats: 1, epoch: 2 });
});
