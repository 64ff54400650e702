/** Runs whose context gets too long: what their models are asked and shown, what it costs, and when it does not help. */
import { describe, expect, test } from "vitest";
import type { ScriptedReply } from "../../../src/index.ts";
import { decide } from "../../../src/operations/decide.ts";
import { show } from "../../../src/operations/views.ts";
import { attemptBeat, beginRun, drive, killableWorld, runnerOf } from "../../support/harness/drive.ts";
import {
  type SmallContextOptions,
  SUMMARY,
  smallContextAgent,
  tooLong,
} from "../../support/agents/small-context-agent.ts";
import { linesOf, outcomeOf, pageOf } from "../../support/runs/small-context-runs.ts";
import { neverSettles, createHarness } from "../../support/harness/harness.ts";

describe("a context that is too long", () => {
  test("gets a summary instead of its older part, and the run continues to its end", async () => {
    const made = smallContextAgent({ pages: 3 });
    const { shown, kinds, rules, state, events } = await outcomeOf(made);
    expect(shown).toMatchObject({ status: "completed", result: "all is read" });
    const rule = "context too long, not yet compacted";
    expect({ rules, summaries: made.counts.summaries }).toEqual({ rules: [rule, rule], summaries: 2 });
    const at = kinds.indexOf("RecoveryDecided");
    expect(kinds.slice(at, at + 3)).toEqual(["RecoveryDecided", "Compacted", "BudgetDebited"]);
    const first = events.find(({ kind }) => kind === "Compacted");
    expect(first).toMatchObject({
      ...{ window: { from: 3, lead: ["m6"] }, replaced: { from: "m2", to: "m3", messages: 2 }, tokens: 7 },
      summary: expect.stringContaining("The first pages are read."),
      model: expect.stringMatching(/^scripted:/),
    });
    expect(first).not.toHaveProperty("routed");
    // Nothing is lost: the definition of done saw every call, and the transcript has every message.
    expect(state.messages.filter(({ role }) => role === "tool")).toHaveLength(3);
    expect(state.messages.filter(({ source }) => source === "cairn:summary")).toHaveLength(2);
  });

  test("is shown from then on as the task, the summary, and the last reply with what follows", async () => {
    const made = smallContextAgent({ pages: 3 });
    await outcomeOf(made);
    const [refused, forSummary, goesOn] = made.asked.slice(2);
    const task = "user {}";
    const [call, result] = ["assistant tool-call", "tool tool-result"];
    expect(linesOf(refused ?? { prompt: [] })).toEqual([task, call, result, call, result]);
    expect(linesOf(forSummary ?? { prompt: [] })).toEqual([task, call, result, "user Your context has to "]);
    expect(forSummary?.toolChoice).toEqual({ type: "none" });
    expect(linesOf(goesOn ?? { prompt: [] })).toEqual([task, "user A summary of what ca", call, result]);
  });

  test("costs the price of the summary, and no beat", async () => {
    const { shown } = await outcomeOf(smallContextAgent({ pages: 2, options: { price: { inUsd: 1, outUsd: 1 } } }));
    expect(shown).toMatchObject({ beats: 3, spent: { tokensIn: 370, tokensOut: 37, usd: 0.000407 } });
  });

  test("does not hide a loop across the summary", async () => {
    const again: ScriptedReply = { calls: [{ tool: "read", args: { page: 7 } }], tokensIn: 1, tokensOut: 1 };
    const isLast = (text: string | undefined): boolean => text?.startsWith("You have to stop") === true;
    const reply: SmallContextOptions["reply"] = ({ messages }) =>
      isLast(messages.at(-1)?.text) ? { text: "open" } : again;
    const { shown, kinds } = await outcomeOf(smallContextAgent({ reply }));
    expect(shown).toMatchObject({ status: "failed", failure: { code: "Runaway" }, beats: 3 });
    expect(kinds).toContain("Compacted");
  });
});

