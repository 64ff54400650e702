/** Runs whose model and tools return and throw the worst: each goes on, knows what happened, and nothing escapes it. */
import { EFFECT_NAMES } from "../../../src/core/calls/effects.ts";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { LanguageModelV4, LanguageModelV4Content } from "@ai-sdk/provider";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import { check, scriptedModel, tool } from "../../../src/index.ts";
import { decide } from "../../../src/operations/decide.ts";
import type { Json } from "../../../src/core/json.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { HOSTILE_ERRORS, HOSTILE_VALUES, nested } from "../../support/values/hostile-values.ts";
import { FINAL_REPLY, scriptedAgent, createChainHarness, createHarness } from "../../support/harness/harness.ts";

/** Calls `act` once, says what came of it, and is done. */
function acting(effect: Tool["effect"], of: Partial<Tool> & Pick<Tool, "run">): Agent {
  const probe = effect === "probed" ? { probe: () => ({ kind: "absent" }) as const } : {};
  const act = tool({ input: z.object({}), effect, ...probe, ...of });
  return {
    ...scriptedAgent({ reply: ({ calls }) => (calls.length === 0 ? { calls: [CALL] } : FINAL_REPLY) }),
    tools: { act },
  } as Agent;
}

const CALL = { tool: "act", args: {} };

async function playedOut(agent: Agent, input = {}) {
  const harness = createHarness();
  const payload = await beginRun(harness.world, agent, input);
  const { route, run } = await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), payload));
  const [entry] = (await ledger(harness.world, run)) ?? [];
  const events = JSON.stringify(await timeline(harness.world, { run, after: 0 }));
  return { route, entry, events, shown: await show(harness.world, run) };
}

describe.each(EFFECT_NAMES)("a %s tool", (effect) => {
  test.each(HOSTILE_VALUES)("succeeds and its run continues when it returns: %s", async (_, make) => {
    const { route, entry, shown } = await playedOut(acting(effect, { run: make }));
    expect({ route, result: shown?.result }).toEqual({ route: "done", result: "over" });
    expect(entry).toMatchObject({ status: effect === "none" ? "failed" : "succeeded" });
    expect(entry?.evidence).toBe("the tool returned, and its result is lost: ResultRefused");
  });

  test.each(HOSTILE_ERRORS)("fails and its run continues when it throws: %s", async (_, make) => {
    const run = (): never => {
      throw make();
    };
    const retry = effect === "unsafe" ? null : { attempts: 2, when: run };
    const onExists = effect === "keyed" || effect === "probed" ? run : null;
    const { route, entry, shown } = await playedOut(acting(effect, { run, retry, onExists }));
    expect({ route, result: shown?.result, status: entry?.status }).toEqual({
      route: "done",
      result: "over",
      status: "failed",
    });
  });

  test.each(HOSTILE_VALUES)("succeeds when its rules return any value: %s", async (_, make) => {
    const redact: Tool["redact"] = (json, of) => (of === "result" ? (make() as never) : json);
    const rules: Partial<Tool> = { redact, externalId: make as never, claims: make as never };
    const { route, entry } = await playedOut(acting(effect, { run: () => "done", ...rules }));
    expect({ route, status: entry?.status }).toEqual({ route: "done", status: "succeeded" });
  });
});

/** Throws or returns what is given, at each place at which a run asks its agent's code. */
describe("agent code outside of tools", () => {
  const throwing = (make: () => unknown) => (): never => {
    throw make();
  };

  test.each(HOSTILE_ERRORS)("ends its run with a code when it throws: %s", async (_, make) => {
    const base = acting("keyed", { run: () => "done" });
    const isDone = { ...base, done: [check("is done", throwing(make))] } as unknown as Agent;
    expect((await playedOut(isDone)).shown?.failure).toMatchObject({ code: "NotDone" });
    const result = { ...base, result: throwing(make) } as Agent;
    expect((await playedOut(result)).shown?.failure).toMatchObject({ code: "ResultInvalid" });
  });

  test.each(HOSTILE_VALUES)("ends its run with a code when it returns what is not JSON: %s", async (_, make) => {
    const base = acting("keyed", { run: () => "done" });
    // Of a promise the agent's check waits for what it gives.
    const isDone = { ...base, done: [check("is done", () => ({ no: make() }) as never)] } as unknown as Agent;
    expect((await playedOut(isDone)).shown?.failure).toMatchObject({
      code: "NotDone",
      message: expect.stringContaining("it said neither true nor false nor why"),
    });
    const result = { ...base, result: make as never } as Agent;
    expect((await playedOut(result)).shown?.failure).toMatchObject({ code: "ResultInvalid" });
  });

  test.each(HOSTILE_ERRORS)("refuses the start when it checks the task: %s", async (_, make) => {
    const task = z.object({}).refine(throwing(make));
    const agent = { ...acting("none", { run: () => 1 }), task } as unknown as Agent;
    await expect(beginRun(createHarness().world, agent, {})).rejects.toThrow("its schema threw");
  });
});

