/** Lists the runs of a tenant, the latest change of status first. */
import type { Crack } from "../core/crack.ts";
import type { Phase, Status } from "../core/phases.ts";
import type { Damaged, ListedOnly } from "../ports/run-table.ts";
import type { World } from "../ports/world.ts";
import type { ListedRow } from "../protocol/row.ts";
import { runId } from "../protocol/ids.ts";
import { type Summary, summaryOf } from "./summary.ts";

/**
 * `more`: there are more runs than these, or rows that were not looked at. `next`: the cursor behind what was looked at;
 * null if there is no more.
 */
export interface Listed {
  readonly kind: "listed";
  readonly runs: readonly Summary[];
  /** Damaged rows among those that were looked at, whatever the filter: what is in them is not known. */
  readonly damaged: readonly Damaged[];
  readonly more: boolean;
  readonly next: string | null;
}

/** What a run has to be; null: anything. A world finds runs by status itself; by the others, cairn looks at each row. */
export interface RunFilter {
  readonly status: Status | null;
  /** What its ID begins with, its tenant included. */
  readonly begins: string | null;
  readonly agent: string | null;
  readonly agentVersion: string | null;
  readonly phase: Phase | null;
  /** The agent whose schedule started it. */
  readonly schedule: string | null;
  /** What the key begins with that its caller gave it when it started, or the whole key. */
  readonly key: string | null;
  /** Its title, or the key of its start, begins with this text, in upper or lower case. */
  readonly named: string | null;
  /** Labels that it has all of, such as `team=ops`. */
  readonly label: readonly string[] | null;
  /** The ID of the run that started it. */
  readonly parent: string | null;
  /** A first signal that it gave. */
  readonly crack: Crack | null;
  /** It was created then or later, epoch milliseconds. */
  readonly since: number | null;
  /** It spent more, in dollars. */
  readonly usdAbove: number | null;
}

/** The filter that every run passes. */
export const ANY_RUN: RunFilter = {
  status: null,
  begins: null,
  agent: null,
  agentVersion: null,
  phase: null,
  schedule: null,
  key: null,
  named: null,
  label: null,
  parent: null,
  crack: null,
  since: null,
  usdAbove: null,
};

/** The most runs or calls in one response. */
export const LISTED_MAX = 500;

/** A list that looks at each row reads larger pages, behind the first one. */
const FILTERED_PAGE = 500;

/**
 * Rows that one list looks at. A filter that matches few of a million runs would otherwise read them all for one
 * answer. The next list goes on behind them.
 */
const LOOKED_AT_MAX = 10_000;

export async function listRuns(
  world: World,
  filter: RunFilter & {
    readonly tenant: string;
    readonly limit: number;
    /** A cursor of an earlier list with the same filters; null: from the newest run. */
    readonly after: string | null;
  },
): Promise<Listed> {
  const { tenant, status, limit, since } = filter;
  const isFiltered = LOOKED_AT.some((name) => filter[name] !== null);
  const only = foundByWorld(filter);
  const isFound = Object.keys(only).length > 0;
  const runs: Summary[] = [];
  const damaged: Damaged[] = [];
  let { after } = filter;
  let next: string | null = null;
  let lookedAt = 0;
  do {
    const now = world.clock.now();
    const isLarge = isFiltered && (lookedAt > 0 || !isFound);
    const pageSize = isLarge ? Math.max(limit + 1, FILTERED_PAGE) : limit + 1;
    const page = await world.table.list({ tenant, status, limit: pageSize, after, now, only });
    damaged.push(...page.damaged);
    for (const [index, row] of page.rows.entries()) {
      if (!matches(world, row, filter)) continue;
      if (runs.length === limit) return { kind: "listed", runs, damaged, more: true, next };
      runs.push(summaryOf(row, { now, modelMs: world.limits.modelMs }));
      next = page.behind[index] ?? null;
    }
    after = page.next;
    lookedAt += page.rows.length;
    // A list begins with the latest change of status, and a run is not older than its status.
    const oldest = page.rows.at(-1)?.statusSince ?? Infinity;
    if (since !== null && oldest < since - SKEW_MS) break;
    if (isFiltered && after !== null && lookedAt >= LOOKED_AT_MAX) {
      return { kind: "listed", runs, damaged, more: true, next: after };
    }
  } while (after !== null);
  return { kind: "listed", runs, damaged, more: false, next: null };
}

/**
 * A world may find by themselves the runs whose IDs or keys begin so, the children of a run, or the runs of an agent. The run
 * of a schedule is one of its agent.
 */
function foundByWorld({ begins, status, agent, schedule, key, parent }: RunFilter): ListedOnly {
  if (begins !== null && status === null) return { beginsWith: begins };
  if (parent !== null) return { parent };
  const name = agent ?? schedule;
  const only = name === null ? {} : { agent: name };
  return key === null ? only : { ...only, keyBegins: key };
}

const LOOKED_AT = [
  "begins",
  "agent",
  "agentVersion",
  "phase",
  "schedule",
  "key",
  "named",
  "label",
  "parent",
  "crack",
  "since",
  "usdAbove",
] as const;

/** The two times of a row may come from processes whose clocks differ, by far less than this. */
const SKEW_MS = 3_600_000;

/**
 * A row may have the beginning of its key alone. So the whole key finds its run by the ID, which derives from the key, the
 * agent and the tenant.
 */
const isUnder = ({ hash }: Pick<World, "hash">, { run, tenant, agent, brief }: ListedRow, key: string): boolean =>
  brief?.startKey?.startsWith(key) === true || run === runId(hash, { tenant, agent, idempotencyKey: key });

function isNamed(world: Pick<World, "hash">, row: ListedRow, text: string): boolean {
  const { title = "", startKey = "" } = row.brief ?? {};
  const begins = (shown: string): boolean => shown.toLowerCase().startsWith(text.trim().toLowerCase());
  return begins(title) || begins(startKey) || isUnder(world, row, text);
}

function isLabelled({ brief }: ListedRow, wanted: readonly string[]): boolean {
  const own = new Set(Object.entries(brief?.labels ?? {}).map(([name, value]) => `${name}=${value}`.normalize()));
  return wanted.every((each) => own.has(each.normalize()));
}

function matches(
  world: Pick<World, "hash">,
  row: ListedRow,
  { begins, agent, agentVersion, phase, schedule, key, named, label, parent, crack, since, usdAbove }: RunFilter,
): boolean {
  return (
    (begins === null || row.run.startsWith(begins)) &&
    (agent === null || row.agent === agent) &&
    (agentVersion === null || row.agentVersion === agentVersion) &&
    (phase === null || row.phase === phase) &&
    (schedule === null || (row.agent === schedule && row.brief?.isScheduled === true)) &&
    (key === null || isUnder(world, row, key)) &&
    (named === null || isNamed(world, row, named)) &&
    (label === null || isLabelled(row, label)) &&
    (parent === null || row.parent?.run === parent) &&
    (crack === null || row.brief?.cracks.includes(crack) === true) &&
    (since === null || row.createdAt >= since) &&
    (usdAbove === null || row.spent.microUsd > usdAbove * 1e6)
  );
}
