/** Pages of rows: those of a tenant, and those that have not ended. They leave out journals that are beside their rows. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { RowUnreadable, parted } from "../../../codec/row.ts";
import type { Page, RunTable } from "../../../ports/run-table.ts";
import { type Stored, rowOf, withoutParts } from "./row-text.ts";

interface Position {
  readonly since: number;
  readonly run: string;
}

/** A row on a page, with its position. A row that cannot be decoded has one too. */
type Placed = Stored & Position;

/** The position before all rows. Pages go from the newest to the oldest. */
const START: Position = { since: Number.MAX_SAFE_INTEGER, run: "" };

/** Prepares the statements that read pages of rows, newest first. */
export function pagesOf(db: DatabaseSync) {
  const page = (where: string): StatementSync =>
    db.prepare(
      `SELECT row, journal, parts, run, statusSince AS since FROM runs
       WHERE ${where} AND (statusSince, run) < (:since, :from) AND (expiresAtSec IS NULL OR expiresAtSec * 1000 > :now)
       ORDER BY statusSince DESC, run DESC LIMIT :limit`,
    );
  const all = page("tenant = :tenant");
  const ofStatus = page("tenant = :tenant AND status = :status");
  const alive = page("alive = 1");

  type Query = { readonly limit: number; readonly after: string | null; readonly now: number };
  const turn = ({ limit, after, now }: Query, select: StatementSync, which: Record<string, string>): Page => {
    const { since, run: from } = after === null ? START : positionOf(after);
    // One row more than the limit shows whether another page follows.
    const found = select.all({ ...which, since, from, now, limit: limit + 1 }) as unknown as readonly Placed[];
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const next = found.length > limit && last !== undefined ? cursorOf(last) : null;
    const decoded = page.map((each) => rowOf(each, each.run, withoutParts));
    const behind = page.filter((_, index) => !(decoded[index] instanceof RowUnreadable)).map(cursorOf);
    return { ...parted(decoded), behind, next };
  };

  return {
    list: (query: Parameters<RunTable["list"]>[0]) => {
      const { tenant, status } = query;
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
