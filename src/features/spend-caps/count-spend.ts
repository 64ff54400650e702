/** Adds what a commit debits to the spend of the day, before the commit is sent (schedule 193). */
import type { Event } from "../../core/event.ts";
import { addSpendToday } from "./today.ts";
import type { RunParts } from "../../engine/context/run-parts.ts";

export async function countSpend(
  { world, invocation }: Pick<RunParts, "world" | "invocation">,
  events: readonly Event[],
): Promise<void> {
  if (world.limits.spendMicroUsdPerDay === Number.MAX_SAFE_INTEGER) return;
  const microUsd = events.reduce((sum, event) => sum + ownCost(event), 0);
  if (microUsd > 0) await addSpendToday(world, { microUsd, until: invocation.deadline - world.limits.drainMs / 4 });
}

/** A child run counts its own calls; its parent debits them again. */
const ownCost = (event: Event): number =>
  event.kind === "BudgetDebited" && event.child === undefined ? (event.debit.microUsd ?? 0) : 0;
