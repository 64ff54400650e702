/** Summaries of long results against the death of the process that asks for one. */
import { expect, test } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import { timeline } from "../../src/operations/views.ts";
import { SUMMARY_WORDS, longPagesAgent, page, resultSummariesIn } from "../support/agents/long-pages.ts";
import { beginRun, killableWorld } from "../support/harness/drive.ts";
import { type Harness, createChainHarness, neverSettles } from "../support/harness/harness.ts";

async function die(harness: Harness, agent: Agent): Promise<void> {
  const { world, kill } = killableWorld(harness.world);
  await harness.loseAttempt(agent, world);
  kill();
}

test("schedule 203: processes die while summaries are made and after them; each call is paid for once, and each result has one summary", async () => {
  const harness = createChainHarness();
  const silent = longPagesAgent({ pages: 2, cheap: neverSettles });
  const { run } = await beginRun(harness.world, silent.agent, {});
  await harness.runAttempt(silent.agent);
  await die(harness, silent.agent);
  expect({ phase: harness.row(run).phase, asked: silent.asked.length }).toEqual({ phase: "AwaitingLLM", asked: 1 });
  // The next process gets the first summary, asks for the second one in the same breath, and dies there.
  const later = longPagesAgent({
    pages: 2,
    cheap: (count) => (count === 1 ? { text: SUMMARY_WORDS } : neverSettles()),
  });
  await die(harness, later.agent);
  expect(later.asked).toHaveLength(2);
  // The one after it asks for the second summary only, goes on with it, and dies in the call after it.
  const stuck = longPagesAgent({ pages: 2, answer: neverSettles });
  await die(harness, stuck.agent);
  expect(stuck.asked.map(({ messages }) => messages.at(-1)?.text.includes("needle 2"))).toEqual([true]);
  const last = longPagesAgent({ pages: 2 });
  await harness.runUntilIdle(last.agent);
  expect({ status: harness.row(run).status, asked: last.asked.length }).toEqual({ status: "completed", asked: 0 });

  const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
  expect(resultSummariesIn(events)).toMatchObject([{ call: "c1" }, { call: "c2" }]);
  const debits = events.flatMap((event) => (event.kind === "BudgetDebited" ? [event] : []));
  const lost = debits.filter((event) => event.for.startsWith("lost"));
  expect(lost).toHaveLength(3);
  // The estimates of the lost summaries have the length of the page, which no request of the working model has.
  const isLong = lost.map(({ debit: { tokensIn = 0 } }) => tokensIn >= page(1).length / 4);
  expect(isLong).toEqual([true, true, false]);
  expect(debits.filter((event) => event.for === "scripted:cheap")).toHaveLength(2);
});
