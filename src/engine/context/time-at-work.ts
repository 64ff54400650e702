/**
 * Time at work that no commit has debited yet. An invocation debits its own; one that died debits nothing any more, so
 * the next one does it for all of them.
 */
import type { Limits } from "../../protocol/limits.ts";
import type { Row } from "../../protocol/row.ts";

export interface UndebitedTime {
  /** Of this invocation: since its claim, or since the last debit. */
  readonly since: number;
  /** Of those that died since the last commit. */
  readonly unseenMs: number;
}

/** As a claim or a hand-over finds it: each invocation that the row counts, but this one, died with the run. */
export function undebitedTime(
  row: Row,
  { since, limits }: { readonly since: number; readonly limits: Pick<Limits, "beatMs" | "skewMs"> },
): UndebitedTime {
  const dead = row.claims - (row.owner === null ? 0 : 1);
  return { since, unseenMs: unseenMs(row, { dead, now: since, limits }) };
}

/**
 * What invocations may have spent that died since the last commit, `dead` of them. Nobody saw when, but they held the
 * run after that commit, and each for no longer than its lease, of which the row keeps the last: never less than they
 * spent, never more than their leases, and nothing for the time in which the run was parked before them. Schedule 62:
 * a process that dies over and over would be at work for ever and spend nothing.
 */
function unseenMs(
  row: Row,
  of: { readonly dead: number; readonly now: number; readonly limits: Pick<Limits, "beatMs" | "skewMs"> },
): number {
  const { dead, now, limits } = of;
  if (dead <= 0) return 0;
  const from = Math.max(row.lastCheckpointAt, row.quietUntil - dead * (limits.beatMs + limits.skewMs));
  return Math.max(0, Math.min(now, row.quietUntil) - from);
}

/** A clock may be set back in between: that is no time at work, and none is given back. */
export const msAtWork = ({ since, unseenMs }: UndebitedTime, now: number): number =>
  Math.max(0, now - since) + unseenMs;
