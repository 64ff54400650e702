/** Pages of rows: those of a tenant, and those that have not ended. They leave out journals that are beside their rows. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { sha256 } from "../../../codec/canonical.ts";
import { PHASES, PHASE_NAMES, type Status } from "../../../core/phases.ts";
import { RowUnreadable, parted } from "../../../codec/row.ts";
import type { Page, RunTable } from "../../../ports/run-table.ts";
import { runId } from "../../../protocol/ids.ts";
import { type Stored, rowInText, withoutParts } from "./row-text.ts";

interface Position {
  readonly since: number;
  readonly run: string;
}

/** A row on a page, with its position. A row that cannot be decoded has one too. */
type Placed = Stored & Position;

/** The position before all rows. Pages go from the newest to the oldest. */
const START: Position = { since: Number.MAX_SAFE_INTEGER, run: "" };

const FIELDS = "row, journal, parts, run, statusSince AS since";
const BEHIND = "(statusSince, run) < (:since, :from) AND (expiresAtSec IS NULL OR expiresAtSec * 1000 > :now)";
const STATUSES: readonly Status[] = ["queued", ...new Set(PHASE_NAMES.map((name) => PHASES[name].status))];

/**
 * The rows of each status are in order in the index over agents, so the first ones of each are merged: then no list reads
 * more rows the more runs the agent has.
 */
const ofEachStatus = STATUSES.map(
  (status) =>
    `SELECT * FROM (SELECT run AS id FROM runs WHERE tenant = :tenant AND agent = :agent AND status = '${status}'
     AND ${BEHIND} ORDER BY statusSince DESC, run DESC LIMIT :limit)`,
).join(" UNION ALL ");

const AGENTS = `WITH RECURSIVE known (agent) AS (
    SELECT min(agent) FROM runs WHERE tenant = :tenant
    UNION ALL SELECT (SELECT min(agent) FROM runs WHERE tenant = :tenant AND agent > known.agent) FROM known WHERE agent IS NOT NULL
  ) SELECT agent FROM known WHERE agent IS NOT NULL`;
const KEY_BEGINS = "tenant = :tenant AND startKey >= :key AND startKey < :key || char(0x10ffff)";
/** Of so many runs and more the newest are found among all of the tenant: to sort them takes longer. */
const SORTED_MAX = 2_000;

/** Prepares the statements that read pages of rows, newest first. */
export function pagesOf(db: DatabaseSync) {
  const page = (where: string, from = "runs"): StatementSync =>
    db.prepare(`SELECT ${FIELDS} FROM ${from} WHERE ${where} AND ${BEHIND}
                ORDER BY statusSince DESC, run DESC LIMIT :limit`);
  const all = page("tenant = :tenant");
  const ofStatus = page("tenant = :tenant AND status = :status");
  const alive = page("alive = 1");
  const ofAgent = page("true", `(${ofEachStatus}) CROSS JOIN runs ON run = id`);
  const ofAgentInStatus = page(
    "tenant = :tenant AND agent = :agent AND status = :status",
    "runs INDEXED BY runsByAgent",
  );
  const asking = page("tenant = :tenant AND status = :status AND asks = 1", "runs INDEXED BY runsAsking");
  // Few runs have one prefix: they are sorted.
  const named = page(
    "run >= :first AND run < :first || '~' AND +tenant = :tenant",
    "runs INDEXED BY sqlite_autoindex_runs_1",
  );

  const agents = db.prepare(AGENTS);
  const under = db.prepare(`SELECT run FROM runs INDEXED BY runsByKey WHERE ${KEY_BEGINS} LIMIT ${SORTED_MAX}`);
  const ofRuns = page(
    "tenant = :tenant AND coalesce(status = :status, true)",
    "json_each(:runs) CROSS JOIN runs ON run = value",
  );
  const ofParent = page(
    "parent = :parent AND +tenant = :tenant AND coalesce(+status = :status, true)",
    "runs INDEXED BY runsByParent",
  );
  /** The runs under keys that begin so; null: many. The ID of a run derives from its whole key, also where its row has a part of it. */
  const runsUnder = (tenant: string, key: string): readonly string[] | null => {
    const begun = under.all({ tenant, key }).map(({ run }) => String(run));
    if (begun.length === SORTED_MAX) return null;
    const whole = agents
      .all({ tenant })
      .map(({ agent }) => runId(sha256, { tenant, agent: String(agent), idempotencyKey: key }));
    return [...new Set([...begun, ...whole])];
  };

  type Query = { readonly limit: number; readonly after: string | null; readonly now: number };
  const turn = ({ limit, after, now }: Query, select: StatementSync, which: Record<string, string | null>): Page => {
    const { since, run: from } = after === null ? START : positionOf(after);
    // One row more than the limit shows whether another page follows.
    const found = select.all({ ...which, since, from, now, limit: limit + 1 }) as unknown as readonly Placed[];
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const next = found.length > limit && last !== undefined ? cursorOf(last) : null;
    const decoded = page.map((each) => rowInText(each, each.run, withoutParts));
    const behind = page.filter((_, index) => !(decoded[index] instanceof RowUnreadable)).map(cursorOf);
    return { ...parted(decoded), behind, next };
  };

  return {
    list: (query: Parameters<RunTable["list"]>[0]) => {
      const { tenant, status } = query;
      const { agent, beginsWith: first, keyBegins: key, parent, asking: isAsking } = query.only ?? {};
      if (first !== undefined) return turn(query, named, { tenant, first });
      if (parent !== undefined) return turn(query, ofParent, { tenant, parent, status });
      const runs = key === undefined ? null : runsUnder(tenant, key);
      if (runs !== null) return turn(query, ofRuns, { tenant, status, runs: JSON.stringify(runs) });
      if (isAsking === true && status !== null) return turn(query, asking, { tenant, status });
      if (agent !== undefined)
        return status === null
          ? turn(query, ofAgent, { tenant, agent })
          : turn(query, ofAgentInStatus, { tenant, agent, status });
      return status === null ? turn(query, all, { tenant }) : turn(query, ofStatus, { tenant, status });
    },
    alive: (query: Query) => turn(query, alive, {}),
  };
}

const cursorOf = ({ since, run }: Position): string =>
  Buffer.from(JSON.stringify([since, run] satisfies [number, string])).toString("base64url");

/** The position of a cursor. Cursors come from outside, so an unknown one gives an empty page, not an error. */
function positionOf(cursor: string): Position {
  const nowhere: Position = { since: Number.MIN_SAFE_INTEGER, run: "" };
  try {
    const [since, run] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as readonly unknown[];
    return typeof since === "number" && typeof run === "string" ? { since, run } : nowhere;
  } catch {
    return nowhere;
  }
}
