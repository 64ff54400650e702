/** What becomes of a hand-off whose agent cannot be had: it is told to the model, or it is a failure of the parent. */
import { expect, test } from "vitest";
import { z } from "zod";
import type { ActiveRun } from "../../../src/engine/context/active-run.ts";
import type { AgentAbsent } from "../../../src/engine/context/runner.ts";
import { taskOfChild } from "../../../src/features/children/dispatch.ts";
import { childTool } from "../../../src/index.ts";

const ask = childTool({ agent: "worker", description: "", input: z.object({}), budget: { beats: 1 } });

/** The task of a call whose agent is absent. Nothing of the run is read. */
const taskOf = async (absent: Omit<AgentAbsent, "kind">) => {
  if (ask.child === undefined) throw new Error("it is no child tool");
  const agentOf = async () => ({ kind: "absent", ...absent }) as const;
  return taskOfChild({} as ActiveRun, { agentOf, tool: ask, child: ask.child, args: {}, input: null });
};

test("refuses a hand-off to an agent that cannot be loaded now, and finds one that does not exist unknown", async () => {
  expect(await taskOf({ why: "SyntaxError: worker.ts", isBroken: true })).toEqual({
    kind: "refused",
    why: "ChildAgentAbsent: worker cannot be loaded: SyntaxError: worker.ts",
  });
  expect(await taskOf({ why: "there is no agent worker" })).toEqual({
    kind: "unknown",
    why: "there is no agent worker",
  });
});
