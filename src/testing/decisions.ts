/**
 * The decisions on rows by their names, for what stands between a process and its table: fault points, planted breaches
 * and counts.
 */
import type { Ambiguous, RunTable } from "../ports/run-table.ts";
import { CLAIM } from "../protocol/row-claim.ts";
import { COMMIT } from "../protocol/row-commit.ts";
import type { RowDecision } from "../protocol/row-decision.ts";
import { END_NOTIFICATION } from "../protocol/row-end-notification.ts";
import { HAND_OVER } from "../protocol/row-hand-over.ts";
import { PARK } from "../protocol/row-park.ts";
import { PURGE } from "../protocol/row-removal.ts";
import { REDRIVE } from "../protocol/row-redrive.ts";
import { RESTORED_CHECK } from "../protocol/row-restored.ts";
import type { Refused } from "../protocol/row.ts";

const DECISIONS = {
  claim: CLAIM,
  commit: COMMIT,
  park: PARK,
  handOver: HAND_OVER,
  recordEndNotified: END_NOTIFICATION,
  redrive: REDRIVE,
  purge: PURGE,
  checkRestored: RESTORED_CHECK,
} as const;

type Decisions = typeof DECISIONS;

type CallOf<D> =
  D extends RowDecision<infer Asked, infer Outcome> ? (asked: Asked) => Promise<Outcome | Refused | Ambiguous> : never;

/** Each decision as a call of its own. */
export type DecisionCalls = { readonly [Name in keyof Decisions]: CallOf<Decisions[Name]> };

type AnyDecide = (asked: unknown, decision: unknown) => Promise<unknown>;

/** The decisions of a table, each as a call of its own. */
export const decisionCalls = ({ decide }: Pick<RunTable, "decide">): DecisionCalls =>
  Object.fromEntries(
    Object.entries(DECISIONS).map(([name, decision]) => [
      name,
      (asked: unknown) => (decide as AnyDecide)(asked, decision),
    ]),
  ) as DecisionCalls;

/** The same table, with these calls in place of decisions and of other operations. */
export function withCalls<Table extends Pick<RunTable, "decide">>(
  table: Table,
  instead: Partial<DecisionCalls & NoInfer<Table>>,
): Table {
  const made = (instead.decide ?? table.decide) as AnyDecide;
  const decide: AnyDecide = (asked, decision) => {
    const call = (instead as Readonly<Record<string, unknown>>)[(decision as { readonly name: string }).name];
    if (typeof call === "function") return (call as (asked: unknown) => Promise<unknown>)(asked);
    return made(asked, decision);
  };
  return { ...table, ...instead, decide };
}
