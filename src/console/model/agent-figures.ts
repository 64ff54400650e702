/** How the runs of an agent went lately: how many an hour, how many failed, what one costs. */
import type { Summary } from "../../operations/summary.ts";
import type { ListedRow } from "../../protocol/row.ts";

export interface RunFigures {
  /** Runs that were started in the last day. */
  readonly runs: number;
  readonly perHour: number;
  /** Of those that ended; null: none did. */
  readonly failedShare: number | null;
  readonly failed: number;
  readonly ended: number;
  /** In dollars, of those that ended; null: none did. */
  readonly meanUsd: number | null;
  readonly mostUsd: number | null;
}

const HOUR_MS = 3_600_000;
const WINDOW_HOURS = 24;

type Counted = Pick<Summary, "agent" | "createdAt" | "inProgress" | "spent"> & Pick<ListedRow, "status">;

/** `now`: epoch milliseconds. An agent that is younger than a day is judged by the hours since its first run. */
export function runFiguresOf(
  runs: readonly Counted[],
  { agent, now }: { readonly agent: string; readonly now: number },
): RunFigures {
  const own = runs.filter((each) => each.agent === agent);
  const lately = own.filter(({ createdAt }) => createdAt > now - WINDOW_HOURS * HOUR_MS);
  const ended = lately.filter(({ inProgress }) => !inProgress);
  const failed = ended.filter(({ status }) => status === "failed").length;
  const first = Math.min(now, ...own.map(({ createdAt }) => createdAt));
  const hours = Math.min(WINDOW_HOURS, Math.max(1, (now - first) / HOUR_MS));
  const costs = ended.map(({ spent }) => spent.usd);
  const isNone = ended.length === 0;
  return {
    runs: lately.length,
    perHour: lately.length / hours,
    failedShare: isNone ? null : failed / ended.length,
    failed,
    ended: ended.length,
    meanUsd: isNone ? null : costs.reduce((sum, each) => sum + each, 0) / ended.length,
    mostUsd: isNone ? null : Math.max(...costs),
  };
}
