/** Work that handed work out is repeated in another run. */
import { expect, test } from "vitest";
import { type Conversation, type ScriptedReply, childTool, pipeline } from "../../src/index.ts";
import { forkRun } from "../../src/operations/fork.ts";
import { show } from "../../src/operations/views.ts";
import { INPUT, MEMO, worker } from "../support/agents/workers.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { HOUR, runForTime } from "../support/harness/run-for-time.ts";
import { rowIn } from "../support/runs/run-to-fork.ts";
import { playRun, roleAgent } from "../support/runs/topology-run.ts";

/** Its one stage hands out the same part in each run, and its gate refuses the first output. */
function refusedOnce() {
  const acted: string[] = [];
  const { agent } = roleAgent(
    pipeline({
      stages: [
        { name: "hand", instructions: "Hand.", gate: ({ output }) => output.startsWith("again") || "it is too early" },
      ],
    }),
    {
      reply: ({ messages, calls }: Conversation): ScriptedReply => {
        if (calls.length === 0) return { calls: [{ tool: "ask", args: { part: 1 } }] };
        return { text: messages.some(({ text }) => text.includes("not accepted")) ? "again" : "first" };
      },
      tools: {
        ask: childTool({
          ...{ agent: "worker", description: "a child", input: INPUT, output: MEMO, budget: { beats: 5 } },
          onRollBack: "keep",
        }),
      },
    },
  );
  const others = [worker({ run: ({ run }) => void acted.push(run) })];
  return { agent, others, acted };
}

test("schedule 217: a fork runs a stage again that handed out work before the fork; the work is not handed out again in silence", async () => {
  const { agent, others, acted } = refusedOnce();
  const { harness, run, events } = await playRun(agent, { others });
  assertSafety("the original has the work done once", () => expect(acted).toHaveLength(1));
  const done = events.find((event) => event.kind === "ToolResultRecorded" && event.call === "c1");
  const at = done?.version ?? 0;
  const forked = rowIn(await forkRun(harness.world, { run, at, agent, key: null, by: "ann", confirmed: true }));
  await runForTime(harness, [agent, ...others], HOUR);
  const shown = await show(harness.world, forked.run);
  expect(shown).toMatchObject({ status: "completed", standing: ["ask (c1)"] });
  assertSafety("the fork has nothing done that was done before it", () => expect(acted).toHaveLength(1));
});
