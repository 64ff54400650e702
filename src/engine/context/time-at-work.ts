/**
 * Time at work that no commit has debited yet. An invocation debits its own time. An invocation that died cannot, so
 * the next invocation debits for all that died.
 */
import type { Limits } from "../../protocol/limits.ts";
import type { Row } from "../../protocol/row.ts";

/** Time that no event has debited yet. */
export interface UndebitedTime {
  /** When the undebited time of this invocation begins: at its claim or its last debit, in epoch milliseconds. */
  readonly since: number;
  /** Estimated milliseconds of the invocations that died since the last commit. */
  readonly unseenMs: number;
}

/**
 * The undebited time after a claim or a hand-over. Each invocation in `Row.claims`, except this one, has died with the
 * run.
 */
export function undebitedTime(
  row: Row,
  { since, limits }: { readonly since: number; readonly limits: Pick<Limits, "beatMs" | "skewMs"> },
): UndebitedTime {
  const dead = row.claims - (row.owner === null ? 0 : 1);
  return { since, unseenMs: unseenMs(row, { dead, now: since, limits }) };
}

/**
 * An upper bound of what the `dead` invocations have spent since the last commit, in milliseconds. The times of their
 * deaths are not known. Each held the run after that commit and for at most its lease, and `effectsSettleAt` keeps the end
 * of the last lease. So the bound is never below what they spent and never above their leases. It excludes the time in
 * which the run was parked before them.
 *
 * Schedule 62: without this bound a process that dies repeatedly would work without limit and spend nothing.
 */
function unseenMs(
  row: Row,
  {
    dead,
    now,
    limits,
  }: { readonly dead: number; readonly now: number; readonly limits: Pick<Limits, "beatMs" | "skewMs"> },
): number {
  if (dead <= 0) return 0;
  const from = Math.max(row.lastCheckpointAt, row.effectsSettleAt - dead * (limits.beatMs + limits.skewMs));
  return Math.max(0, Math.min(now, row.effectsSettleAt) - from);
}

/** Milliseconds at work. A clock that is set back in between adds no time and gives none back. */
export const msAtWork = ({ since, unseenMs }: UndebitedTime, now: number): number =>
  Math.max(0, now - since) + unseenMs;
