/** Models that are asked while the provider of an agent's own is unavailable: in turn, at their own price, for a while. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { checkAgent } from "../../../src/sdk/check.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { pricedBy } from "../../../src/sdk/prices.ts";
import { secretNamesOf } from "../../../src/ports/secrets.ts";
import { type Conversation, type ScriptedReply, defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import { AT } from "../../support/states/states-and-events.ts";
import { beginRun } from "../../support/harness/drive.ts";
import { type Harness, callsThenFinal, createChainHarness, MS } from "../../support/harness/harness.ts";
import { recoveryRulesOf } from "../../support/harness/chain-steps.ts";

const refused = (): Error => Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });

/** An agent with two fallbacks; each of its three models is away until that moment. */
function given(
  harness: Harness,
  of: { readonly awayUntil: readonly [number, number, number]; readonly calls?: number },
) {
  const asked: { readonly model: number; readonly at: number }[] = [];
  const script = callsThenFinal(of.calls ?? 1);
  const modelOf = (model: number) =>
    scriptedModel({
      name: ["own", "second", "third"][model] ?? "",
      reply: (conversation: Conversation): ScriptedReply => {
        const at = harness.clock.now() - AT;
        asked.push({ model, at });
        if (at < (of.awayUntil[model] ?? 0)) throw refused();
        return { ...script(conversation), tokensIn: 100, tokensOut: 0 };
      },
    });
  const agent = defineAgent({
    ...{ name: "actor", version: "1", instructions: "", task: z.object({}), loops: "ignore" },
    model: modelOf(0),
    price: { inUsd: 1, outUsd: 1 },
    fallbacks: [
      { model: modelOf(1), price: { inUsd: 10, outUsd: 10 } },
      { model: modelOf(2), price: { inUsd: 100, outUsd: 100 } },
    ],
    tools: { act: tool({ input: z.object({}), effect: "keyed", run: () => "acted" }) },
  }) as Agent;
  return { agent, asked };
}

