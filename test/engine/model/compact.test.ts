/** Runs whose context gets too long: what their models are asked and shown, what it costs, and when it does not help. */
import { describe, expect, test } from "vitest";
import { AgentInvalid } from "../../../src/ports/agent-invalid.ts";
import type { Payload } from "../../../src/protocol/chain.ts";
import type { ScriptedReply } from "../../../src/index.ts";
import { decide } from "../../../src/operations/decide.ts";
import { SegmentCache, load } from "../../../src/history/load.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import type { Runner } from "../../../src/engine/context/runner.ts";
import { verify } from "../../../src/history/verify.ts";
import { attemptBeat, beginRun, drive, killableWorld, runnerOf } from "../../support/harness/drive.ts";
import {
  type SmallContextOptions,
  SUMMARY,
  smallContextAgent,
  tooLong,
} from "../../support/agents/small-context-agent.ts";
import {
  type Harness,
  neverSettles,
  advanceUntilSettled,
  rowOf,
  createHarness,
} from "../../support/harness/harness.ts";

type Made = ReturnType<typeof smallContextAgent>;

const pageOf = (args: unknown): number | undefined => (args as { readonly page?: number } | undefined)?.page;

async function outcomeOf({ agent }: Made, harness: Harness = createHarness()) {
  const { world } = harness;
  const runner = runnerOf(world, agent);
  const { run } = await advanceUntilSettled(
    harness,
    beginRun(world, agent, {}).then((payload) => untilItEnds(harness, runner, payload)),
  );
  const events = (await timeline(world, { run, after: 0 })) ?? [];
  const { state } = await load(world.objects, rowOf(harness, run), new SegmentCache());
  const kinds = events.map(({ kind }) => kind);
  const rules = events.flatMap((event) => (event.kind === "RecoveryDecided" ? [event.rule] : []));
  expect(await verify(world, { run })).toMatchObject({ findings: [] });
  return { run, shown: await show(world, run), events, kinds, rules, state };
}

/** Waits are over at once. */
async function untilItEnds(harness: Harness, runner: Runner, payload: Payload): Promise<Payload> {
  const reply = await drive(runner, payload);
  if (reply.route !== "wait") return reply;
  harness.clock.moveTo(harness.clock.now() + reply.seconds * 1_000);
  return untilItEnds(harness, runner, reply);
}

/** Role and first words of each message of a question. */
const linesOf = ({ prompt }: Made["asked"][number] | Record<"prompt", never[]>): readonly string[] =>
  prompt.map(({ role, content }) => {
    const [first] = content as readonly { readonly type: string; readonly text?: string }[];
    return `${role} ${first?.text?.slice(0, 20) ?? first?.type}`;
  });

