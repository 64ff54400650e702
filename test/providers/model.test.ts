/** Mistakes of a model, exhausted budgets, and the definition of done. */
import { describe, expect, test } from "vitest";
import { APICallError } from "@ai-sdk/provider";
import { z } from "zod";
import type { Agent } from "../../src/ports/agent.ts";
import { canonical } from "../../src/codec/canonical.ts";
import type { EventOf } from "../../src/core/event.ts";
import { type Conversation, type ScriptedReply, check, defineAgent, scriptedModel, tool } from "../../src/index.ts";
import type { World } from "../../src/ports/world.ts";
import type { Payload } from "../../src/protocol/chain.ts";
import { executionName } from "../../src/protocol/ids.ts";
import { beat } from "../../src/engine/loop/beat.ts";
import { show, timeline } from "../../src/operations/views.ts";
import {
  attemptBeat,
  beginRun,
  createLocalHarness,
  drive,
  killableWorld,
  passTime,
  runnerOf,
} from "../support/harness/drive.ts";

type Options = Partial<Pick<Parameters<typeof defineAgent>[0], "budget" | "price" | "done" | "result" | "topology">>;

function talker(
  reply: (conversation: Conversation) => ScriptedReply | Promise<ScriptedReply>,
  options: Options = {},
): Agent {
  return defineAgent({
    name: "talker",
    version: "1",
    instructions: "",
    task: z.object({}),
    model: scriptedModel({ name: "talker-model", reply }),
    tools: { add: tool({ input: z.object({ a: z.number() }), effect: "none", run: ({ input }) => input.a + 1 }) },
    ...options,
  }) as Agent;
}

/** An attempt whose process dies while it waits for the model. */
async function dieInModel(world: World, of: { readonly payload: Payload; readonly retry: number }): Promise<void> {
  const asked = Promise.withResolvers<undefined>();
  const silent = talker(() => {
    asked.resolve(undefined);
    return new Promise(() => undefined);
  });
  const mortal = killableWorld(world);
  void attemptBeat(runnerOf(mortal.world, silent), of.payload, of.retry);
  await asked.promise;
  mortal.kill();
}

async function outcomeOf(agent: Agent) {
  const { world } = createLocalHarness();
  const runner = runnerOf(world, agent);
  const reply = await drive(runner, await beginRun(world, agent, {}));
  const events = (await timeline(world, { run: reply.run, after: 0 })) ?? [];
  return { shown: await show(world, reply.run), events };
}

describe("the model gets an error about", () => {
  test("a tool that does not exist", async () => {
    const agent = talker(({ calls }) => {
      const last = calls.at(-1);
      return last === undefined ? { calls: [{ tool: "fly", args: {} }] } : { text: JSON.stringify(last.result) };
    });
    const { shown } = await outcomeOf(agent);
    expect(shown?.status).toBe("completed");
    expect(shown?.result).toContain("UnknownTool: there is no tool fly; the tools are add");
  });

  test("arguments that do not fit, with the path of the problem", async () => {
    const agent = talker(({ calls }) => {
      const last = calls.at(-1);
      return last === undefined ? { calls: [{ tool: "add", args: { a: "x" } }] } : { text: JSON.stringify(last) };
    });
    const { shown, events } = await outcomeOf(agent);
    expect(shown?.result).toContain("InvalidArguments: a: ");
    expect(events.some(({ kind }) => kind === "ToolInvoked")).toBe(false);
  });

  test("the one of two calls that cannot run, while the other runs", async () => {
    const agent = talker(({ calls }) => {
      if (calls.length > 0)
        return { text: calls.map(({ outcome, result }) => `${outcome} ${String(result)}`).join(";") };
      const good = { tool: "add", args: { a: 1 } };
      return { calls: [{ tool: "nothing", args: {} }, good] };
    });
    const { shown } = await outcomeOf(agent);
    expect(shown?.result).toContain("succeeded 2");
    expect(shown?.result).toMatch(/failed .*UnknownTool/);
  });

  test("an empty reply, three times; then the run fails with that code", async () => {
    let asked = 0;
    const empty = talker(() => {
      asked += 1;
      return {};
    });
    const { shown, events } = await outcomeOf(empty);
    expect(shown).toMatchObject({ status: "failed", failure: { code: "EmptyReply" }, beats: 4 });
    expect(asked).toBe(4);
    expect(events.filter(({ kind }) => kind === "RecoveryDecided")).toHaveLength(4);
  });
});

