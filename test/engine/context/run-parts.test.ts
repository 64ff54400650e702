/** What an invocation uses of the agents that it loads, one after the other. */
import { expect, test } from "vitest";
import { type AgentTerms, beatsMaxOf, releasesAtUnit, termsWith } from "../../../src/engine/context/run-parts.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import type { World } from "../../../src/ports/world.ts";

type Declared = Pick<Agent, "price" | "budget" | "checkpoint">;

const price = { inUsd: 1, outUsd: 2 };
const budget = {
  beats: 10,
  tokens: null,
  microUsd: 1,
  wallMs: null,
  toolCalls: null,
  onExhausted: "stop",
  takeovers: 5,
} as const;
const agent: Declared = { price, budget };
const timed: Declared = { price, budget: { ...budget, wallMs: 60_000 } };

test("the price, the budget and the checkpoints are those of the agent that is used now", () => {
  const free = { ...price, inUsd: 0 };
  const now = termsWith(termsWith(null, agent), { ...agent, price: free, checkpoint: "unit" });
  expect(now).toEqual({ price: free, budget, checkpoint: "unit", countsTime: false, summaryCharacters: 0 });
});

test("once an agent limits its time at work, the time is debited whatever the next one says", () => {
  expect(termsWith(null, agent).countsTime).toBe(false);
  expect(termsWith(termsWith(null, timed), agent).countsTime).toBe(true);
});

test("the summary that is due stays due until another length is said", () => {
  const due = termsWith(null, agent, 400);
  const [again, none] = [termsWith(due, timed), termsWith(due, agent, 0)];
  expect({ again: again.summaryCharacters, none: none.summaryCharacters }).toEqual({ again: 400, none: 0 });
});

test.each<[string, Pick<Declared, "checkpoint"> | null, number, boolean]>([
  ["of no agent is that of the deployment", null, 3, false],
  ["of an agent that does not say is that of the deployment", {}, 3, false],
  ["is as the agent says", { checkpoint: 7 }, 7, false],
  ["has no end where a unit ends it", { checkpoint: "unit" }, Number.MAX_SAFE_INTEGER, true],
])("the number of beats %s", (_, change, beats, atUnit) => {
  const terms: AgentTerms | null = change === null ? null : termsWith(null, { ...agent, ...change });
  const world = { limits: { beatsPerInvocation: 3 } } as World;
  expect({ beats: beatsMaxOf({ terms, world }), atUnit: releasesAtUnit({ terms }) }).toEqual({ beats, atUnit });
});
