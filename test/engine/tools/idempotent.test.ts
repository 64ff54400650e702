/** Naturally idempotent calls: repeated like keyed ones, but never while an earlier request can still land. */
import { describe, expect, test } from "vitest";
import { OutcomeUnknown } from "../../../src/index.ts";
import { ledger } from "../../../src/operations/views.ts";
import { addressBook } from "../../support/agents/letters-agent.ts";
import { beginRun } from "../../support/harness/drive.ts";
import { dieInTool } from "../../support/harness/chain-steps.ts";
import { createChainHarness, MS } from "../../support/harness/harness.ts";

const lost = (): never => {
  throw new OutcomeUnknown("the answer was lost");
};

describe("an idempotent call", () => {
  test("runs again after a process death, once its lease and the settle time are over", async () => {
    const harness = createChainHarness();
    const at: number[] = [];
    const { agent } = addressBook(["A"], { run: () => at.push(harness.clock.now()) });
    const begunAt = harness.clock.now();
    const { run } = await beginRun(harness.world, agent, {});
    await dieInTool(harness, agent);
    await harness.runUntilIdle(agent);
    expect(at).toHaveLength(1);
    expect(at[0]).toBeGreaterThanOrEqual(begunAt + MS.beat + MS.skew + MS.settle);
    expect(await ledger(harness.world, run)).toMatchObject([{ status: "succeeded", attempts: 2 }]);
  });

  test("runs again after an attempt without an answer, three times in all; then an operator is asked", async () => {
    const harness = createChainHarness();
    const at: number[] = [];
    const { agent } = addressBook(["A"], {
      run: () => {
        at.push(harness.clock.now());
        return lost();
      },
    });
    const { run } = await beginRun(harness.world, agent, {});
    await harness.runUntilIdle(agent);
    expect(harness.row(run).status).toBe("blocked");
    expect(at).toHaveLength(3);
    for (const [index, time] of at.slice(1).entries()) expect(time - (at[index] ?? 0)).toBeGreaterThan(MS.settle);
  });

  test("an error of a later attempt does not show that the call did not happen", async () => {
    const harness = createChainHarness();
    const { agent } = addressBook(["A"], {
      onUnknown: "tell",
      run: () => {
        throw new Error("HTTP 502");
      },
    });
    const { run } = await beginRun(harness.world, agent, {});
    await dieInTool(harness, agent);
    await harness.runUntilIdle(agent);
    expect(await ledger(harness.world, run)).toMatchObject([{ status: "unknown" }]);
  });
});
