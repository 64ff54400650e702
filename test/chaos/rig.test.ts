/** What chaos puts around an agent: nothing that a tool or its undo does goes unseen, and no moment of it passes untold. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { expect, it, onTestFinished } from "vitest";
import type { Agent, ToolContext, UndoContext } from "../../src/ports/agent.ts";
import { defineAgent, tool } from "../../src/sdk/define.ts";
import { OutcomeUnknown } from "../../src/sdk/outcome.ts";
import { scriptedModel } from "../../src/sdk/scripted.ts";
import { callContext } from "../support/agents/call-context.ts";
import { rigFor } from "../../src/chaos/rig.ts";
import { traceLines } from "../../src/chaos/trace.ts";

const input = z.object({ usd: z.number() });

const payer = defineAgent({
  ...{ name: "payer", version: "1", instructions: "", task: z.unknown(), done: [] },
  model: scriptedModel({ name: "payer-model", reply: () => ({ text: "Paid." }) }),
  tools: {
    pay: tool({
      ...{ input, effect: "unsafe" },
      run: ({ input: { usd } }) => {
        if (usd < 0) throw new Error("refused");
        if (usd === 0) throw new OutcomeUnknown("no answer");
        return { paid: usd };
      },
      undo: { effect: "keyed", run: ({ of }) => ({ back: of.key }) },
    }),
  },
}) as Agent;

const contextOf = (usd: number, key: string): ToolContext<unknown> =>
  callContext({ run: "main-1", input: { usd }, key });

it("records calls and undos with the fault points before and after them", async () => {
  const dir = mkdtempSync(join(tmpdir(), "cairn-rig-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const rig = rigFor({ dir, plan: { taskOf: {}, killOf: {} }, taskInHand: () => 1 });
  const { pay } = rig.agent(payer).tools;
  const undoing: UndoContext<unknown> = { ...contextOf(5, "u1"), of: { key: "k1", result: null } };
  expect(await pay?.run(contextOf(5, "k1"))).toEqual({ paid: 5 });
  expect(await pay?.undo?.run(undoing)).toEqual({ back: "k1" });
  await expect(pay?.run(contextOf(-1, "k2"))).rejects.toThrow("refused");
  await expect(pay?.run(contextOf(0, "k3"))).rejects.toThrow("no answer");

  const told = traceLines(dir, 1).map((line) => {
    if (line.kind === "begun" || line.kind === "decision") return line.kind;
    if (line.kind === "took") return `${line.name} ${line.nth} ended`;
    if (line.kind === "moment") return `${line.when} ${line.name} ${line.where}`;
    return `${line.what} ${line.effect} ${line.key}${line.undoes === undefined ? "" : ` undoes ${line.undoes}`}`;
  });
  expect(told).toEqual([
    ...["before effect pay", "during effect pay", "begun unsafe k1", "returned unsafe k1", "effect 1 ended"],
    ...["after effect pay", "before undo pay", "during undo pay", "begun keyed u1 undoes k1"],
    ...["returned keyed u1 undoes k1", "undo 1 ended", "after undo pay"],
    // Who throws has no moment after it: whatever is next to be killed at belongs to cairn or to its loop.
    ...["before effect pay", "during effect pay", "begun unsafe k2", "threw unsafe k2", "effect 2 ended"],
    ...["before effect pay", "during effect pay", "begun unsafe k3", "unsure unsafe k3", "effect 3 ended"],
  ]);
});
