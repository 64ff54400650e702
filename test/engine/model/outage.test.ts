/** The provider of a model gives no answers for a while: the run waits without cost, and what it did stands. */
import { APICallError } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import type { Agent } from "../../../src/ports/agent.ts";
import type { TelemetryRecord } from "../../../src/ports/world.ts";
import { type Conversation, type ScriptedReply, scriptedModel } from "../../../src/index.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { send } from "../../../src/operations/steer.ts";
import { AT } from "../../support/build.ts";
import { asks, deeds } from "../../support/deeds.ts";
import { begin, mortal } from "../../support/drive.ts";
import { narrow } from "../../support/narrow.ts";
import { HOUR, MINUTE, playFor } from "../../support/passing-time.ts";
import { type Stage, actor, callsThenOver, chainedStage, never, rowOf } from "../../support/stage.ts";
import { lose, playOut, rulesOf, step } from "../../support/steps.ts";

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
  on: Stage,
  untilMs: number,
  options: { readonly failure?: () => Error; readonly agent?: Partial<Agent> } = {},
): Away {
  const { failure = refused } = options;
  const asked: number[] = [];
  const script = callsThenOver(1);
  const reply = (conversation: Conversation): ScriptedReply => {
    const sinceMs = on.clock.now() - AT;
    if (conversation.calls.length === 0) return script(conversation);
    asked.push(sinceMs);
    if (sinceMs < untilMs) throw failure();
    return script(conversation);
  };
  return { agent: { ...actor({ reply }), ...options.agent }, asked };
}

/** How many model calls were paid for. */
const debitsOf = async (on: Stage, run: string): Promise<number> =>
  ((await timeline(on.world, { run, after: 0 })) ?? []).filter(
    (event) => event.kind === "BudgetDebited" && event.debit.tokensIn !== undefined,
  ).length;

test.each([
  ["answers 429", throttled],
  ["refuses connections", refused],
])("completes when its endpoint %s for 8 seconds", async (_, failure) => {
  const on = chainedStage();
  const { agent } = away(on, 8_000, { failure });
  const { run } = await begin(on.world, agent, {});
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed" });
});

