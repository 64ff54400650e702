/** An agent whose every model call costs one cent, and a harness with a cap in cents. */
import type { Agent } from "../../../src/ports/agent.ts";
import { callsThenFinal, createChainHarness, scriptedAgent } from "../harness/harness.ts";

/** Calls its tool so often, then ends: a model call more. */
export const pricedAgent = (calls: number): Agent => ({
  ...scriptedAgent({
    reply: (conversation) => ({ ...callsThenFinal(calls)(conversation), tokensIn: 1_000, tokensOut: 0 }),
  }),
  price: { inUsd: 10, outUsd: 0 },
});

export const cappedHarness = (cents: number) => createChainHarness({ spendMicroUsdPerDay: cents * 10_000 });
