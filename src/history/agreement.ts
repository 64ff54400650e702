/**
 * Rules that hold for the history of every run. Verify and replay both check them, each on its own way through the
 * history. Neither relies on the fold: whatever can be added up or compared is computed here.
 */
import { canonical } from "../codec/canonical.ts";
import type { Snapshot } from "../codec/snapshot.ts";
import type { CommitRecord } from "../core/event.ts";
import { type Spent, metersOf } from "../core/policy/budget.ts";
import { type Steps, eachOf } from "./stepwise.ts";

/** The version and epoch of a commit. */
type Made = Pick<CommitRecord, "version" | "epoch">;

/** Versions rise, and epochs never fall. A commit without events has a version but leaves no record. */
export function wrongOrder(before: Made, { version, epoch }: Made): readonly string[] {
  const wrong: string[] = [];
  if (version <= before.version) wrong.push(`it comes after version ${before.version}`);
  if (epoch < before.epoch) wrong.push(`epoch ${epoch} committed it, after epoch ${before.epoch}`);
  return wrong;
}

/** Each snapshot except snapshot 0 names an earlier one as its predecessor. Null: nothing is wrong. */
export function wrongPredecessor({ version, previous }: Pick<Snapshot, "version" | "previous">): string | null {
  if (previous === null) return version === 0 ? null : "it names no snapshot before it";
  return previous.version < version ? null : `it names snapshot ${previous.version} as the one before it`;
}

/** A run must not name an older version or epoch than its last commit. */
export function wrongEnd(said: Made, last: Made): readonly string[] {
  const wrong: string[] = [];
  if (said.version < last.version) wrong.push(`its version is ${said.version}, and ${last.version} is committed`);
  if (said.epoch < last.epoch) wrong.push(`its epoch is ${said.epoch}, and epoch ${last.epoch} has committed`);
  return wrong;
}

/** By field name: what the run claims, and what its events lead to. */
export function wrongFields(
  fields: Readonly<Record<string, { readonly said: unknown; readonly come: unknown }>>,
): readonly string[] {
  return Object.entries(fields).flatMap(([name, { said, come }]) =>
    canonical(said) === canonical(come)
      ? []
      : [`its ${name} is ${canonical(said)}, and its events give ${canonical(come)}`],
  );
}

type WrongDebit = { readonly meter: string; readonly spent: number; readonly sum: number };

/** Meters whose debits do not add up to the amount that the run spent. */
export function* wrongDebits(spent: Spent, commits: readonly CommitRecord[]): Steps<readonly WrongDebit[]> {
  const sums = new Map<string, number>();
  yield* eachOf(commits, ({ events }) => {
    for (const event of events) {
      if (event.kind !== "BudgetDebited") continue;
      for (const [meter, amount] of metersOf(event.debit)) sums.set(meter, (sums.get(meter) ?? 0) + amount);
    }
  });
  return metersOf(spent).flatMap(([meter, amount]) => {
    const sum = sums.get(meter) ?? 0;
    return amount === sum ? [] : [{ meter, spent: amount, sum }];
  });
}
