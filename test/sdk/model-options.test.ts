/** What an agent sets of its model requests, and results in a declared form. */
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type ModelOptions, type ResultOf, defineAgent, scriptedModel, tool } from "../../src/index.ts";
import { AgentInvalid } from "../../src/ports/agent-invalid.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { RequestComparison } from "../../src/operations/replay-against.ts";
import { KERNEL } from "../../src/features/compose.ts";
import { replay } from "../../src/features/archive/replay.ts";
import { recordingIn } from "../../src/features/archive/recording.ts";
import { show, timeline, transcript } from "../../src/operations/views.ts";
import { beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import { type Harness, createHarness } from "../support/harness/harness.ts";

const OPTIONS: ModelOptions = {
  temperature: 0.2,
  maxOutputTokens: 900,
  seed: 7,
  stopSequences: ["END"],
  providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 2_000 } } },
};
const OUTPUT = z.object({ city: z.string(), nights: z.int().default(2) });

/** An agent that looks once, then answers with these texts in turn; and what each request asked for. */
function answering(texts: readonly string[], change: object = {}) {
  const asked: Parameters<LanguageModelV4["doGenerate"]>[0][] = [];
  const model = scriptedModel({
    name: "script",
    reply: ({ turn }) => (turn === 0 ? { calls: [{ tool: "look", args: {} }] } : { text: texts[turn - 1] ?? "over" }),
  });
  const doGenerate: LanguageModelV4["doGenerate"] = (options) => {
    asked.push(options);
    return model.doGenerate(options);
  };
  const agent = defineAgent({
    name: "guide",
    version: "1",
    instructions: "",
    task: z.object({}),
    model: { ...model, doGenerate },
    tools: { look: tool({ input: z.object({}), effect: "none", run: () => "seen" }) },
    ...change,
  }) as Agent;
  return { agent, asked };
}

async function played(harness: Harness, agent: Agent) {
  const payload = await beginRun(harness.world, agent, {});
  const { run } = await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), payload));
  return { payload, shown: await show(harness.world, run), run };
}

describe("model options", () => {
  test("go into every request as they are", async () => {
    const { agent, asked } = answering(["done"], { modelOptions: OPTIONS });
    await played(createHarness(), agent);
    expect(asked).toHaveLength(2);
    for (const each of asked) expect(each).toMatchObject(OPTIONS);
  });

  test("without any a request has none", async () => {
    const { agent, asked } = answering(["done"]);
    await played(createHarness(), agent);
    expect(Object.keys(asked[0] ?? {}).toSorted()).toEqual(["abortSignal", "prompt", "tools"]);
  });

  test.each([
    ["an unknown name", { heat: 1 }],
    ["a negative temperature", { temperature: -1 }],
    ["no tokens", { maxOutputTokens: 0 }],
    ["provider options that are no JSON", { providerOptions: { openai: { f: () => 1 } } }],
  ])("with %s are refused", (_, modelOptions) => {
    expect(() => answering([], { modelOptions })).toThrow(AgentInvalid);
    expect(() => answering([], { modelOptions })).toThrow("the modelOptions of agent guide");
  });

  test("are part of the recorded request, and a replay against others names the difference", async () => {
    const harness = createHarness();
    const { agent } = answering(['{"city":"Oslo"}'], { modelOptions: OPTIONS, output: OUTPUT });
    const { payload, run } = await played(harness, agent);
    const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
    const digests = events.flatMap((event) => (event.kind === "ModelCallCompleted" ? [event.request?.options] : []));
    expect(digests).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/), digests[0]]);
    const recorded = await recordingIn(harness.world, payload);
    const whysOf = (other: Agent): readonly string[] => {
      const comparison = new RequestComparison(other);
      if (recorded !== null) replay(KERNEL, recorded, { witness: comparison.witness });
      return comparison.result.first?.whys ?? [];
    };
    const why = "the model options or the form of the result are different";
    expect(whysOf(agent)).toEqual([]);
    expect(whysOf(answering([], { modelOptions: { ...OPTIONS, seed: 8 }, output: OUTPUT }).agent)).toEqual([why]);
    expect(whysOf(answering([], { modelOptions: OPTIONS }).agent)).toEqual([why]);
  });
});

describe("an output schema", () => {
  test("is the form that the model is asked for, and the parsed value is the result", async () => {
    const { agent, asked } = answering(['{"city":"Oslo"}'], { output: OUTPUT });
    const { shown } = await played(createHarness(), agent);
    expect(shown).toMatchObject({ status: "completed", result: { city: "Oslo", nights: 2 } });
    const schema = { type: "object", required: ["city"], properties: { city: { type: "string" } } };
    expect(asked[1]?.responseFormat).toMatchObject({ type: "json", name: "result", schema });
  });

  test("sends a reply back that does not fit, with what is wrong", async () => {
    const harness = createHarness();
    const { agent } = answering(["Oslo it is.", '{"city":5}', 'So: {"city":"Oslo","nights":3}'], { output: OUTPUT });
    const { shown, run } = await played(harness, agent);
    expect(shown).toMatchObject({ status: "completed", result: { city: "Oslo", nights: 3 } });
    const words = JSON.stringify(await transcript(harness.world, run));
    expect(words).toContain("answer with the JSON object of the result alone");
    expect(words).toContain("city: Invalid input");
  });

  test("that no reply fits ends the run as NotDone", async () => {
    const { agent } = answering(["a", "b", "c", "d", "e"], { output: OUTPUT });
    const { shown } = await played(createHarness(), agent);
    expect(shown).toMatchObject({ status: "failed", failure: { code: "NotDone" } });
  });

  test("that is no object, or beside a result, is refused", () => {
    expect(() => answering([], { output: z.string() })).toThrow("its output is no object");
    expect(() => answering([], { output: z.object({ at: z.date() }) })).toThrow("cannot be described");
    expect(() => answering([], { output: OUTPUT, result: () => 1 })).toThrow("write one of them");
  });

  test("types the result", () => {
    const typed = defineAgent({
      ...{ name: "guide", version: "1", instructions: "", model: "openai-compatible:http://127.0.0.1/v1#m", tools: {} },
      task: z.object({}),
      output: OUTPUT,
    });
    expectTypeOf<ResultOf<typeof typed>>().toEqualTypeOf<{ city: string; nights: number }>();
  });
});
