/**
 * Acts as the operator that a run may need. It decides about gates by the rule of the trial, gives what `chaos.answer` of
 * the agent's file says, and reconciles unknown outcomes from the trace of calls.
 * If the trace does not show the outcome, it gives no answer.
 */
import { BUDGET } from "../core/policy/extension.ts";
import type { UnknownCall } from "../operations/views.ts";
import type { World } from "../ports/world.ts";
import { type Truth, answerEach } from "../testing/kit/operator.ts";
import type { Agent } from "../ports/agent.ts";
import type { Chaos } from "../sdk/chaos.ts";
import type { GateRule } from "./gates.ts";
import type { AnswerCounts } from "./strategy.ts";
import type { Line } from "./trace.ts";

/** Decides about all open gates and unknown outcomes of a run. Returns the decisions that were accepted. */
export async function answerRun(
  world: World,
  {
    run,
    gates,
    agent,
    input,
    lines,
  }: {
    readonly run: string;
    /** Null for a child run, whose calls leave no trace: then no outcome can be known. */
    readonly lines: (() => readonly Line[]) | null;
    readonly agent: Agent;
    readonly input: NonNullable<Chaos["answer"]>;
    readonly gates: GateRule;
  },
): Promise<readonly (keyof AnswerCounts)[]> {
  const { decided } = await answerEach(world, run, {
    by: "chaos",
    // Budget requests are not approved: a killed run must complete within its agent's budget.
    decide: ({ call, tool, args, reason }) => (call === BUDGET ? null : gates({ tool, args, reason })),
    agent,
    input,
    truth: (call) => (lines === null ? null : truthOf(lines(), call)),
  });
  return decided;
}

/** The outcome of a call; null if it started and never returned, so the trace cannot show it. */
export function truthOf(lines: readonly Line[], { tool, key }: Pick<UnknownCall, "tool" | "key">): Truth | null {
  const calls = lines.filter((line) => line.kind === "call").filter((line) => line.tool === tool && line.key === key);
  const returned = calls.find(({ what }) => what === "returned");
  if (returned !== undefined) return { kind: "happened", result: returned.result };
  const begun = calls.filter(({ what }) => what === "begun").length;
  return begun === calls.filter(({ what }) => what === "threw").length ? { kind: "absent" } : null;
}
