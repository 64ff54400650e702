/** Runs whose model and tools return and throw the worst: each goes on, knows what happened, and nothing escapes it. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { LanguageModelV4, LanguageModelV4Content } from "@ai-sdk/provider";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import { check, scriptedModel, tool } from "../../../src/index.ts";
import { decide } from "../../../src/operations/decide.ts";
import type { Json } from "../../../src/core/json.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { begin, drive, runnerOf } from "../../support/drive.ts";
import { HOSTILE_ERRORS, HOSTILE_VALUES, nested } from "../../support/hostile.ts";
import { OVER, actor, chainedStage, passing, stage } from "../../support/stage.ts";
import { playOut } from "../../support/steps.ts";

const EFFECTS = ["none", "keyed", "probed", "unsafe"] as const;

/** Calls `act` once, says what came of it, and is done. */
function acting(effect: Tool["effect"], of: Partial<Tool> & Pick<Tool, "run">): Agent {
  const probe = effect === "probed" ? { probe: () => ({ kind: "absent" }) as const } : {};
  const act = tool({ input: z.object({}), effect, ...probe, ...of });
  return {
    ...actor({ reply: ({ calls }) => (calls.length === 0 ? { calls: [CALL] } : OVER) }),
    tools: { act },
  } as Agent;
}

const CALL = { tool: "act", args: {} };

async function playedOut(agent: Agent, input = {}) {
  const on = stage();
  const payload = await begin(on.world, agent, input);
  const { route, run } = await passing(on, drive(runnerOf(on.world, agent), payload));
  const [entry] = (await ledger(on.world, run)) ?? [];
  const events = JSON.stringify(await timeline(on.world, { run, after: 0 }));
  return { route, entry, events, shown: await show(on.world, run) };
}

describe.each(EFFECTS)("a %s tool", (effect) => {
  test.each(HOSTILE_VALUES)("that returned has succeeded, and its run goes on: %s", async (_, make) => {
    const { route, entry, shown } = await playedOut(acting(effect, { run: make }));
    expect([route, shown?.result]).toEqual(["done", "over"]);
    expect(entry).toMatchObject({ status: effect === "none" ? "failed" : "succeeded" });
    expect(entry?.evidence).toBe("the tool returned, and its result is lost: ResultRefused");
  });

  test.each(HOSTILE_ERRORS)("that threw has failed, and its run goes on: %s", async (_, make) => {
    const run = (): never => {
      throw make();
    };
    const retry = effect === "unsafe" ? null : { attempts: 2, when: run };
    const onExists = effect === "keyed" || effect === "probed" ? run : null;
    const { route, entry, shown } = await playedOut(acting(effect, { run, retry, onExists }));
    expect([route, shown?.result, entry?.status]).toEqual(["done", "over", "failed"]);
  });

  test.each(HOSTILE_VALUES)("whose rules give anything has succeeded: %s", async (_, make) => {
    const redact: Tool["redact"] = (json, of) => (of === "result" ? (make() as never) : json);
    const rules: Partial<Tool> = { redact, externalId: make as never, claims: make as never };
    const { route, entry } = await playedOut(acting(effect, { run: () => "done", ...rules }));
    expect([route, entry?.status]).toEqual(["done", "succeeded"]);
  });
});