describe("an outage of hours", () => {
  test("parks the run between ever rarer tries; it completes with the effects that it had", async () => {
    const on = chainedStage();
    const { agent, asked } = away(on, 5 * HOUR);
    const { run } = await begin(on.world, agent, {});
    await playFor(on, agent, 2 * HOUR);
    expect(rowOf(on, run)).toMatchObject({ status: "running", phase: "RetryingLLM", owner: null });
    expect(rowOf(on, run).park).not.toBeNull();
    await playFor(on, agent, 4 * HOUR);
    expect(rowOf(on, run)).toMatchObject({ status: "completed", takeovers: 0 });
    const pauses = asked.map((at, index) => at - (asked[index - 1] ?? at)).slice(1);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(15 * MINUTE + 1_000);
    expect(asked.length).toBeLessThan(80);
    expect((await ledger(on.world, run))?.map(({ call, status }) => `${call} ${status}`)).toEqual(["c1 succeeded"]);
    // Calls that were refused cost nothing.
    expect(await debitsOf(on, run)).toBe(2);
  });

  test("asks no sooner than the provider wants to be asked", async () => {
    const on = chainedStage();
    const failure = () => throttled({ "retry-after": "1200" });
    const { agent, asked } = away(on, 2 * HOUR, { failure });
    await begin(on.world, agent, {});
    await playFor(on, agent, 3 * HOUR);
    const pauses = asked.map((at, index) => at - (asked[index - 1] ?? at)).slice(1);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(20 * MINUTE);
  });

  test("two runs do not ask in step", async () => {
    const moments = await Promise.all(
      [0, 1].map(async (runs) => {
        const on = chainedStage();
        const { agent, asked } = away(on, HOUR);
        // The chance of the stage is drawn from one seed: another run has another part of it.
        for (let draw = 0; draw < runs; draw += 1) on.world.random.hex();
        await begin(on.world, agent, {});
        await playFor(on, agent, HOUR / 2);
        return asked.slice(4);
      }),
    );
    expect(moments[0]).not.toEqual(moments[1]);
  });

  test("is shown with its beginning, its tries and the next one, and told to the operator once", async () => {
    const on = chainedStage();
    const records: TelemetryRecord[] = [];
    const world = { ...on.world, telemetry: { record: (each: TelemetryRecord) => void records.push(each) } };
    const { agent, asked } = away(on, 5 * HOUR);
    const { run } = await begin(world, agent, {});
    await playFor({ ...on, world }, agent, 2 * HOUR);
    const shown = await show(world, run);
    expect(shown).toMatchObject({ status: "running", label: "waiting: its model is unavailable" });
    expect(shown?.outage).toEqual({ since: AT, tries: asked.length, nextTryAt: rowOf(on, run).wakeAt });
    const alarms = records.filter(({ level }) => level === "alarm");
    expect(alarms.map(({ what }) => what)).toEqual(["ModelUnavailable"]);
    const [{ at, detail }] = alarms as [TelemetryRecord];
    expect(at - AT).toBeGreaterThanOrEqual(3 * MINUTE);
    expect(at - AT).toBeLessThan(20 * MINUTE);
    expect(detail["why"]).toContain("ModelFailed: connect ECONNREFUSED");
  });

  test("of timeouts is one as well; each may have been paid for and is debited", async () => {
    const on = chainedStage();
    const agent = actor({
      reply: (conversation) => (on.clock.now() - AT < 10 * MINUTE ? never() : callsThenOver(1)(conversation)),
    });
    const { run } = await begin(on.world, agent, {});
    await playFor(on, agent, HOUR);
    expect(rowOf(on, run)).toMatchObject({ status: "completed" });
    const events = (await timeline(on.world, { run, after: 0 })) ?? [];
    const lost = events.filter(({ kind }) => kind === "ModelCallLost");
    expect(lost.length).toBeGreaterThan(3);
    expect(await debitsOf(on, run)).toBe(lost.length + 2);
  });

  test("of a run that makes its context shorter is waited for likewise", async () => {
    const on = chainedStage();
    let isAway = true;
    const { agent, counts } = narrow({
      pages: 3,
      summary: () => {
        if (isAway) throw refused();
        return { text: "so far", tokensIn: 5, tokensOut: 1 };
      },
    });
    const { run } = await begin(on.world, agent, {});
    await playFor(on, agent, 2 * HOUR);
    expect(rowOf(on, run)).toMatchObject({ status: "running", phase: "RetryingLLM" });
    expect(counts.summaries).toBeGreaterThan(4);
    isAway = false;
    await playFor(on, agent, HOUR);
    expect(rowOf(on, run)).toMatchObject({ status: "completed" });
  });
});

describe("an outage that lasts too long", () => {
  async function given(saga: Partial<Parameters<typeof deeds>[0]>["saga"]) {
    const on = chainedStage();
    const undone: string[] = [];
    const script = asks([["pay", "ada", 5]]);
    const { agent } = deeds({
      ...(saga === undefined ? {} : { saga }),
      pay: { undo: { effect: "keyed", run: ({ input }) => void undone.push(input.to) } },
      reply: (conversation) => {
        if (conversation.calls.length > 0) throw refused();
        return script(conversation);
      },
    });
    const { run } = await begin(on.world, agent, {});
    await playFor(on, agent, 23 * HOUR);
    expect(rowOf(on, run).status).toBe("running");
    await playFor(on, agent, 2 * HOUR);
    return { on, run, undone };
  }

  test("fails the run by a code of its own after 24 hours, and leaves what it did", async () => {
    const { on, run, undone } = await given(undefined);
    const { failure, status } = (await show(on.world, run)) ?? {};
    expect([status, failure?.code]).toEqual(["failed", "ModelUnavailable"]);
    expect(failure?.message).toMatch(/^no model answered for 24 hours, in \d+ calls; the last error was ModelFailed: /);
    expect(undone).toEqual([]);
    expect((await rulesOf(on.world, run)).slice(-2)).toEqual(["model unavailable for too long", "effects are left"]);
  });

  test("has it undone where the agent says so", async () => {
    expect((await given({ onOutage: "undo" })).undone).toEqual(["ada"]);
  });

  test("is as long as the agent says", async () => {
    const on = chainedStage();
    const { agent, asked } = away(on, 5 * HOUR, { agent: { outageMaxMs: 10 * MINUTE } });
    const { run } = await begin(on.world, agent, {});
    await playFor(on, agent, HOUR);
    expect(rowOf(on, run)).toMatchObject({ status: "failed" });
    expect(asked.at(-1)).toBeGreaterThanOrEqual(10 * MINUTE);
    expect(asked.at(-1)).toBeLessThan(10 * MINUTE + 2_000);
  });
});

