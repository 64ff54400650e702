/** A worker that is silent and was replaced holds up the end of its boss alone, under every topology. */
import { expect, test } from "vitest";
import { z } from "zod";
import type { Agent } from "../../../src/ports/agent.ts";
import {
  type Conversation,
  type ScriptedReply,
  childTool,
  defineAgent,
  scriptedModel,
  tool,
} from "../../../src/index.ts";
import { Till, payer } from "../../support/agents/payers.ts";
import { INPUT, MEMO } from "../../support/agents/workers.ts";
import { assertSafety } from "../../support/gate/safety.ts";
import { LATE_MS, settled } from "../../support/runs/late-child.ts";
import { household } from "../../support/runs/parent-steps.ts";
import { BOSS_KINDS, type BossKind, roundOf, topologyOfBoss } from "../../simulation/family-topologies.ts";

/** Hands out one part, in each round with its own number. `said`: what its model said after a hand-off. */
function bossOf(kind: BossKind, said: string[]): Agent {
  const reply = (conversation: Conversation): ScriptedReply => {
    const round = roundOf(kind, { conversation, width: 1, rounds: 1 });
    if (typeof round === "number") {
      const part = conversation.calls.length;
      return {
        calls: [
          { tool: "ask", args: { part } },
          { tool: "act", args: {} },
        ],
      };
    }
    const words = round === "over" ? { text: "over" } : round;
    if (conversation.messages.some(({ text }) => text.includes("paid"))) said.push(words.text ?? "");
    return words;
  };
  return defineAgent({
    ...{ name: "boss", version: "1", instructions: "", task: z.object({}).loose(), loops: "ignore" },
    topology: topologyOfBoss(kind, { rounds: 1, tools: ["act"] }),
    model: scriptedModel({ name: "boss", reply }),
    tools: {
      ask: childTool({
        ...{ agent: "worker", description: "asks a worker", input: INPUT, output: MEMO, budget: { beats: 5 } },
        ...{ tries: 2, deadlineMs: LATE_MS },
      }),
      act: tool({ input: z.object({}), effect: "none", run: () => "acted" }),
    },
    budget: { beats: 200 },
    result: () => "over",
  }) as unknown as Agent;
}

test.each([...new Set(BOSS_KINDS)])(
  "a boss of topology %s goes on to its last reply, and only its end waits",
  async (kind) => {
    const said: string[] = [];
    const worker = payer({ effect: "none", till: new Till(), isSilent: (number) => number === 0 });
    const house = await household([bossOf(kind, said), worker]);
    const { harness, run } = house;
    for (let beats = 0; beats < 8 && house.children().length === 0; beats += 1) await house.runAttempt(run);
    const [first] = house.children();
    const out = house.startAttempt(first?.run ?? "");
    out.perform({ world: harness.world, agent: house.agents }).catch(() => undefined);
    await settled();
    harness.clock.moveTo(harness.clock.now() + LATE_MS);
    await house.playAll();
    assertSafety("the first worker hangs, and the end of its boss waits", () => {
      expect(harness.row(first?.run ?? "").status).toBe("running");
      expect(harness.row(run)).toMatchObject({ phase: "Reflecting" });
    });
    expect(said).not.toEqual([]);
    out.end(null);
    await house.playAll();
    expect(harness.row(run).status).toBe("completed");
  },
);
