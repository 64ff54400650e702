/** Whether the limits of a tenant let a run start, counted before the run exists. */
import { type CountedBy, reserveSpend } from "../../features/spend-caps/counters.ts";
import type { Agent } from "../../ports/agent.ts";
import type { World } from "../../ports/world.ts";
import { OPEN_RUNS_MAX, type SpendRefusal } from "../../protocol/spend-counter.ts";
import { respond } from "../operation.ts";

/** Why no run may start. */
export type StartLimited =
  | (Omit<SpendRefusal, "kind"> & { readonly kind: "limitReached"; readonly why: string })
  /** Money is limited, and the agent says for none of its runs how much it may spend. */
  | { readonly kind: "budgetMissing" };

export const LIMITED_OUTCOMES = {
  limitReached: {
    exit: "refused",
    status: 429,
    code: "TenantBudgetSpent",
    says: "The tenant has used what it may start or spend: nothing was started.",
  },
  budgetMissing: respond.refused(
    "BudgetMissing",
    "The money of the tenant is limited, and the agent has no budget in dollars: ask the operator to give it `budget.usd`.",
  ),
} as const;

/** Counts the run; null: it may start. */
export async function limitStart(
  world: World,
  {
    run: id,
    agent,
    counted,
  }: { readonly run: string; readonly agent: Pick<Agent, "budget">; readonly counted: CountedBy | undefined },
): Promise<StartLimited | null> {
  if (counted === undefined) return null;
  const { microUsd } = agent.budget;
  const isMoneyLimited = [counted.limits.day, counted.limits.month].some((each) => each?.microUsd !== undefined);
  if (isMoneyLimited && microUsd === null) return { kind: "budgetMissing" };
  const spent = await reserveSpend(world, { ...counted, id, microUsd: microUsd ?? 0 });
  return spent === null ? null : { ...spent, kind: "limitReached", why: whyOf(spent) };
}

const whyOf = ({ what, per, resetsAt }: SpendRefusal): string => {
  if (what === "open")
    return `More than ${OPEN_RUNS_MAX} of its runs are under way: send it again when some have ended.`;
  const used =
    what === "runs" ? `It started as many runs as it may in a ${per}` : `It has no money left for this ${per}`;
  return `${used}: send it again after ${new Date(resetsAt).toISOString()}.`;
};
