/** A run whose budget is exhausted and that asks an operator for more. */
import type { Agent } from "../../../src/ports/agent.ts";
import { type BudgetOptions, budgetFrom, budgetSchema } from "../../../src/sdk/budget.ts";
import type { Grant } from "../../../src/core/policy/budget.ts";
import type { World } from "../../../src/ports/world.ts";
import { decide } from "../../../src/operations/decide.ts";
import { show } from "../../../src/operations/views.ts";

export const withBudget = (agent: Agent, budget: BudgetOptions): Agent => ({
  ...agent,
  budget: budgetFrom(budgetSchema().parse(budget), 40),
});

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