/** Throws or returns what is given, at each place at which a run asks its agent's code. */
describe("code of an agent beside its tools", () => {
  const throwing = (make: () => unknown) => (): never => {
    throw make();
  };

  test.each(HOSTILE_ERRORS)("that throws ends its run by name: %s", async (_, make) => {
    const base = acting("keyed", { run: () => "done" });
    const isDone = { ...base, done: [check("is done", throwing(make))] } as unknown as Agent;
    expect((await playedOut(isDone)).shown?.failure).toMatchObject({ code: "NotDone" });
    const result = { ...base, result: throwing(make) } as Agent;
    expect((await playedOut(result)).shown?.failure).toMatchObject({ code: "ResultInvalid" });
  });

  test.each(HOSTILE_VALUES)("that returns what is not JSON ends its run by name: %s", async (_, make) => {
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

  test.each(HOSTILE_ERRORS)("that checks the task refuses the start: %s", async (_, make) => {
    const task = z.object({}).refine(throwing(make));
    const agent = { ...acting("none", { run: () => 1 }), task } as unknown as Agent;
    await expect(begin(stage().world, agent, {})).rejects.toThrow("its schema threw");
  });
});

test.each([2_000, 4_000])("an input of %i levels is refused, whatever its schema would do with it", async (depth) => {
  const tree: z.ZodType = z.lazy(() => z.union([z.number(), z.array(tree)]));
  const agent = { ...acting("none", { run: () => 1 }), task: tree } as Agent;
  await expect(begin(stage().world, agent, nested(depth) as never)).rejects.toThrow("nested deeper than 100 levels");
});

describe("JSON of a human that is nested too deep", () => {
  const deep = nested(3_000) as Json;

  test("is no result of a call: the question stays open", async () => {
    const on = stage();
    const run = (): never => {
      throw Object.assign(new Error("the answer was lost"), { name: "OutcomeUnknown" });
    };
    const agent = acting("unsafe", { run });
    const payload = await begin(on.world, agent, {});
    await passing(on, drive(runnerOf(on.world, agent), payload));
    const said = { run: payload.run, call: "c1", as: "succeeded", by: "ann", note: null } as const;
    const why = "it is nested deeper than 100 levels";
    expect(await reconcile(on.world, { ...said, result: deep })).toEqual({ kind: "refused", why });
    expect(await reconcile(on.world, { ...said, result: 1 })).toEqual({ kind: "accepted" });
  });

  test("is no arguments of a call: its gate stays open", async () => {
    const on = stage();
    const agent = acting("keyed", { run: () => "done", approval: "always" });
    const payload = await begin(on.world, agent, {});
    await passing(on, drive(runnerOf(on.world, agent), payload));
    const gate = (await show(on.world, payload.run))?.gates[0]?.gate ?? "";
    const said = { run: payload.run, gate, as: "edit", by: "ann", note: null } as const;
    const why = "the arguments cannot be kept: it is nested deeper than 100 levels";
    expect(await decide(on.world, { ...said, args: deep })).toEqual({ kind: "refused", why });
    expect(await decide(on.world, { ...said, args: {} })).toMatchObject({ kind: "accepted" });
  });
});

describe("a model", () => {
  /** Answers with that content, and is done then. */
  function saying(content: LanguageModelV4Content): LanguageModelV4 {
    const scripted = scriptedModel({ name: "script", reply: () => OVER });
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

  test.each(EFFECTS)(
    "whose arguments for a %s tool are too deep is told so, and nothing is started",
    async (effect) => {
      const starts: string[] = [];
      const base = acting(effect, { run: () => starts.push("act") });
      const depth = 3_000;
      const model = saying(calling(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`));
      const { route, entry, events } = await playedOut({ ...base, model });
      expect([route, entry?.status, starts]).toEqual(["done", "failed", []]);
      expect(events).toContain("InvalidArguments: it is nested deeper than 100 levels");
    },
  );

  test.each(HOSTILE_VALUES)("whose metadata is anything has called its tool: %s", async (_, make) => {
    const base = acting("unsafe", { run: () => "done" });
    const { route, entry } = await playedOut({ ...base, model: saying(calling("{}", { provider: make() })) });
    expect([route, entry?.status]).toEqual(["done", "succeeded"]);
  });

  test.each(HOSTILE_ERRORS)("that throws ends its run by name: %s", async (_, make) => {
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
  "a probe that answers anything leaves a question or an answer, and its run is not stuck: %s",
  async (_, make, status) => {
    let tries = 0;
    const run = (): never => {
      tries += 1;
      throw Object.assign(new Error("the answer was lost"), { name: "OutcomeUnknown" });
    };
    const on = chainedStage();
    const agent = acting("probed", { run, probe: make as never, settleMs: 0 });
    const { run: id } = await begin(on.world, agent, {});
    await playOut(on, agent);
    const [entry] = (await ledger(on.world, id)) ?? [];
    expect([entry?.status, tries]).toEqual([status, 1]);
  },
);
