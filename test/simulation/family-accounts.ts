/** What a family spent: each run accounts for itself and for each of its children, once, so the root for all of them. */
import { canonical } from "../../src/codec/canonical.ts";
import { type Grant, type Spent, NOTHING_SPENT, add } from "../../src/core/policy/budget.ts";
import { spentOfGrant } from "../../src/features/children/core.ts";
import type { EventOf } from "../../src/core/event.ts";
import type { TimelineEntry } from "../../src/operations/views.ts";
import { type Told, lastOf, reportedIn } from "./family-history.ts";

/** What the run spent is what it spent itself, and what each of its children spent, once. */
export function conserved({ history, row, events, state }: Told): readonly string[] {
  const own = sum(
    events.flatMap((each) => (each.kind === "BudgetDebited" && each.child === undefined ? [each.debit] : [])),
  );
  const reported = new Set(reportedIn(events));
  const standing = new Set(state.children.map(({ id }) => id));
  const costs = dispatchesIn(events).map((event): Partial<Spent> => {
    if (event.left === true) return spentOfGrant(event.grant);
    if (reported.has(event.child)) return lastOf(history, event.child)?.spent ?? NOTHING_SPENT;
    return standing.has(event.child) ? spentOfGrant(event.grant) : NOTHING_SPENT;
  });
  const all = sum([own, ...costs]);
  return canonical(row.spent) === canonical(all)
    ? []
    : [`it spent ${JSON.stringify(row.spent)}, and ${JSON.stringify(all)} was spent for it`];
}

/** No child spends more than was reserved for it. */
export function withinGrants({ history, events }: Told): readonly string[] {
  return dispatchesIn(events).flatMap(({ child, grant }) => {
    const spent = lastOf(history, child)?.spent;
    return spent === undefined || fits(spent, grant)
      ? []
      : [`child ${child.slice(-6)} spent ${spent.beats} beats of ${grant.beats}`];
  });
}

const fits = ({ beats }: Spent, grant: Grant): boolean => beats <= (grant.beats ?? Infinity);

export const dispatchesIn = (
  events: readonly TimelineEntry[],
): readonly (TimelineEntry & EventOf<"ChildDispatched">)[] =>
  events.filter((event) => event.kind === "ChildDispatched");

const sum = (debits: readonly Partial<Spent>[]): Spent =>
  debits.reduce<Spent>((spent, debit) => add(spent, debit), NOTHING_SPENT);
