/**
 * How a store and what works on it are: its checks, its live runs, and what was spent against the caps. Checks name runs of
 * each tenant, and the spend of a day is that of all, so no other tenant than that of the command line sees them.
 */
import { DEFAULT_TENANT } from "../core/ids.ts";
import { type Used, usedSpend } from "../features/spend-caps/counters.ts";
import { spentToday } from "../features/spend-caps/today.ts";
import type { Status } from "../core/phases.ts";
import type { ExaminedStore } from "../ports/diagnosis.ts";
import type { SweepsSeen, WorkersLoad } from "../ports/supervision.ts";
import type { World } from "../ports/world.ts";
import { LAST_ORPHANS_SEARCH, LAST_SWEEP_OF_ALL } from "../protocol/mutex-lease.ts";
import type { SpendLimits } from "../protocol/spend-counter.ts";
import type { OperationContext } from "./operation.ts";

export interface HealthShown {
  readonly kind: "shown";
  /** Null where the server may not look at what runs need, such as on AWS, and for another tenant. */
  readonly examined: ExaminedStore | null;
  /** Live runs by status. */
  readonly live: { readonly [S in Status]?: number };
  /** There are more live runs than were counted. */
  readonly isMore: boolean;
  /** What the processes have that run beats; null: no supervisor is in the process that answers, or another tenant asks. */
  readonly workers: WorkersLoad | null;
  /** Null for another tenant. */
  readonly sweeper: SweeperSeen | null;
  /** The spend of all runs of the store today (UTC); null: nothing caps it, so nothing counts it, or another tenant asks. */
  readonly spend: { readonly todayUsd: number; readonly capUsd: number } | null;
  /** What the caller's tenant used and may use; null: nothing limits it. */
  readonly tenant: TenantUse | null;
}

export interface TenantUse extends Used {
  readonly name: string;
  readonly limits: SpendLimits;
}

/** Times are epoch milliseconds; null: it is not known, or has not been yet. */
export interface SweeperSeen {
  /** The sweeps of the supervisor in the process that answers; null: none is in it. */
  readonly sweeps: SweepsSeen | null;
  /** When a sweep last judged every live run, whatever is due; it does so once an hour. */
  readonly allAt: number | null;
  /** When a search for objects without a run last ended, where a service drives the runs. */
  readonly orphansAt: number | null;
}

const PAGE = 500;
/** A page that is open asks once a minute, and on AWS each row is a read unit. */
const COUNTED_MAX = 1_000;

export async function healthOf({
  world,
  tenant,
  isOperator = false,
  counted,
  examine,
  load,
}: OperationContext): Promise<HealthShown> {
  const cap = world.limits.spendMicroUsdPerDay;
  const seesAll = isOperator || tenant === DEFAULT_TENANT;
  const driven = (seesAll ? load?.() : null) ?? null;
  const [examined, runs, todayMicroUsd, used, sweeper] = await Promise.all([
    seesAll && examine !== undefined ? examine() : null,
    liveRuns(world, isOperator ? null : tenant),
    seesAll && cap !== Number.MAX_SAFE_INTEGER ? spentToday(world) : null,
    counted === undefined ? null : usedSpend(world, counted),
    seesAll ? sweeperSeen(world, driven?.sweeps ?? null) : null,
  ]);
  return {
    kind: "shown",
    examined,
    live: runs.live,
    isMore: runs.isMore,
    workers: driven?.workers ?? null,
    sweeper,
    spend: todayMicroUsd === null ? null : { todayUsd: todayMicroUsd / 1e6, capUsd: cap / 1e6 },
    tenant: used === null || counted === undefined ? null : { ...used, name: tenant, limits: counted.limits },
  };
}

async function sweeperSeen({ leases }: Pick<World, "leases">, sweeps: SweepsSeen | null): Promise<SweeperSeen> {
  const [allAt, orphansAt] = await Promise.all([
    leases.cursorOf(LAST_SWEEP_OF_ALL),
    leases.cursorOf(LAST_ORPHANS_SEARCH),
  ]);
  const timeOf = (cursor: string | null): number | null => (cursor === null ? null : Number(cursor));
  return { sweeps, allAt: timeOf(allAt), orphansAt: timeOf(orphansAt) };
}

async function liveRuns(
  { table, clock }: Pick<World, "table" | "clock">,
  tenant: string | null,
): Promise<Pick<HealthShown, "live" | "isMore">> {
  const live: Partial<Record<Status, number>> = {};
  let seen = 0;
  let after: string | null = null;
  do {
    const page = await table.alive({ limit: PAGE, after, now: clock.now() });
    seen += page.rows.length;
    for (const row of page.rows) {
      if (tenant === null || row.tenant === tenant) live[row.status] = (live[row.status] ?? 0) + 1;
    }
    after = page.next;
  } while (after !== null && seen < COUNTED_MAX);
  return { live, isMore: after !== null };
}