test("a reply with too many calls is debited, the model gets an error, and the run continues", async () => {
  const call = { tool: "add", args: { a: 1 } };
  const agent = talker(
    ({ turn, messages }) => {
      if (turn === 0 && messages.length === 1)
        return { calls: Array.from({ length: 17 }, () => call), tokensIn: 100, tokensOut: 0 };
      return { text: "fewer, then", tokensIn: 1, tokensOut: 0 };
    },
    { price: { inUsd: 10, outUsd: 10 } },
  );
  const { shown } = await outcomeOf(agent);
  expect(shown).toMatchObject({ status: "completed", result: "fewer, then", spent: { tokensIn: 101 }, beats: 2 });
});

describe("a model that fails", () => {
  test("permanently fails the run with its message", async () => {
    const broken = talker(() => {
      throw new Error("no such model");
    });
    const { shown } = await outcomeOf(broken);
    expect(shown).toMatchObject({ status: "failed", failure: { code: "ModelFailed" } });
    expect(shown?.failure?.message).toContain("no such model");
  });

  test("because the context is too long lets the run wait with that code, without a further request", async () => {
    let asked = 0;
    const full = talker(() => {
      asked += 1;
      const message = "prompt is too long: 208310 tokens > 200000 maximum";
      throw new APICallError({ message, url: "http://host", requestBodyValues: {}, statusCode: 400 });
    });
    const { shown, events } = await outcomeOf(full);
    expect(shown).toMatchObject({
      status: "blocked",
      waitsFor: { kind: "operator", mends: "request", code: "ContextTooLong" },
    });
    expect(events.flatMap((event) => (event.kind === "RecoveryDecided" ? [event.rule] : []))).toEqual([
      "the provider refuses the request",
    ]);
    expect(asked).toBe(1);
  });

  test("to reply in time is called again later", async () => {
    const harness = createLocalHarness({ modelMs: 30 });
    const { world } = harness;
    const agent = talker(() => {
      void passTime(harness, 30);
      return { delayMs: 60_000, text: "late" };
    });
    const runner = runnerOf(world, agent);
    const reply = await drive(runner, await beginRun(world, agent, {}));
    expect(reply.route).toBe("wait");
    const events = (await timeline(world, { run: reply.run, after: 0 })) ?? [];
    expect(events.find(({ kind }) => kind === "ModelCallLost")).toMatchObject({ calls: 1 });
    expect(await show(world, reply.run)).toMatchObject({ phase: "RetryingLLM", status: "running" });
  });

  test("a process that is asked to end aborts the model call and releases the run at once", async () => {
    const agent = talker(() => ({ delayMs: 60_000, text: "late" }));
    const { world, clock } = createLocalHarness();
    const payload = await beginRun(world, agent, {});
    const stop = new AbortController();
    const invocation = { deadline: clock.now() + world.limits.beatMs, drain: stop.signal };
    const first = { execution: "e", epoch: 0, retry: 0 };
    const going = beat(runnerOf(world, agent), { payload, attempt: first }, invocation);
    stop.abort();
    expect(await going).toMatchObject({ kind: "beat", reply: { route: "beat" } });
    expect((await world.table.read(payload.run, clock.now()))?.owner).toBeNull();
  });
});

