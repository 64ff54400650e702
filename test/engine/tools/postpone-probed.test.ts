/** Calls whose probe uses up the beat: the next beat makes them, and probes get the time that they may take. */
import { describe, expect, test } from "vitest";
import type { Tool } from "../../../src/ports/agent.ts";
import { replyWithCalls, sideEffectAgent } from "../../support/agents/side-effect-agent.ts";
import { assertSafety } from "../../support/gate/safety.ts";
import { dieInTool } from "../../support/harness/chain-steps.ts";
import { beginRun, killableWorld } from "../../support/harness/drive.ts";
import { createChainHarness, neverSettles, scriptedAgent, flushPromises } from "../../support/harness/harness.ts";
import { postponements } from "../../support/runs/slow-commits.ts";

describe("a call that its probe found absent", () => {
  const probedSlowly = (probeMs: number) => {
    const harness = createChainHarness();
    const attempts: number[] = [];
    const agent = scriptedAgent({
      effect: "probed",
      timeoutMs: 1_500,
      run: ({ attempt }) => attempts.push(attempt),
      probe: () => {
        harness.clock.moveTo(harness.clock.now() + probeMs);
        return { kind: "absent" };
      },
    });
    return { harness, agent, attempts };
  };

  test("is another attempt when the next beat makes it", async () => {
    const { harness, agent, attempts } = probedSlowly(1_200);
    const { run } = await beginRun(harness.world, agent, {});
    await dieInTool(harness, agent);
    await harness.runUntilIdle(agent);
    expect(await postponements(harness, run)).toMatchObject([{ after: "probe" }]);
    expect(attempts).toEqual([2]);
  });

  test("and a probe for which a beat has no time waits for the next one", async () => {
    const { harness } = probedSlowly(0);
    const probed: number[] = [];
    const made = sideEffectAgent({
      reply: replyWithCalls([
        ["pay", "ada", 5],
        ["pay", "bob", 6],
      ]),
      pay: {
        effect: "probed",
        timeoutMs: 1_500,
        probe: () => {
          probed.push(harness.row(payload.run).epoch);
          harness.clock.moveTo(harness.clock.now() + 1_200);
          return { kind: "absent" };
        },
      },
    });
    const payload = await beginRun(harness.world, made.agent, {});
    const { world, kill } = killableWorld(harness.world);
    const out = harness.startAttempt();
    const pay = { ...(made.agent.tools["pay"] as Tool), run: neverSettles };
    out.perform({ world, agent: { ...made.agent, tools: { pay } } }).catch(() => undefined);
    await flushPromises();
    kill();
    out.end(null);
    await harness.runUntilIdle(made.agent);
    expect(new Set(probed).size).toBe(2);
    assertSafety("each call is made once", () => expect(made.done).toHaveLength(2));
    expect(harness.row(payload.run).status).toBe("completed");
  });
});
