/** The provider of a model gives no answers for a while: the run waits without cost, and what it did stands. */
import { APICallError } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import type { Agent } from "../../../src/ports/agent.ts";
import type { TelemetryRecord } from "../../../src/ports/world.ts";
import { type Conversation, type ScriptedReply, scriptedModel } from "../../../src/index.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { send } from "../../../src/operations/steer.ts";
import { AT } from "../../support/states/states-and-events.ts";
import { replyWithCalls, sideEffectAgent } from "../../support/agents/side-effect-agent.ts";
import { beginRun, killableWorld } from "../../support/harness/drive.ts";
import { smallContextAgent } from "../../support/agents/small-context-agent.ts";
import {
  type Harness,
  scriptedAgent,
  callsThenFinal,
  createChainHarness,
  neverSettles,
  MS,
} from "../../support/harness/harness.ts";
import { recoveryRulesOf } from "../../support/harness/chain-steps.ts";

const throttled = (headers: Record<string, string> = {}): Error =>
  new APICallError({
    ...{ message: "slow down", url: "http://host", requestBodyValues: {} },
    ...{ statusCode: 429, responseHeaders: headers },
  });
const refused = (): Error => Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });

interface Away {
  readonly agent: Agent;
  /** When the model was asked, in milliseconds since the start. */
  readonly asked: number[];
}

/** One call, then the provider is away until that moment, then the end. */
function away(
  harness: Harness,
  untilMs: number,
  options: { readonly failure?: () => Error; readonly agent?: Partial<Agent> } = {},
): Away {
  const { failure = refused } = options;
  const asked: number[] = [];
  const script = callsThenFinal(1);
  const reply = (conversation: Conversation): ScriptedReply => {
    const sinceMs = harness.clock.now() - AT;
    if (conversation.calls.length === 0) return script(conversation);
    asked.push(sinceMs);
    if (sinceMs < untilMs) throw failure();
    return script(conversation);
  };
  return { agent: { ...scriptedAgent({ reply }), ...options.agent }, asked };
}

/** How many model calls were paid for. */
const debitsOf = async (harness: Harness, run: string): Promise<number> =>
  ((await timeline(harness.world, { run, after: 0 })) ?? []).filter(
    (event) => event.kind === "BudgetDebited" && event.debit.tokensIn !== undefined,
  ).length;

test.each([
  ["answers 429", throttled],
  ["refuses connections", refused],
])("a run completes when its endpoint %s for 8 seconds", async (_, failure) => {
  const harness = createChainHarness();
  const { agent } = away(harness, 8_000, { failure });
  const { run } = await beginRun(harness.world, agent, {});
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed" });
});

