/** A run whose budget is exhausted and that asks an operator for more. */
import type { Agent } from "../../../src/ports/agent.ts";
import { type BudgetOptions, budgetFrom, budgetSchema } from "../../../src/sdk/budget.ts";
import type { Grant } from "../../../src/core/policy/budget.ts";
import type { World } from "../../../src/ports/world.ts";
import { decide } from "../../../src/operations/decide.ts";
import { show } from "../../../src/operations/views.ts";
import { beginRun, drive, runnerOf } from "../harness/drive.ts";
import { type ScriptedAgentOptions, type Harness, scriptedAgent } from "../harness/harness.ts";

export const withBudget = (agent: Agent, budget: BudgetOptions): Agent => ({
  ...agent,
  budget: budgetFrom(budgetSchema.parse(budget), 40),
});

/** Drives the run until it waits or ends. */
export async function runUntilBudgetGate(
  harness: Harness,
  of: { readonly part: ScriptedAgentOptions; readonly budget: BudgetOptions },
) {
  const agent = withBudget(scriptedAgent(of.part), { onExhausted: "ask", ...of.budget });
  const runner = runnerOf(harness.world, agent);
  const payload = await drive(runner, await beginRun(harness.world, agent, {}));
  return { agent, runner, payload, run: payload.run };
}

/** The gate that asks for more budget, as an operator sees it. */
export const budgetRequestsOf = async (world: World, run: string) =>
  (await show(world, run))?.gates.find(({ call }) => call === "budget");

export async function grantBudget(
  world: World,
  of: {
    readonly run: string;
    readonly more?: Grant;
    readonly as?: "approve" | "deny" | "edit";
    readonly gate?: string;
  },
): ReturnType<typeof decide> {
  const { run, more = {}, as = "approve" } = of;
  const gate = of.gate ?? (await budgetRequestsOf(world, run))?.gate ?? "";
  return decide(world, { run, gate, as, args: null, more, by: "ann", note: "it is worth it" });
}
