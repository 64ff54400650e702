/** The spans of calls that wait: as long as the wait was, whichever processes it outlived. */
import { expect, test } from "vitest";
import type { Span } from "../../src/ports/spans.ts";
import { answerCall, callsOnce, waitingAgent } from "../support/agents/waiting-agent.ts";
import { startKeyedRun } from "../support/harness/chain-steps.ts";
import { createChainHarness } from "../support/harness/harness.ts";

test("the span of a question lasts from its release to the answer, which another invocation takes", async () => {
  const seen: Span[] = [];
  const spans = { add: (some: readonly Span[]) => void seen.push(...some), flush: async () => undefined };
  const base = createChainHarness();
  const harness = { ...base, world: { ...base.world, telemetry: { ...base.world.telemetry, spans } } };
  const agent = waitingAgent({ reply: callsOnce("ask") });
  const { run } = await startKeyedRun(harness.world, { agent, key: "k" });
  await harness.runUntilIdle(agent);
  const releasedBy = harness.clock.now();
  harness.clock.moveTo(releasedBy + 3_600_000);
  await answerCall(harness.world, run, { agent, result: { yes: true } });
  await harness.runUntilIdle(agent);
  const span = seen.find(({ name }) => name === "execute_tool ask");
  expect(span?.from).toBeLessThanOrEqual(releasedBy);
  expect((span?.to ?? 0) - (span?.from ?? 0)).toBeGreaterThanOrEqual(3_600_000);
});
