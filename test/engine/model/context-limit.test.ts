/** Runs whose agents limit their context: when a summary is made, and what follows if it cannot be used. */
import { describe, expect, test } from "vitest";
import { AgentInvalid } from "../../../src/ports/agent-invalid.ts";
import type { ScriptedReply } from "../../../src/index.ts";
import {
  type SmallContextOptions,
  SUMMARY,
  smallContextAgent,
  tooLong,
} from "../../support/agents/small-context-agent.ts";
import { linesOf, outcomeOf, pageOf } from "../../support/runs/small-context-runs.ts";

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
    expect({ status: shown?.status, summaries: made.counts.summaries }).toEqual({ status: "completed", summaries: 1 });
    expect(kinds.filter((kind) => kind === "Compacted")).toHaveLength(1);
    const why = "ContextNearlyFull: the last question had over 80 % of 1000 tokens";
    expect(events).toContainEqual(expect.objectContaining({ kind: "RecoveryDecided", why }));
  });

  const NEARLY_FULL = ["context too long, not yet compacted", "context nearly full, model is told"];

  test.each<readonly [string, ScriptedReply | Error]>([
    ["is empty", { text: " ", tokensIn: 70, tokensOut: 7 }],
    ["is larger than a reply may be", { text: "x".repeat(1_100_000), tokensIn: 70, tokensOut: 7 }],
    ["is longer than what it replaces", { text: "x".repeat(9_000), tokensIn: 70, tokensOut: 7 }],
    ["is too long a question itself", tooLong()],
  ])("goes on when the summary %s, and tells its model", async (_, said) => {
    const made = smallContextAgent({
      refuses: () => false,
      reply: crowded(801),
      summary: () => {
        if (said instanceof Error) throw said;
        return said;
      },
      options: { context: { tokensMax: 1_000 } },
    });
    const { shown, kinds, rules } = await outcomeOf(made);
    expect(shown).toMatchObject({ status: "completed", result: "all is read" });
    expect({ rules, summaries: made.counts.summaries, compacted: kinds.includes("Compacted") }).toEqual({
      rules: NEARLY_FULL,
      summaries: 1,
      compacted: false,
    });
    expect(linesOf(made.asked[4] ?? { prompt: [] }).at(-1)).toBe("user Your context is near");
  });

  test("waits as ContextTooLong when its provider refuses the context afterwards, and no summary helps", async () => {
    const made = smallContextAgent({
      refuses: ({ messages }) => messages.some(({ text }) => text.startsWith("Your context is nearly full")),
      reply: crowded(801),
      summary: () => ({ text: " " }),
      options: { context: { tokensMax: 1_000 } },
    });
    const { shown, rules } = await outcomeOf(made);
    expect(shown?.waitsFor).toMatchObject({ code: "ContextTooLong", why: expect.stringContaining("is empty") });
    expect(rules).toEqual([...NEARLY_FULL, NEARLY_FULL[0], "the provider refuses the request"]);
    expect(made.counts.summaries).toBe(2);
  });

  test("pays for three useless summaries, and not for one after each reply", async () => {
    const made = smallContextAgent({
      pages: 12,
      refuses: () => false,
      reply: ({ turn }) => (turn < 12 ? { calls: [{ tool: "read", args: { page: turn } }], tokensIn: 8_001 } : null),
      summary: () => ({ text: " " }),
      options: { context: { tokensMax: 10_000 } },
    });
    const { shown, rules } = await outcomeOf(made);
    expect({ status: shown?.status, summaries: made.counts.summaries }).toEqual({ status: "completed", summaries: 3 });
    expect(rules).toEqual([...NEARLY_FULL, ...NEARLY_FULL, ...NEARLY_FULL]);
  });

  test("waits as ContextTooLong after useless summaries when a later request is longer than the limit", async () => {
    const made = smallContextAgent({
      pages: 12,
      refuses: () => false,
      reply: ({ turn }) => ({
        text: "word ".repeat(turn < 8 ? 1 : 2_000),
        ...{ calls: [{ tool: "read", args: { page: turn } }], tokensIn: 8_001 },
      }),
      summary: () => ({ text: " " }),
      options: { context: { tokensMax: 10_000 } },
    });
    const { shown, rules } = await outcomeOf(made);
    expect(shown?.waitsFor).toMatchObject({ code: "ContextTooLong", why: expect.stringContaining("is empty") });
    expect(made.counts.summaries).toBe(4);
    expect(rules).toEqual([
      ...NEARLY_FULL,
      ...NEARLY_FULL,
      ...NEARLY_FULL,
      NEARLY_FULL[0],
      "the provider refuses the request",
    ]);
  });

  test("tries summaries again once one was made", async () => {
    const made = smallContextAgent({
      pages: 16,
      refuses: ({ turn, messages }) => turn === 10 && !messages.some(({ text }) => text.startsWith("A summary")),
      reply: ({ calls, turn }) => {
        const next = (pageOf(calls.at(-1)?.args) ?? -1) + 1;
        return next < 16 ? { calls: [{ tool: "read", args: { page: next } }], tokensIn: turn < 11 ? 8_001 : 1 } : null;
      },
      summary: (count) => (count === 4 ? SUMMARY : { text: " " }),
      options: { context: { tokensMax: 10_000 } },
    });
    const { shown, kinds } = await outcomeOf(made);
    expect(shown?.status).toBe("completed");
    expect(kinds).toContain("Compacted");
    expect(made.counts.summaries).toBeGreaterThan(4);
  });

  test.each([
    ["what follows the last one is longer than the rest of the limit", 2_500, 1_100],
    ["all that is shown is longer than the limit", 5_500, 0],
  ])("waits as ContextTooLong without a usable summary when %s", async (_, first, last) => {
    const reads = (page: number, characters: number, tokensIn: number): ScriptedReply => ({
      ...{ text: "word ".repeat(characters / 5), calls: [{ tool: "read", args: { page } }], tokensIn },
    });
    const made = smallContextAgent({
      refuses: () => false,
      reply: ({ turn }) => (turn === 0 ? reads(0, first, 1) : turn === 2 ? reads(2, last, 801) : null),
      summary: () => ({ text: " " }),
      options: { context: { tokensMax: 1_000 } },
    });
    const { shown, rules } = await outcomeOf(made);
    expect(shown?.waitsFor).toMatchObject({ code: "ContextTooLong", why: expect.stringContaining("is empty") });
    expect(rules).toEqual([NEARLY_FULL[0], "the provider refuses the request"]);
  });

  test.each([
    ["of 80 % of it", 800, 1_000],
    ["of any size when it declares no limit", 1e6, undefined],
  ])("does not compact it after a request %s", async (_, tokensIn, tokensMax) => {
    const context = tokensMax === undefined ? {} : { tokensMax };
    const made = smallContextAgent({ refuses: () => false, reply: crowded(tokensIn), options: { context } });
    const { shown } = await outcomeOf(made);
    expect({ status: shown?.status, summaries: made.counts.summaries }).toEqual({ status: "completed", summaries: 0 });
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
    expect({ status: (await outcomeOf(made)).shown?.status, summaries: made.counts.summaries }).toEqual({
      status: "completed",
      summaries: 0,
    });
  });

  test.each([0, -1, 1.5])("is refused with the limit %s", (tokensMax) => {
    expect(() => smallContextAgent({ options: { context: { tokensMax } } })).toThrow(AgentInvalid);
  });
});