describe("a fallback", () => {
  test("is called when the quick retries have failed, named in its reply, and charged at its own price", async () => {
    const harness = createChainHarness();
    const { agent, asked } = given(harness, { awayUntil: [MS.hour, 0, 0] });
    const { run } = await beginRun(harness.world, agent, {});
    await harness.runForTime(agent, MS.minute);
    expect(harness.row(run)).toMatchObject({ status: "completed" });
    expect(asked.map(({ model }) => model)).toEqual([0, 0, 0, 0, 1, 1]);
    const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
    const replies = events.flatMap((event) => (event.kind === "ModelCallCompleted" ? [event.model] : []));
    expect(replies).toEqual(["scripted:second", "scripted:second"]);
    expect((await show(harness.world, run))?.spent.usd).toBeCloseTo((2 * 100 * 10) / 1e6);
    expect(await recoveryRulesOf(harness.world, run)).toContain("model unavailable, the next one is asked");
  });

  test("is recorded with its reason in each of its replies, and the agent's own model without one", async () => {
    const harness = createChainHarness();
    const { agent } = given(harness, { awayUntil: [20_000, 0, 0], calls: 3 });
    const { run } = await beginRun(harness.world, agent, {});
    await harness.runForTime(agent, MS.minute);
    const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
    const routes = events.flatMap((event) => (event.kind === "ModelCallCompleted" ? [event.routed] : []));
    expect(routes).toHaveLength(4);
    expect(routes[0]).toEqual({
      by: "fallback",
      why: "fallback 1: the model before it did not answer (4 calls failed)",
    });
    expect(routes[1]?.why).toMatch(/^fallback 1 has answered; the agent's own model is called again from \d{4}-/);
    const calm = given(createChainHarness(), { awayUntil: [0, 0, 0] });
    const other = createChainHarness();
    const own = await beginRun(other.world, calm.agent, {});
    await other.runForTime(calm.agent, MS.minute);
    const replies = ((await timeline(other.world, { run: own.run, after: 0 })) ?? []).filter(
      ({ kind }) => kind === "ModelCallCompleted",
    );
    expect(replies.map((reply) => "routed" in reply)).toEqual([false, false]);
  });

  test("that is unavailable as well is followed by the next one", async () => {
    const harness = createChainHarness();
    const { agent, asked } = given(harness, { awayUntil: [MS.hour, MS.hour, 0] });
    const { run } = await beginRun(harness.world, agent, {});
    await harness.runForTime(agent, MS.minute);
    expect(harness.row(run)).toMatchObject({ status: "completed" });
    expect(asked.map(({ model }) => model)).toEqual([0, 0, 0, 0, 1, 2, 2]);
    expect((await show(harness.world, run))?.spent.usd).toBeCloseTo((2 * 100 * 100) / 1e6);
  });

  test("is replaced by the agent's own model after some minutes", async () => {
    const harness = createChainHarness();
    const { agent, asked } = given(harness, { awayUntil: [MS.minute, 0, 0], calls: 1 });
    const { act } = agent.tools;
    const slow = { ...agent, tools: { act: { ...act, approval: "always" } } } as Agent;
    const { run } = await beginRun(harness.world, slow, {});
    await harness.runForTime(slow, 25 * MS.hour);
    expect(harness.row(run)).toMatchObject({ status: "completed" });
    // The call was denied a day later: then the own model is asked first.
    expect(asked.at(-1)).toMatchObject({ model: 0 });
    expect(asked.at(-2)).toMatchObject({ model: 1 });
  });

  test("is called in rounds with a pause between them while all models are unavailable", async () => {
    const harness = createChainHarness();
    const { agent, asked } = given(harness, { awayUntil: [MS.hour, MS.hour, MS.hour] });
    const { run } = await beginRun(harness.world, agent, {});
    await harness.runForTime(agent, 2 * MS.hour);
    expect(harness.row(run)).toMatchObject({ status: "completed", takeovers: 0 });
    expect(asked.slice(0, 10).map(({ model }) => model)).toEqual([0, 0, 0, 0, 1, 2, 0, 1, 2, 0]);
    const rounds = asked.slice(3).flatMap(({ model, at }) => (model === 0 ? [at] : []));
    expect(rounds.length).toBeLessThan(25);
  });

  test("that a newer version of the agent does not have is not called", async () => {
    const harness = createChainHarness();
    const { agent, asked } = given(harness, { awayUntil: [2 * MS.minute, MS.hour, MS.hour] });
    const { run } = await beginRun(harness.world, agent, {});
    await harness.runForTime(agent, 20_000);
    const before = asked.length;
    await harness.runForTime({ ...agent, fallbacks: [] }, MS.hour);
    expect(harness.row(run)).toMatchObject({ status: "completed" });
    expect(new Set(asked.slice(before).map(({ model }) => model))).toEqual(new Set([0]));
  });
});

describe("an agent that declares its behaviour in an outage", () => {
  const defined = (options: object): Agent =>
    defineAgent({
      ...{ name: "a", version: "1", instructions: "", task: z.object({}), tools: {} },
      model: scriptedModel({ name: "m", reply: () => ({}) }),
      ...options,
    }) as Agent;
  const hosted = "openai-compatible:http://host/v1#unknown-model";

  test.each([
    [undefined, 24 * MS.hour],
    ["90s", 90_000],
    ["7d", 7 * 24 * MS.hour],
    [1_500, 1_500],
  ])("may declare %s", (outageMax, ms) => {
    expect(defined(outageMax === undefined ? {} : { outageMax }).outageMaxMs).toBe(ms);
  });

  test.each([
    ["soon", /agent a has outageMax: .*write milliseconds, or a number with s, m, h or d/],
    [0, /agent a has outageMax/],
    ["31d", /agent a has outageMax: a run waits for 30 days at most/],
  ])("is refused with %s", (outageMax, message) => {
    expect(() => defined({ outageMax })).toThrow(message);
  });

  test.each([
    ["no model", [{}], /agent a has fallbacks\.0\.model/],
    [
      "a negative price",
      [{ model: hosted, price: { inUsd: -1, outUsd: 0 } }],
      /agent a has fallbacks\.0\.price\.inUsd/,
    ],
    ["nine of them", Array.from({ length: 9 }, () => ({ model: hosted })), /agent a has fallbacks: /],
  ])("is refused with fallbacks: %s", (_, fallbacks, message) => {
    expect(() => defined({ fallbacks })).toThrow(message);
  });

  test("has its fallbacks validated, priced and given their key like its own model", () => {
    const check = (agent: Agent) => checkAgent(agent, limitsFor(30_000));
    expect(() => check(defined({ fallbacks: [{ model: "gpt-5" }] }))).toThrow(/the model "gpt-5" is not understood/);
    const paid = defined({ price: { inUsd: 1, outUsd: 1 }, budget: { usd: 1 }, fallbacks: [{ model: hosted }] });
    expect(() => check(paid)).toThrow(/budget of money and no price, and the model of fallback 1 is in no price list/);
    const priced = pricedBy(paid, { "unknown-model": { inUsd: 2, outUsd: 3 } });
    expect(() => check(priced)).not.toThrow();
    expect(priced.fallbacks[0]?.price).toEqual({ inUsd: 2, outUsd: 3 });
    expect(secretNamesOf(paid)).toEqual(["OPENAI_COMPATIBLE_API_KEY"]);
    expect(secretNamesOf(defined({}))).toEqual([]);
  });
});