describe("the run waits for an operator as ContextTooLong", () => {
  test("at once, with the provider's message, when nothing can be summarised", async () => {
    const made = smallContextAgent({ refuses: () => true });
    const { shown, rules } = await outcomeOf(made);
    expect(shown).toMatchObject({
      ...{ status: "blocked", failure: null },
      waitsFor: {
        kind: "operator",
        mends: "request",
        code: "ContextTooLong",
        why: expect.stringContaining("8200 tokens"),
      },
    });
    expect({ rules, summaries: made.counts.summaries }).toEqual({
      rules: ["the provider refuses the request"],
      summaries: 0,
    });
  });

  test("when a summary did not help: no second one is requested", async () => {
    // A second one could have stood for more: of so many turns it leaves more than one as it is.
    const made = smallContextAgent({ pages: 20, refuses: ({ calls }) => pageOf(calls.at(-1)?.args) === 11 });
    const { shown, rules } = await outcomeOf(made);
    expect(shown).toMatchObject({
      status: "blocked",
      waitsFor: { kind: "operator", mends: "request", code: "ContextTooLong" },
    });
    expect({ rules: rules.length, lastRule: rules.at(-1), summaries: made.counts.summaries }).toEqual({
      rules: 2,
      lastRule: "the provider refuses the request",
      summaries: 1,
    });
  });

  test.each<readonly [string, ScriptedReply | Error, string]>([
    ["is empty", { text: " ", tokensIn: 70, tokensOut: 7 }, "the summary is empty"],
    ["calls a tool instead", { calls: [{ tool: "read", args: {} }], tokensIn: 70, tokensOut: 7 }, "is empty"],
    ["is longer than what it replaces", { text: "x".repeat(9_000), tokensIn: 70, tokensOut: 7 }, "has 9000 characters"],
    ["is too long a question itself", tooLong(), "8200 tokens"],
  ])("when the summary %s: it is paid for and not requested again", async (_, said, why) => {
    const made = smallContextAgent({
      summary: () => {
        if (said instanceof Error) throw said;
        return said;
      },
    });
    const { shown, kinds } = await outcomeOf(made);
    expect(shown?.waitsFor).toMatchObject({ code: "ContextTooLong", why: expect.stringContaining(why) });
    expect({ summaries: made.counts.summaries, compacted: kinds.includes("Compacted") }).toEqual({
      summaries: 1,
      compacted: false,
    });
    expect(shown?.spent.tokensIn).toBe(said instanceof Error ? 200 : 270);
  });
});

test("a model that fails during a summary is called again", async () => {
  const made = smallContextAgent({
    pages: 2,
    summary: (count) => {
      if (count === 1) throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
      return SUMMARY;
    },
  });
  const { shown, rules } = await outcomeOf(made);
  expect({ status: shown?.status, summaries: made.counts.summaries }).toEqual({ status: "completed", summaries: 2 });
  const compact = "context too long, not yet compacted";
  expect(rules).toEqual([compact, "model failed, may be asked again", compact]);
});

test("a run without budget for a summary requests more, and continues after a grant", async () => {
  const harness = createHarness();
  const { world, kill } = killableWorld(harness.world);
  const budget = { tokens: 800, onExhausted: "ask" } as const;
  // What a lost summary is taken to cost uses the budget up.
  const dying = smallContextAgent({ pages: 2, summary: neverSettles, options: { budget } });
  const payload = await beginRun(harness.world, dying.agent, {});
  let last = payload;
  for (let beat = 0; beat < 2; beat += 1) {
    const told = await harness.advanceUntilSettled(attemptBeat(runnerOf(harness.world, dying.agent), last));
    if (told.kind === "beat") last = told.reply;
  }
  attemptBeat(runnerOf(world, dying.agent), last).catch(() => undefined);
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect({ summaries: dying.counts.summaries, phase: harness.row(payload.run).phase }).toEqual({
    summaries: 1,
    phase: "Compacting",
  });
  kill();
  const made = smallContextAgent({ pages: 2, options: { budget } });
  const told = await harness.advanceUntilSettled(attemptBeat(runnerOf(harness.world, made.agent), last, 1));
  expect({ phase: harness.row(payload.run).phase, summaries: made.counts.summaries }).toEqual({
    phase: "AwaitingApproval",
    summaries: 0,
  });
  const { gates } = (await show(harness.world, payload.run)) ?? {};
  const gate = gates?.[0]?.gate ?? "";
  const more = { tokens: 9_000 };
  await decide(harness.world, {
    ...{ run: payload.run, gate, as: "approve", args: null, by: "ada", note: null },
    more,
  });
  if (told.kind !== "beat") throw new Error("it has not answered");
  await harness.advanceUntilSettled(drive(runnerOf(harness.world, made.agent), told.reply));
  expect({ status: harness.row(payload.run).status, summaries: made.counts.summaries }).toEqual({
    status: "completed",
    summaries: 1,
  });
});
