/**
 * Pages of runs. An index names the runs of a page and may lag a moment behind, so the page shows their rows, read
 * consistently. A run that has moved on meanwhile is left out; its new place lists it.
 *
 * Cursors come from outside. An unknown cursor gives an empty page, not an error.
 */
import { isTenant } from "../../../core/ids.ts";
import type { Status } from "../../../core/phases.ts";
import { type Found as FoundRow, RowUnreadable, parted } from "../../../codec/row.ts";
import { type Row, hasEnded, isExpired } from "../../../protocol/row.ts";
import type { Page, RunTable } from "../../../ports/run-table.ts";
import { ATTRIBUTES, type Attribute } from "./attributes.ts";
import type { Dynamo } from "./dynamo.ts";
import { fragment, number, textValue } from "./expression.ts";
import { type TableItem, itemKey } from "./item.ts";
import { rowInItem } from "./item-reader.ts";
import type { Rows } from "./rows.ts";
import type { StatusShards } from "./status-shards.ts";
import { ALIVE_SHARDS, ROW_ITEM, dueOf, tenantStatus } from "./keys.ts";

const STATUSES: { readonly [S in Status]: S } = {
  queued: "queued",
  running: "running",
  waiting: "waiting",
  paused: "paused",
  blocked: "blocked",
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
};

const NOTHING: Page = { rows: [], damaged: [], behind: [], next: null };

/** `AFTER_ALL` sorts after every `since`, `BEFORE_ALL` before every run. */
const AFTER_ALL = "~";
const BEFORE_ALL = " ";

/**
 * Lists runs, newest first. It merges the lists of all shards, and for any status those of all statuses; the order has
 * no ties. The first shards are read while the number of shards is.
 */
export async function listRows(
  { dynamo, shards }: { readonly dynamo: Dynamo; readonly shards: Pick<StatusShards, "read"> },
  query: Parameters<RunTable["list"]>[0],
): Promise<Page> {
  const { tenant, status, limit, after, now } = query;
  const before = after === null ? AFTER_ALL : SINCE.exec(fromCursor(after))?.[0];
  if (!isTenant(tenant) || limit < 1 || before === undefined) return NOTHING;
  const itemsIn = async (numbers: readonly number[]): Promise<readonly TableItem[]> => {
    const lists = (status === null ? Object.values(STATUSES) : [status]).flatMap((each) =>
      numbers.map((shard) => tenantStatus(tenant, each, shard)),
    );
    const pages = lists.map((key) => {
      const values = { ":tenantStatus": textValue(key), ":since": textValue(before) };
      const where = fragment("#tenantStatus = :tenantStatus AND #since < :since", values);
      // One item more than the limit shows whether another page follows.
      return dynamo.query({ index: "byStatus", where, limit: limit + 1, newestFirst: true });
    });
    return (await Promise.all(pages)).flat();
  };
  const [count, first] = await Promise.all([shards.read(), itemsIn([0])]);
  const later = await itemsIn(Array.from({ length: count - 1 }, (_, index) => index + 1));
  const found = [...first, ...later].map((item) => ({ run: textOf(item, "run"), position: textOf(item, "since") }));
  const inOrder = found.toSorted((one, other) => (one.position < other.position ? 1 : -1));
  const isMeant = (row: Row): boolean => !isExpired(row, now) && (status === null || row.status === status);
  const decode = async (item: TableItem) => rowInItem(unloadable(item));
  return pageOf(dynamo, { found: inOrder, limit, only: LISTED, decode, isMeant });
}

/**
 * Lists runs that have not ended, shard after shard. It reads whole rows, since the sweeper loads what it finds.
 */