describe("whoever speaks to a run that waits, or resumes it,", () => {
  async function waiting(options: Parameters<typeof away>[2] = {}) {
    const on = chainedStage();
    const model = away(on, 24 * HOUR - 1, options);
    const { run } = await begin(on.world, model.agent, {});
    await playFor(on, model.agent, HOUR);
    return { on, run, ...model };
  }
  const words = { text: "are you there?", by: "ann", id: "w1" };

  test.each([
    ["words", (on: Stage, run: string) => send(on.world, { run, ...words })],
    ["a resume", (on: Stage, run: string) => sendRequest(on.world, { run, want: "resume" })],
  ])("has it ask at once: %s", async (_, speak) => {
    const { on, run, agent, asked } = await waiting();
    const { wakeAt } = rowOf(on, run);
    expect((wakeAt ?? 0) - on.clock.now()).toBeGreaterThan(MINUTE);
    const since = (await show(on.world, run))?.outage?.since;
    await speak(on, run);
    const before = asked.length;
    await step(on, agent);
    expect(asked.slice(before)).toEqual([on.clock.now() - AT]);
    // Once: then it waits again, and the outage is the one that it was.
    expect(rowOf(on, run).wakeAt).toBeGreaterThan(on.clock.now());
    expect((await show(on.world, run))?.outage).toMatchObject({ since, tries: asked.length });
    expect(await rulesOf(on.world, run)).toContain("asked again at once");
  });

  test("has it ask at once after a pause", async () => {
    const { on, run, agent, asked } = await waiting();
    await sendRequest(on.world, { run, want: "pause" });
    await step(on, agent);
    expect(rowOf(on, run).status).toBe("paused");
    const before = asked.length;
    await sendRequest(on.world, { run, want: "resume" });
    await playFor(on, agent, 1_000);
    expect(asked.length).toBe(before + 1);
  });

  test("waits with it while the provider does not want to be asked", async () => {
    const { on, run, agent, asked } = await waiting({ failure: () => throttled({ "retry-after": "7200" }) });
    const [before, { wakeAt }] = [asked.length, rowOf(on, run)];
    await send(on.world, { run, ...words });
    await playFor(on, agent, 10 * MINUTE);
    expect(asked.length).toBe(before);
    expect(rowOf(on, run).wakeAt).toBeLessThanOrEqual(wakeAt ?? 0);
  });

  test("a process that dies while it asks for them leaves a call that is debited", async () => {
    const { on, run, agent } = await waiting();
    await send(on.world, { run, ...words });
    const { world, kill } = mortal(on.world);
    await lose(on, { ...agent, model: scriptedModel({ name: "silent", reply: never }) }, world);
    kill();
    await playFor(on, agent, 1_000);
    const events = (await timeline(on.world, { run, after: 0 })) ?? [];
    expect(events.filter(({ kind }) => kind === "ModelCallLost")).toMatchObject([{ calls: 1 }]);
  });
});

test("a run that has to stop does not wait for its last words", async () => {
  const on = chainedStage();
  const agent = actor({
    loops: "stop",
    effect: "none",
    reply: ({ messages }) => {
      if (messages.at(-1)?.text.startsWith("You have to stop now")) throw refused();
      return { calls: [{ tool: "act", args: {} }] };
    },
  });
  const { run } = await begin(on.world, agent, {});
  await playFor(on, agent, MINUTE);
  expect(await show(on.world, run)).toMatchObject({ status: "failed", failure: { code: "Runaway" } });
});