describe("an outage of hours", () => {
  test("parks the run between ever rarer tries; it completes with the same effects", async () => {
    const harness = createChainHarness();
    const { agent, asked } = away(harness, 5 * MS.hour);
    const { run } = await beginRun(harness.world, agent, {});
    await harness.runForTime(agent, 2 * MS.hour);
    expect(harness.row(run)).toMatchObject({ status: "running", phase: "RetryingLLM", owner: null });
    expect(harness.row(run).park).not.toBeNull();
    await harness.runForTime(agent, 4 * MS.hour);
    expect(harness.row(run)).toMatchObject({ status: "completed", takeovers: 0 });
    const pauses = asked.map((at, index) => at - (asked[index - 1] ?? at)).slice(1);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(15 * MS.minute + 1_000);
    expect(asked.length).toBeLessThan(80);
    expect((await ledger(harness.world, run))?.map(({ call, status }) => `${call} ${status}`)).toEqual([
      "c1 succeeded",
    ]);
    // Calls that were refused cost nothing.
    expect(await debitsOf(harness, run)).toBe(2);
  });

  test("calls no sooner than the provider's retry-after", async () => {
    const harness = createChainHarness();
    const failure = () => throttled({ "retry-after": "1200" });
    const { agent, asked } = away(harness, 2 * MS.hour, { failure });
    await beginRun(harness.world, agent, {});
    await harness.runForTime(agent, 3 * MS.hour);
    const pauses = asked.map((at, index) => at - (asked[index - 1] ?? at)).slice(1);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(20 * MS.minute);
  });

  test("spreads the calls of two runs", async () => {
    const moments = await Promise.all(
      [0, 1].map(async (runs) => {
        const harness = createChainHarness();
        const { agent, asked } = away(harness, MS.hour);
        // The chance of the stage is drawn from one seed: another run has another part of it.
        for (let draw = 0; draw < runs; draw += 1) harness.world.random.hex();
        await beginRun(harness.world, agent, {});
        await harness.runForTime(agent, MS.hour / 2);
        return asked.slice(4);
      }),
    );
    expect(moments[0]).not.toEqual(moments[1]);
  });

  test("is shown with its start, its tries and the next one, and raises one alarm", async () => {
    const harness = createChainHarness();
    const records: TelemetryRecord[] = [];
    const world = { ...harness.world, telemetry: { record: (each: TelemetryRecord) => void records.push(each) } };
    const { agent, asked } = away(harness, 5 * MS.hour);
    const { run } = await beginRun(world, agent, {});
    await { ...harness, world }.runForTime(agent, 2 * MS.hour);
    const shown = await show(world, run);
    expect(shown).toMatchObject({ status: "running", label: "waiting: its model is unavailable" });
    expect(shown?.outage).toEqual({ since: AT, tries: asked.length, nextTryAt: harness.row(run).wakeAt });
    const alarms = records.filter(({ level }) => level === "alarm");
    expect(alarms.map(({ what }) => what)).toEqual(["ModelUnavailable"]);
    const [{ at, detail }] = alarms as [TelemetryRecord];
    expect(at - AT).toBeGreaterThanOrEqual(3 * MS.minute);
    expect(at - AT).toBeLessThan(20 * MS.minute);
    expect(detail["why"]).toContain("ModelFailed: connect ECONNREFUSED");
  });

  test("of timeouts is an outage as well; each call may have been charged and is debited", async () => {
    const harness = createChainHarness();
    const agent = scriptedAgent({
      reply: (conversation) =>
        harness.clock.now() - AT < 10 * MS.minute ? neverSettles() : callsThenFinal(1)(conversation),
    });
    const { run } = await beginRun(harness.world, agent, {});
    await harness.runForTime(agent, MS.hour);
    expect(harness.row(run)).toMatchObject({ status: "completed" });
    const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
    const lost = events.filter(({ kind }) => kind === "ModelCallLost");
    expect(lost.length).toBeGreaterThan(3);
    expect(await debitsOf(harness, run)).toBe(lost.length + 2);
  });

  test("delays a compaction in the same way", async () => {
    const harness = createChainHarness();
    let isAway = true;
    const { agent, counts } = smallContextAgent({
      pages: 3,
      summary: () => {
        if (isAway) throw refused();
        return { text: "so far", tokensIn: 5, tokensOut: 1 };
      },
    });
    const { run } = await beginRun(harness.world, agent, {});
    await harness.runForTime(agent, 2 * MS.hour);
    expect(harness.row(run)).toMatchObject({ status: "running", phase: "RetryingLLM" });
    expect(counts.summaries).toBeGreaterThan(4);
    isAway = false;
    await harness.runForTime(agent, MS.hour);
    expect(harness.row(run)).toMatchObject({ status: "completed" });
  });
});

describe("an outage that lasts too long", () => {
  async function given(saga: Partial<Parameters<typeof sideEffectAgent>[0]>["saga"]) {
    const harness = createChainHarness();
    const undone: string[] = [];
    const script = replyWithCalls([["pay", "ada", 5]]);
    const { agent } = sideEffectAgent({
      ...(saga === undefined ? {} : { saga }),
      pay: { undo: { effect: "keyed", run: ({ input }) => void undone.push(input.to) } },
      reply: (conversation) => {
        if (conversation.calls.length > 0) throw refused();
        return script(conversation);
      },
    });
    const { run } = await beginRun(harness.world, agent, {});
    await harness.runForTime(agent, 23 * MS.hour);
    expect(harness.row(run).status).toBe("running");
    await harness.runForTime(agent, 2 * MS.hour);
    return { harness, run, undone };
  }

  test("fails the run with a code of its own after 24 hours, and leaves its effects", async () => {
    const { harness, run, undone } = await given(undefined);
    const { failure, status } = (await show(harness.world, run)) ?? {};
    expect({ status, code: failure?.code }).toEqual({ status: "failed", code: "ModelUnavailable" });
    expect(failure?.message).toMatch(/^no model answered for 24 hours, in \d+ calls; the last error was ModelFailed: /);
    expect(undone).toEqual([]);
    expect((await recoveryRulesOf(harness.world, run)).slice(-2)).toEqual([
      "model unavailable for too long",
      "effects are left",
    ]);
  });

  test("compensates the effects when the agent wants that", async () => {
    expect((await given({ onOutage: "undo" })).undone).toEqual(["ada"]);
  });

  test("lasts as long as the agent declares", async () => {
    const harness = createChainHarness();
    const { agent, asked } = away(harness, 5 * MS.hour, { agent: { outageMaxMs: 10 * MS.minute } });
    const { run } = await beginRun(harness.world, agent, {});
    await harness.runForTime(agent, MS.hour);
    expect(harness.row(run)).toMatchObject({ status: "failed" });
    expect(asked.at(-1)).toBeGreaterThanOrEqual(10 * MS.minute);
    expect(asked.at(-1)).toBeLessThan(10 * MS.minute + 2_000);
  });
});

