/** The receipt of a run: who was paid what, and what each process death would have cost without checkpoints. */
import { expect, test } from "vitest";
import { receiptLine, renderReceipt } from "../../src/render/receipt.ts";
import type { Event } from "../../src/core/event.ts";
import { receiptOf } from "../../src/history/receipt.ts";
import { receiptOfRun } from "../../src/history/run-receipt.ts";
import { runAgent } from "../../src/testing/kit/index.ts";
import { INPUT, lettersAgent } from "../testing/letters.ts";

const at = 1;
const debit = (name: string, microUsd: number, toolCalls = 0): Event => ({
  ...{ kind: "BudgetDebited", at, for: name },
  debit: toolCalls > 0 ? { toolCalls } : { microUsd, tokensIn: microUsd * 2, tokensOut: microUsd },
});
const takeover: Event = {
  ...{ kind: "RecoveryDecided", at, rule: "takeover", why: "its process died" },
  action: { kind: "takeover", from: "owner", takeovers: 1 },
};
const restart: Event = {
  ...{ kind: "RecoveryDecided", at, rule: "restart", why: "it failed" },
  action: { kind: "restart", text: "again" },
};

test("adds up what each thing cost", () => {
  const events = [debit("small", 100), debit("large", 3_000), debit("tool calls", 0, 2), debit("small", 50)];
  expect(receiptOf(events)).toEqual({
    lines: [
      { for: "small", times: 2, usd: 0.000_15, tokensIn: 300, tokensOut: 150, toolCalls: 0 },
      { for: "large", times: 1, usd: 0.003, tokensIn: 6_000, tokensOut: 3_000, toolCalls: 0 },
      { for: "tool calls", times: 1, usd: 0, tokensIn: 0, tokensOut: 0, toolCalls: 2 },
    ],
    total: { usd: 0.003_15, tokensIn: 6_300, tokensOut: 3_150, toolCalls: 2 },
    takeovers: 0,
    spared: { usd: 0, tokensIn: 0, tokensOut: 0, toolCalls: 0 },
    again: { usd: 0.003_15, tokensIn: 6_300, tokensOut: 3_150, toolCalls: 2 },
  });
});

test("counts at each takeover what was spent until then, since the run last began its task", () => {
  const spared = (...events: readonly Event[]) => receiptOf(events).spared.usd * 1e6;
  expect(spared(debit("m", 100), takeover, debit("m", 10), takeover)).toBeCloseTo(210);
  expect(spared(debit("m", 100), restart, debit("m", 10), takeover)).toBeCloseTo(10);
  expect(spared(debit("m", 100), restart)).toBe(0);
  const again = (...events: readonly Event[]) => receiptOf(events).again.usd * 1e6;
  expect(again(debit("m", 100), restart, debit("m", 10))).toBeCloseTo(10);
});

test("agrees with the budget of a run that died", async () => {
  const { clerk, post } = lettersAgent();
  const run = await runAgent(clerk, { input: INPUT, services: [post], killAt: "after:effect:send#2" });
  const { total, takeovers, spared } = receiptOf(run.timeline);
  expect(total).toMatchObject(run.spent);
  expect(takeovers).toBe(1);
  expect(spared.tokensIn).toBeGreaterThan(0);
  expect(spared.tokensIn).toBeLessThan(total.tokensIn);
});

test("is printed with a sum and with what the deaths would have cost", () => {
  const logged = [debit("m", 1_000), takeover, debit("m", 500)].map((event) => ({ version: 1, epoch: 1, ...event }));
  const receipt = receiptOfRun(logged);
  const text = renderReceipt(receipt, { paint: (_, words) => words, now: at, width: 100 });
  expect(text.split("\n").map((line) => line.trimEnd())).toEqual([
    "FOR     TIMES  TOKENS IN  TOKENS OUT  TOOL CALLS     COST",
    "m           2      3,000       1,500           -  $0.0015",
    "in all             3,000       1,500           -  $0.0015",
    "",
    expect.stringMatching(/^ON AWS +COUNT +COST$/),
    ...receipt.aws.lines.map(({ item }) => expect.stringContaining(item)),
    expect.stringMatching(/^in all +\$0\.0000\d\d$/),
    "derived from the log, at the list prices of us-east-1 on 2026-11-24",
    "",
    "1 process death would have cost $0.001, 3,000 tokens and 0 tool calls again, if the run had begun anew each time.",
    "",
    "a restart would spend $0.0015, 4,500 tokens and 0 tool calls again.",
  ]);
  expect(receiptLine(receipt)).toMatch(
    /^it spent \$0\.0015, and on AWS \$0\.0000\d\d of services; its recoveries spared \$0\.001$/,
  );
});
