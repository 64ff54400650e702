/** Lists the runs of a tenant, newest first. */
import type { Status } from "../core/phases.ts";
import type { Damaged } from "../ports/run-table.ts";
import type { World } from "../ports/world.ts";
import { type Summary, summaryOf } from "./views.ts";

/** `more`: there are more runs than `limit`. */
export interface Listed {
  readonly kind: "listed";
  readonly runs: readonly Summary[];
  /** Damaged rows, whatever the filter: their status and agent are not known. */
  readonly damaged: readonly Damaged[];
  readonly more: boolean;
}

export async function listRuns(
  world: World,
  of: {
    readonly tenant: string;
    /** Null: every status. */
    readonly status: Status | null;
    /** Null: every agent. */
    readonly agent: string | null;
    readonly limit: number;
  },
): Promise<Listed> {
  const { tenant, status, agent, limit } = of;
  const runs: Summary[] = [];
  const damaged: Damaged[] = [];
  let after: string | null = null;
  do {
    const now = world.clock.now();
    const page = await world.table.list({ tenant, status, limit: limit + 1, after, now });
    const fitting = page.rows.filter((row) => agent === null || row.agent === agent);
    runs.push(...fitting.map((row) => summaryOf(row, now)));
    damaged.push(...page.damaged);
    after = page.next;
  } while (after !== null && runs.length <= limit);
  return { kind: "listed", runs: runs.slice(0, limit), damaged, more: runs.length > limit };
}
