/** Lists the runs of a tenant, newest first. */
import type { Status } from "../core/phases.ts";
import type { Damaged } from "../ports/run-table.ts";
import type { World } from "../ports/world.ts";
import { type Summary, summaryOf } from "./views.ts";

/** `more`: there are more runs than `limit`. `next`: the cursor after the last of `runs`; null if there are no more. */
export interface Listed {
  readonly kind: "listed";
  readonly runs: readonly Summary[];
  /** Damaged rows, whatever the filter: their status and agent are not known. */
  readonly damaged: readonly Damaged[];
  readonly more: boolean;
  readonly next: string | null;
}

/** A list of one agent filters pages of all agents, so it reads larger pages. */
const FILTERED_PAGE = 500;

export async function listRuns(
  world: World,
  of: {
    readonly tenant: string;
    /** Null: every status. */
    readonly status: Status | null;
    /** Null: every agent. */
    readonly agent: string | null;
    readonly limit: number;
    /** A cursor of an earlier list with the same filters; null: from the newest run. */
    readonly after: string | null;
  },
): Promise<Listed> {
  const { tenant, status, agent, limit } = of;
  const pageSize = agent === null ? limit + 1 : Math.max(limit + 1, FILTERED_PAGE);
  const runs: Summary[] = [];
  const damaged: Damaged[] = [];
  let { after } = of;
  let next: string | null = null;
  do {
    const now = world.clock.now();
    const page = await world.table.list({ tenant, status, limit: pageSize, after, now });
    damaged.push(...page.damaged);
    for (const [index, row] of page.rows.entries()) {
      if (agent !== null && row.agent !== agent) continue;
      if (runs.length === limit) return { kind: "listed", runs, damaged, more: true, next };
      runs.push(summaryOf(row, now));
      next = page.behind[index] ?? null;
    }
    after = page.next;
  } while (after !== null);
  return { kind: "listed", runs, damaged, more: false, next: null };
}