describe("budgets", () => {
  const chatty = ({ turn, messages }: Conversation): ScriptedReply =>
    messages.at(-1)?.text.startsWith("You have to stop now")
      ? { text: "I have added", tokensIn: 0, tokensOut: 0 }
      : { calls: [{ tool: "add", args: { a: turn } }], tokensIn: 1_000, tokensOut: 0 };

  test.each([
    ["money", { usd: 0.025 }, 3],
    ["tokens", { tokens: 2_000 }, 2],
    ["beats", { beats: 5 }, 5],
  ])("%s stop the run before another call and keep the amount spent", async (_, budget, beats) => {
    const { shown } = await outcomeOf(talker(chatty, { budget, price: { inUsd: 10, outUsd: 10 } }));
    expect(shown).toMatchObject({ status: "failed", failure: { code: "BudgetExhausted" }, beats });
    expect(shown?.spent).toEqual({ usd: beats / 100, tokensIn: beats * 1_000, tokensOut: 0 });
  });

  test("debit calls whose process died at their estimate before the next call", async () => {
    const { world } = createLocalHarness();
    const agent = talker(() => ({ text: "done" }), { price: { inUsd: 10, outUsd: 10 } });
    const payload = await beginRun(world, agent, {});
    for (const retry of [0, 1]) await dieInModel(world, { payload, retry });
    expect(await attemptBeat(runnerOf(world, agent), payload, 2)).toMatchObject({ reply: { route: "done" } });
    const events = (await timeline(world, { run: payload.run, after: 0 })) ?? [];
    const lost = events.findIndex(({ kind }) => kind === "ModelCallLost");
    expect(events[lost]).toMatchObject({ calls: 2 });
    // Each estimate is a quarter of the request's characters plus 500 tokens.
    const { debit } = events[lost + 1] as EventOf<"BudgetDebited">;
    const { tokensIn = 0, tokensOut = 0, microUsd } = debit;
    const task = canonical([{ kind: "text", text: "{}" }]);
    expect({ tokensIn, tokensOut }).toEqual({ tokensIn: 2 * Math.ceil(task.length / 4), tokensOut: 1_000 });
    expect(microUsd).toBe(10 * (tokensIn + tokensOut));
  });
});

test("a lost call is debited even if the next invocation must end before it can call the model", async () => {
  const { world, clock } = createLocalHarness();
  const agent = talker(() => ({ text: "done" }), { price: { inUsd: 10, outUsd: 10 } });
  const payload = await beginRun(world, agent, {});
  await dieInModel(world, { payload, retry: 0 });
  const invocation = { deadline: clock.now() + world.limits.beatMs, drain: AbortSignal.abort() };
  const retry = { execution: executionName(payload.run, payload.born, 1), epoch: 0, retry: 1 };
  const drained = await beat(runnerOf(world, agent), { payload, attempt: retry }, invocation);
  if (drained.kind !== "beat") throw new Error("no reply");
  expect(await drive(runnerOf(world, agent), drained.reply)).toMatchObject({ route: "done" });
  const events = (await timeline(world, { run: payload.run, after: 0 })) ?? [];
  expect(events.filter(({ kind }) => kind === "ModelCallLost")).toMatchObject([{ calls: 1 }]);
});

describe("definition of done", () => {
  test("reports the missing parts to the model, and the run completes when they are present", async () => {
    const agent = talker(
      ({ turn, calls }) => {
        if (turn === 1) return { calls: [{ tool: "add", args: { a: 41 } }] };
        return { text: calls.length === 0 ? "I think I am done" : "now I am" };
      },
      { done: [check("added", (view) => view.calls.length > 0 || "nothing was added")] },
    );
    const { shown, events } = await outcomeOf(agent);
    expect(shown).toMatchObject({ status: "completed", result: "now I am" });
    expect(events.find(({ kind }) => kind === "CheckFailed")).toMatchObject({
      check: "added",
      why: "nothing was added",
    });
  });

  test("ends the run as NotDone when a check never holds or throws", async () => {
    for (const holds of [() => false, () => Promise.reject(new Error("the door is locked"))]) {
      const { shown } = await outcomeOf(talker(() => ({ text: "done" }), { done: [check("door", holds)] }));
      expect(shown).toMatchObject({ status: "failed", failure: { code: "NotDone" } });
    }
  });

  test("fails the run with a stable code when the result is not JSON", async () => {
    const result = (): never => 10n as never;
    const { shown } = await outcomeOf(talker(() => ({ text: "done" }), { result }));
    expect(shown).toMatchObject({ status: "failed", failure: { code: "ResultInvalid" } });
  });
});