export async function alive(
  { dynamo, rows }: { readonly dynamo: Dynamo; readonly rows: Rows },
  query: Parameters<RunTable["alive"]>[0],
): Promise<Page> {
  const { limit, now } = query;
  const order = orderOf(query);
  if (order === null || limit < 1) return NOTHING;
  const found: Found[] = [];
  let { behind } = order;
  for (let { shard } = order; shard < ALIVE_SHARDS && found.length <= limit; shard += 1) {
    const values = { ":shard": number(shard), ":behind": textValue(behind) };
    const where =
      order.index === "alive"
        ? fragment("#alive = :shard AND #run > :behind", values)
        : fragment("#alive = :shard AND #due BETWEEN :behind AND :by", { ...values, ":by": textValue(order.by) });
    const items = await dynamo.query({ index: order.index, where, limit: limit + 1 - found.length });
    found.push(
      ...items.map((item) => ({ run: textOf(item, "run"), position: `${shard}/${textOf(item, order.sort)}` })),
    );
    behind = BEFORE_ALL;
  }
  const isMeant = (row: Row): boolean => !isExpired(row, now) && !(hasEnded(row) && row.endNotified);
  return pageOf(dynamo, { found, limit, only: null, decode: (item) => rows.found(item), isMeant });
}

/** Where a page begins, in the order of one of the two indexes. */
type Order = { readonly shard: number; readonly behind: string } & (
  | { readonly index: "alive"; readonly sort: "run" }
  | { readonly index: "due"; readonly sort: "due"; readonly by: string }
);

/** A cursor goes on in the index that it is from. Null: it is from no index. */
function orderOf({ after, now, dueBy }: Parameters<RunTable["alive"]>[0]): Order | null {
  const all = { index: "alive", sort: "run" } as const;
  const due = { index: "due", sort: "due", by: dueOf(dueBy ?? now, AFTER_ALL) } as const;
  if (after === null) return { ...(dueBy === undefined ? all : due), shard: 0, behind: BEFORE_ALL };
  const [, shard, moment, run] = IN_SHARD.exec(fromCursor(after)) ?? [];
  if (run === undefined || Number(shard) >= ALIVE_SHARDS) return null;
  if (moment === undefined) return { ...all, shard: Number(shard), behind: run };
  // `BETWEEN` includes both ends, and no key lies between this one and the last one of the page before.
  return { ...due, shard: Number(shard), behind: `${moment}${run} ` };
}

/** A run that an index names, and its position in that index. */
interface Found {
  readonly run: string;
  readonly position: string;
}

async function pageOf(
  dynamo: Dynamo,
  listing: {
    readonly found: readonly Found[];
    readonly limit: number;
    readonly only: readonly Attribute[] | null;
    readonly decode: (item: TableItem) => Promise<FoundRow | null>;
    readonly isMeant: (row: Row) => boolean;
  },
): Promise<Page> {
  const page = listing.found.slice(0, listing.limit);
  const runs = [...new Set(page.map(({ run }) => run))];
  const items = await dynamo.getAll(
    runs.map((run) => itemKey(run, ROW_ITEM)),
    listing.only,
  );
  const rowsFound = await Promise.all(
    items.map(async (item) => [textOf(item, "run"), await listing.decode(item)] as const),
  );
  const stored = new Map(rowsFound);
  const decoded = runs.flatMap((run) => stored.get(run) ?? []);
  const meant = decoded.filter((each) => each instanceof RowUnreadable || listing.isMeant(each));
  const { rows, damaged } = parted(meant);
  const positions = new Map(page.map(({ run, position }) => [run, position]));
  const last = page.at(-1);
  return {
    rows,
    damaged,
    behind: rows.map(({ run }) => toCursor(positions.get(run) ?? "")),
    next: listing.found.length > listing.limit && last !== undefined ? toCursor(last.position) : null,
  };
}

const LISTED = (Object.keys(ATTRIBUTES) as readonly Attribute[]).filter((attribute) => attribute !== "journal");

/** Gives a row without its journal bytes that are no journal. Otherwise a reader could believe that it has none. */
const unloadable = (item: TableItem): TableItem => ({ ...item, [ATTRIBUTES.journal]: { B: new Uint8Array() } });

const textOf = (item: TableItem, attribute: Attribute): string => item[ATTRIBUTES[attribute]]?.S ?? "";

const SINCE = /^\d{15}[a-z2-7]{26}$/;
const IN_SHARD = /^(\d{1,2})\/(\d{15})?([a-z0-9]{1,24}-[a-z2-7]{26})$/;

const toCursor = (position: string): string => Buffer.from(position).toString("base64url");
const fromCursor = (cursor: string): string => Buffer.from(cursor, "base64url").toString();