describe("a message to a run that waits for its model, or its resume,", () => {
  async function waiting(options: Parameters<typeof away>[2] = {}) {
    const harness = createChainHarness();
    const model = away(harness, 24 * MS.hour - 1, options);
    const { run } = await beginRun(harness.world, model.agent, {});
    await harness.runForTime(model.agent, MS.hour);
    return { harness, run, ...model };
  }
  const words = { text: "are you there?", by: "ann", id: "w1" };

  test.each([
    ["words", (harness: Harness, run: string) => send(harness.world, { run, ...words })],
    ["a resume", (harness: Harness, run: string) => sendRequest(harness.world, { run, want: "resume" })],
  ])("makes the run call its model at once: %s", async (_, speak) => {
    const { harness, run, agent, asked } = await waiting();
    const { wakeAt } = harness.row(run);
    expect((wakeAt ?? 0) - harness.clock.now()).toBeGreaterThan(MS.minute);
    const since = (await show(harness.world, run))?.outage?.since;
    await speak(harness, run);
    const before = asked.length;
    await harness.runAttempt(agent);
    expect(asked.slice(before)).toEqual([harness.clock.now() - AT]);
    // Once: then it waits again, and the outage is the one that it was.
    expect(harness.row(run).wakeAt).toBeGreaterThan(harness.clock.now());
    expect((await show(harness.world, run))?.outage).toMatchObject({ since, tries: asked.length });
    expect(await recoveryRulesOf(harness.world, run)).toContain("asked again at once");
  });

  test("makes it call the model at once after a pause", async () => {
    const { harness, run, agent, asked } = await waiting();
    await sendRequest(harness.world, { run, want: "pause" });
    await harness.runAttempt(agent);
    expect(harness.row(run).status).toBe("paused");
    const before = asked.length;
    await sendRequest(harness.world, { run, want: "resume" });
    await harness.runForTime(agent, 1_000);
    expect(asked.length).toBe(before + 1);
  });

  test("waits for the provider's retry-after", async () => {
    const { harness, run, agent, asked } = await waiting({ failure: () => throttled({ "retry-after": "7200" }) });
    const [before, { wakeAt }] = [asked.length, harness.row(run)];
    await send(harness.world, { run, ...words });
    await harness.runForTime(agent, 10 * MS.minute);
    expect(asked.length).toBe(before);
    expect(harness.row(run).wakeAt).toBeLessThanOrEqual(wakeAt ?? 0);
  });

  test("causes a call that is debited when its process dies", async () => {
    const { harness, run, agent } = await waiting();
    await send(harness.world, { run, ...words });
    const { world, kill } = killableWorld(harness.world);
    await harness.loseAttempt({ ...agent, model: scriptedModel({ name: "silent", reply: neverSettles }) }, world);
    kill();
    await harness.runForTime(agent, 1_000);
    const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
    expect(events.filter(({ kind }) => kind === "ModelCallLost")).toMatchObject([{ calls: 1 }]);
  });
});

test("a run that must stop does not wait for its closing call", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({
    loops: "stop",
    effect: "none",
    reply: ({ messages }) => {
      if (messages.at(-1)?.text.startsWith("You have to stop now")) throw refused();
      return { calls: [{ tool: "act", args: {} }] };
    },
  });
  const { run } = await beginRun(harness.world, agent, {});
  await harness.runForTime(agent, MS.minute);
  expect(await show(harness.world, run)).toMatchObject({ status: "failed", failure: { code: "Runaway" } });
});