test.each([2_000, 4_000])("an input of %i levels is refused, whatever its schema would do with it", async (depth) => {
  const tree: z.ZodType = z.lazy(() => z.union([z.number(), z.array(tree)]));
  const agent = { ...acting("none", { run: () => 1 }), task: tree } as Agent;
  await expect(beginRun(createHarness().world, agent, nested(depth) as never)).rejects.toThrow(
    "nested deeper than 100 levels",
  );
});

describe("JSON of an operator that is nested too deep", () => {
  const deep = nested(3_000) as Json;

  test("is refused as the result of a call: the question stays open", async () => {
    const harness = createHarness();
    const run = (): never => {
      throw Object.assign(new Error("the answer was lost"), { name: "OutcomeUnknown" });
    };
    const agent = acting("unsafe", { run });
    const payload = await beginRun(harness.world, agent, {});
    await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), payload));
    const said = { run: payload.run, call: "c1", as: "succeeded", by: "ann", note: null } as const;
    const why = "it is nested deeper than 100 levels";
    expect(await reconcile(harness.world, { ...said, result: deep })).toEqual({ kind: "refused", why });
    expect(await reconcile(harness.world, { ...said, result: 1 })).toEqual({ kind: "accepted" });
  });

  test("is refused as the arguments of a call: its gate stays open", async () => {
    const harness = createHarness();
    const agent = acting("keyed", { run: () => "done", approval: "always" });
    const payload = await beginRun(harness.world, agent, {});
    await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), payload));
    const gate = (await show(harness.world, payload.run))?.gates[0]?.gate ?? "";
    const said = { run: payload.run, gate, as: "edit", by: "ann", note: null } as const;
    const why = "the arguments cannot be kept: it is nested deeper than 100 levels";
    expect(await decide(harness.world, { ...said, args: deep })).toEqual({ kind: "refused", why });
    expect(await decide(harness.world, { ...said, args: {} })).toMatchObject({ kind: "accepted" });
  });
});

describe("a model", () => {
  /** Answers with that content, and is done then. */
  function saying(content: LanguageModelV4Content): LanguageModelV4 {
    const scripted = scriptedModel({ name: "script", reply: () => FINAL_REPLY });
    let isSaid = false;
    return {
      ...scripted,
      doGenerate: async (call) => {
        const reply = await scripted.doGenerate(call);
        if (isSaid) return reply;
        isSaid = true;
        return { ...reply, content: [content] };
      },
    };
  }

  const calling = (input: string, providerMetadata?: unknown): LanguageModelV4Content =>
    ({ type: "tool-call", toolCallId: "x", toolName: "act", input, providerMetadata }) as LanguageModelV4Content;

  test.each(EFFECT_NAMES)(
    "gets an error when its arguments for a %s tool are too deep, and nothing is started",
    async (effect) => {
      const starts: string[] = [];
      const base = acting(effect, { run: () => starts.push("act") });
      const depth = 3_000;
      const model = saying(calling(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`));
      const { route, entry, events } = await playedOut({ ...base, model });
      expect({ route, status: entry?.status, starts }).toEqual({ route: "done", status: "failed", starts: [] });
      expect(events).toContain("InvalidArguments: it is nested deeper than 100 levels");
    },
  );

  test.each(HOSTILE_VALUES)("may call a tool with any metadata: %s", async (_, make) => {
    const base = acting("unsafe", { run: () => "done" });
    const { route, entry } = await playedOut({ ...base, model: saying(calling("{}", { provider: make() })) });
    expect({ route, status: entry?.status }).toEqual({ route: "done", status: "succeeded" });
  });

  test.each(HOSTILE_ERRORS)("ends its run with a code when it throws: %s", async (_, make) => {
    const reply = (): never => {
      throw make();
    };
    const { shown } = await playedOut({
      ...acting("none", { run: () => 1 }),
      model: scriptedModel({ name: "m", reply }),
    });
    expect(shown?.failure).toMatchObject({ code: "ModelFailed" });
  });
});

test.each<readonly [string, () => unknown, string]>([
  ["null", () => null, "unknown"],
  ["a word of its own", () => ({ kind: "perhaps" }), "unknown"],
  ["a result that cannot be read", () => ({ kind: "happened", result: nested(4_000) }), "reconciled"],
  ...HOSTILE_VALUES.map(([name, make]) => [name, make, "unknown"] as const),
])(
  "a probe with any response leads to a question or an answer, and its run is not stuck: %s",
  async (_, make, status) => {
    let tries = 0;
    const run = (): never => {
      tries += 1;
      throw Object.assign(new Error("the answer was lost"), { name: "OutcomeUnknown" });
    };
    const harness = createChainHarness();
    const agent = acting("probed", { run, probe: make as never, settleMs: 0 });
    const { run: id } = await beginRun(harness.world, agent, {});
    await harness.runUntilIdle(agent);
    const [entry] = (await ledger(harness.world, id)) ?? [];
    expect({ status: entry?.status, tries }).toEqual({ status, tries: 1 });
  },
);
