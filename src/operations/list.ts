/** Lists the runs of a tenant, newest first. */
import type { Phase, Status } from "../core/phases.ts";
import type { Damaged } from "../ports/run-table.ts";
import type { World } from "../ports/world.ts";
import type { ListedRow } from "../protocol/row.ts";
import { type Summary, summaryOf } from "./views.ts";

/**
 * `more`: there are more runs than these, or rows that were not looked at. `next`: the cursor behind what was looked at;
 * null if there is no more.
 */
export interface Listed {
  readonly kind: "listed";
  readonly runs: readonly Summary[];
  /** Damaged rows, whatever the filter: their status and agent are not known. */
  readonly damaged: readonly Damaged[];
  readonly more: boolean;
  readonly next: string | null;
}

/** What a run has to be; null: anything. A world finds runs by status itself; by the others, cairn looks at each row. */
export interface RunFilter {
  readonly status: Status | null;
  readonly agent: string | null;
  readonly agentVersion: string | null;
  readonly phase: Phase | null;
}

/** A list that looks at each row reads larger pages. */
const FILTERED_PAGE = 500;

/**
 * Rows that one list looks at. A filter that matches few of a million runs would otherwise read them all for one
 * answer. The next list goes on behind them.
 */
const LOOKED_AT_MAX = 10_000;

export async function listRuns(
  world: World,
  of: RunFilter & {
    readonly tenant: string;
    readonly limit: number;
    /** A cursor of an earlier list with the same filters; null: from the newest run. */
    readonly after: string | null;
  },
): Promise<Listed> {
  const { tenant, status, limit } = of;
  const isFiltered = of.agent !== null || of.agentVersion !== null || of.phase !== null;
  const pageSize = isFiltered ? Math.max(limit + 1, FILTERED_PAGE) : limit + 1;
  const runs: Summary[] = [];
  const damaged: Damaged[] = [];
  let { after } = of;
  let next: string | null = null;
  let lookedAt = 0;
  do {
    const now = world.clock.now();
    const page = await world.table.list({ tenant, status, limit: pageSize, after, now });
    damaged.push(...page.damaged);
    for (const [index, row] of page.rows.entries()) {
      if (!matches(row, of)) continue;
      if (runs.length === limit) return { kind: "listed", runs, damaged, more: true, next };
      runs.push(summaryOf(row, now));
      next = page.behind[index] ?? null;
    }
    after = page.next;
    lookedAt += page.rows.length;
    if (isFiltered && after !== null && lookedAt >= LOOKED_AT_MAX) {
      return { kind: "listed", runs, damaged, more: true, next: after };
    }
  } while (after !== null);
  return { kind: "listed", runs, damaged, more: false, next: null };
}

const matches = (row: ListedRow, { agent, agentVersion, phase }: RunFilter): boolean =>
  (agent === null || row.agent === agent) &&
  (agentVersion === null || row.agentVersion === agentVersion) &&
  (phase === null || row.phase === phase);