describe("a context that is too long", () => {
  test("gets a summary instead of its older part, and the run continues to its end", async () => {
    const made = smallContextAgent({ pages: 3 });
    const { shown, kinds, rules, state, events } = await outcomeOf(made);
    expect(shown).toMatchObject({ status: "completed", result: "all is read" });
    const rule = "context too long, not yet compacted";
    expect([rules, made.counts.summaries]).toEqual([[rule, rule], 2]);
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

describe("the run ends as ContextTooLong", () => {
  test("at once, with the provider's message, when nothing can be summarised", async () => {
    const made = smallContextAgent({ refuses: () => true });
    const { shown, rules } = await outcomeOf(made);
    expect(shown?.failure).toMatchObject({ code: "ContextTooLong", message: expect.stringContaining("8200 tokens") });
    expect([rules, made.counts.summaries]).toEqual([["context too long"], 0]);
  });

  test("when a summary did not help: no second one is requested", async () => {
    // A second one could have stood for more: of so many turns it leaves more than one as it is.
    const made = smallContextAgent({ pages: 20, refuses: ({ calls }) => pageOf(calls.at(-1)?.args) === 11 });
    const { shown, rules } = await outcomeOf(made);
    expect(shown).toMatchObject({ status: "failed", failure: { code: "ContextTooLong" } });
    expect([rules.length, rules.at(-1), made.counts.summaries]).toEqual([2, "context too long", 1]);
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
    expect(shown?.failure).toMatchObject({ code: "ContextTooLong", message: expect.stringContaining(why) });
    expect([made.counts.summaries, kinds.includes("Compacted")]).toEqual([1, false]);
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
  expect([shown?.status, made.counts.summaries]).toEqual(["completed", 2]);
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
    const told = await advanceUntilSettled(harness, attemptBeat(runnerOf(harness.world, dying.agent), last));
    if (told.kind === "beat") last = told.reply;
  }
  attemptBeat(runnerOf(world, dying.agent), last).catch(() => undefined);
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect([dying.counts.summaries, rowOf(harness, payload.run).phase]).toEqual([1, "Compacting"]);
  kill();
  const made = smallContextAgent({ pages: 2, options: { budget } });
  const told = await advanceUntilSettled(harness, attemptBeat(runnerOf(harness.world, made.agent), last, 1));
  expect([rowOf(harness, payload.run).phase, made.counts.summaries]).toEqual(["AwaitingApproval", 0]);
  const { gates } = (await show(harness.world, payload.run)) ?? {};
  const gate = gates?.[0]?.gate ?? "";
  const more = { tokens: 9_000 };
  await decide(harness.world, {
    ...{ run: payload.run, gate, as: "approve", args: null, by: "ada", note: null },
    more,
  });
  if (told.kind !== "beat") throw new Error("it has not answered");
  await advanceUntilSettled(harness, drive(runnerOf(harness.world, made.agent), told.reply));
  expect([rowOf(harness, payload.run).status, made.counts.summaries]).toEqual(["completed", 1]);
});

describe("an agent with a limit for its context", () => {
  /** The question for the third page has so many. */
  const crowded = (tokensIn: number): NonNullable<SmallContextOptions["reply"]> => {
    const third: ScriptedReply = { calls: [{ tool: "read", args: { page: 2 } }], tokensIn };
    return ({ calls }) => (pageOf(calls.at(-1)?.args) === 1 ? third : null);
  };

  test("compacts it after a request of more than 80 % of the limit, before the next one", async () => {
    const made = smallContextAgent({
      refuses: () => false,
      reply: crowded(801),
      options: { context: { tokensMax: 1_000 } },
    });
    const { shown, kinds, events } = await outcomeOf(made);
    expect([shown?.status, made.counts.summaries]).toEqual(["completed", 1]);
    expect(kinds.filter((kind) => kind === "Compacted")).toHaveLength(1);
    const why = "ContextNearlyFull: the last question had over 80 % of 1000 tokens";
    expect(events).toContainEqual(expect.objectContaining({ kind: "RecoveryDecided", why }));
  });

  test.each([
    ["of 80 % of it", 800, 1_000],
    ["of any size when it declares no limit", 1e6, undefined],
  ])("does not compact it after a request %s", async (_, tokensIn, tokensMax) => {
    const context = tokensMax === undefined ? {} : { tokensMax };
    const made = smallContextAgent({ refuses: () => false, reply: crowded(tokensIn), options: { context } });
    const { shown } = await outcomeOf(made);
    expect([shown?.status, made.counts.summaries]).toEqual(["completed", 0]);
  });

  test("does not compact it when a summary would replace less than half of it", async () => {
    // After the first reply there is nothing, after the second one as much as what stays.
    const big: SmallContextOptions["reply"] = ({ turn }) =>
      turn === 1 ? { text: "y".repeat(3_000), calls: [{ tool: "read", args: { page: 1 } }], tokensIn: 900 } : null;
    const made = smallContextAgent({
      pages: 2,
      refuses: () => false,
      reply: big,
      options: { context: { tokensMax: 1_000 } },
    });
    expect([(await outcomeOf(made)).shown?.status, made.counts.summaries]).toEqual(["completed", 0]);
  });

  test.each([0, -1, 1.5])("is refused with the limit %s", (tokensMax) => {
    expect(() => smallContextAgent({ options: { context: { tokensMax } } })).toThrow(AgentInvalid);
  });
});
