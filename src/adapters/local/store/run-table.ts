/**
 * RunTable on SQLite. Every operation is one IMMEDIATE transaction around a pure decision of `protocol/row.ts`. No
 * other process writes between its read and its write. So of fifty concurrent claims one wins (schedule 1). And no
 * message arrives between a test of `wakeCount` and the end of the run (schedules 12 and 13).
 */
import type { DatabaseSync } from "node:sqlite";
import {
  type Creation,
  type RunRef,
  type Refused,
  type Row,
  hasEnded,
  isExpired,
  decideRequest,
  wokenRow,
} from "../../../protocol/row.ts";
import {
  type ChildAnswer,
  type ChildrenCreation,
  type ChildrenOutcome,
  decideChild,
  mayMakeChildren,
} from "../../../protocol/row-children.ts";
import { rowToWrite } from "../../../protocol/row-decision.ts";
import { type ChildFence, type FenceOutcome, decideFence } from "../../../protocol/row-fence.ts";
import { repetition } from "../../../protocol/repetition.ts";
import { type MutexLease, storedMutexLease, decideMutexLease } from "../../../protocol/mutex-lease.ts";
import { decideCreate } from "../../../protocol/row-removal.ts";
import { mayAsk } from "../../../protocol/row-brief.ts";
import { type Found, RowUnreadable, presentIn, undamaged } from "../../../codec/row.ts";
import type { DeliverOutcome, Delivery, Inbox } from "../../../ports/inbox.ts";
import type { MutexLeases } from "../../../ports/mutex-leases.ts";
import type { CreateOutcome, RunTable } from "../../../ports/run-table.ts";
import { type Store, atomically, durably, inOneRead, reaching } from "./database.ts";
import { parseStored } from "./store-errors.ts";
import { messagesOf } from "./messages.ts";
import { rowRemover } from "./removals.ts";
import { rowMemoOf } from "./row-memo.ts";
import { pagesOf } from "./row-pages.ts";
import type { Stored } from "./row-text.ts";
import { type Tombstones, tombstonesOf } from "./tombstones.ts";

export function sqliteRunTable(store: Store): RunTable {
  const rows = rowsOf(store.rows);
  const pages = pagesOf(store.rows);
  const messages = messagesOf(store.rows);
  const tombstones = tombstonesOf(store);

  const decided = deciderOf(rows);
  const decide: Decider = (ref, decision) => atomically(store, () => decided(ref, decision));

  return {
    create: async (creation) => atomically(store, () => create(creation, { rows, tombstones })),
    createChildren: async (creation) => atomically(store, () => createChildren(creation, { rows, messages })),
    fenceChild: async (fence) => atomically(store, () => fenceChild(fence, rows)),
    decide: async (asked, { decision, replaces, durable }) => {
      const access = () => {
        const before = presentIn(rows.find(asked.run), asked);
        if ("kind" in before) return before;
        const outcome = decision(before, asked);
        const row = rowToWrite(before, outcome, replaces?.(asked) ?? []);
        if (row !== null) rows.update(before, row);
        if (outcome.removes === true) rows.remove(before, asked.now);
        return outcome;
      };
      const wait = durable?.(asked) ?? "now";
      return wait === "shared" ? durably(store, asked.run, access) : atomically(store, access, wait);
    },
    request: async (request) => decide(request, (row) => decideRequest(row, request)),
    ...tombstones.operations,
    read: async (run, now) => {
      const row = undamaged(reaching(store, () => rows.find(run)));
      return row === null || isExpired(row, now) ? null : row;
    },
    list: async (query) => reaching(store, () => pages.list(query)),
    alive: async (query) => reaching(store, () => pages.alive(query)),
    storeId: async () => store.id,
  };
}

type Decider = <O extends { readonly kind: string; readonly row?: Row }>(
  ref: RunRef,
  decision: (row: Row) => O,
) => O | Refused;

/** Applies a decision inside a transaction. A decision that changes nothing returns the same row object. */
const deciderOf =
  (rows: Rows): Decider =>
  (ref, decision) => {
    const before = presentIn(rows.find(ref.run), ref);
    if ("kind" in before) return before;
    const outcome = decision(before);
    if (outcome.row !== undefined && outcome.row !== before) rows.update(before, outcome.row);
    return outcome;
  };

export function sqliteInbox(store: Store): Inbox {
  const rows = rowsOf(store.rows);
  const messages = messagesOf(store.rows);
  const decided = deciderOf(rows);
  const decide: Decider = (ref, decision) => atomically(store, () => decided(ref, decision));
  return {
    deliver: async (delivery) => decide(delivery, (row) => deliver(row, { delivery, messages })),
    unread: async (query) =>
      reaching(store, () =>
        "kind" in presentIn(rows.find(query.run), query) ? [] : messages.unread(query, query.limit),
      ),
    clear: async (read) =>
      atomically(store, () => {
        for (const id of read.ids) messages.clear(read, id);
      }),
    // The entry of the removed run goes after its messages, so a power loss that takes this back leaves the entry too.
    forget: async (incarnation) => atomically(store, () => messages.forget(incarnation), "later"),
  };
}

export function sqliteMutexLeases(store: Store): MutexLeases {
  const turns = turnsOf(store.rows, store.dir);
  return {
    take: async (turn) =>
      atomically(store, () => {
        const before = turns.find(turn.name);
        const outcome = decideMutexLease(before, turn);
        if (outcome.kind === "taken") turns.put(storedMutexLease(before, turn));
        return outcome;
      }),
    cursorOf: async (name) => reaching(store, () => turns.find(name)?.cursor ?? null),
  };
}

type Rows = ReturnType<typeof rowsOf>;
type Messages = ReturnType<typeof messagesOf>;

function create(
  creation: Creation,
  { rows, tombstones }: { readonly rows: Rows; readonly tombstones: Tombstones },
): CreateOutcome {
  const found = rows.find(creation.run);
  if (found instanceof RowUnreadable) return found.refused;
  const outcome = decideCreate(found, tombstones.find(creation.run), creation);
  if (outcome.kind === "ended") return outcome;
  const { kind, row } = outcome;
  if (outcome.kind === "created") {
    if (outcome.over !== null) rows.remove(outcome.over, creation.now);
    rows.insert(row);
  }
  return { kind, row };
}

function createChildren(
  creating: ChildrenCreation,
  on: { readonly rows: Rows; readonly messages: Messages },
): ChildrenOutcome {
  const { rows, messages } = on;
  const parent = presentIn(rows.find(creating.run), creating);
  if ("kind" in parent) return parent;
  if (!mayMakeChildren(parent, creating)) return { kind: "fenced", row: parent };
  const children = creating.children.map(({ creation, reportId, isLeft }): ChildAnswer => {
    const found = rows.find(creation.run);
    if (found instanceof RowUnreadable) return { kind: "unreadable", why: found.message };
    const answer = decideChild(found, { isSeen: messages.seen(creating, reportId) !== null, creation });
    if (answer.kind === "created") {
      rows.insert(answer.row);
      if (isLeft) messages.see(creating, reportId);
    }
    return answer;
  });
  return { kind: "made", children };
}

function fenceChild(fence: ChildFence, rows: Rows): FenceOutcome {
  const parent = presentIn(rows.find(fence.run), fence);
  if ("kind" in parent) return parent;
  if (!mayMakeChildren(parent, fence)) return { kind: "refused", row: parent };
  const found = rows.find(fence.child);
  if (found instanceof RowUnreadable) return { kind: "childUnreadable", why: found.message };
  const answer = decideFence(found, fence);
  if (answer.kind === "fenced" && found !== null) rows.update(found, answer.row);
  return answer;
}

type Delivered = Extract<DeliverOutcome, { readonly kind: "delivered" | "duplicate" | "conflict" | "late" }>;

/**
 * Delivers a message. Schedule 10: a sender dies between the message and the wake-up, and its retry is only a
 * duplicate; so both are one transaction.
 */
function deliver(
  row: Row,
  { delivery, messages }: { readonly delivery: Delivery; readonly messages: Messages },
): Delivered {
  const seen = messages.seen(delivery, delivery.message.id);
  if (seen !== null) return { kind: repetition(seen.digest, delivery.digest ?? null), row };
  if (hasEnded(row)) return { kind: "late", row };
  messages.add(delivery);
  return { kind: "delivered", row: wokenRow(row, delivery.deadline) };
}

function rowsOf(db: DatabaseSync) {
  const select = db.prepare("SELECT row, journal, parts FROM runs WHERE run = ?");
  const insert = db.prepare(
    `INSERT INTO runs (run, tenant, agent, asks, status, statusSince, alive, expiresAtSec, startKey, parent, row, journal, parts)
     VALUES (:run, :tenant, :agent, :asks, :status, :statusSince, :alive, :expiresAtSec, :startKey, :parent, :row, :journal,
       :parts)`,
  );
  const update = db.prepare("UPDATE runs SET row = :row, journal = :journal, parts = :parts WHERE run = :run");
  const index = db.prepare(
    `UPDATE runs SET asks = :asks, status = :status, statusSince = :statusSince, alive = :alive,
     expiresAtSec = :expiresAtSec WHERE run = :run`,
  );

  const memo = rowMemoOf(db);
  const written = (row: Row, before: Row | null) => ({ run: row.run, ...memo.written(row, before) });
  const indexed = (row: Row) => ({
    asks: mayAsk(row) ? 1 : 0,
    status: row.status,
    statusSince: row.statusSince,
    alive: hasEnded(row) && row.endNotified ? 0 : 1,
    expiresAtSec: row.expiresAtSec,
  });

  return {
    find: (run: string): Found | null => {
      const stored = select.get(run) as Stored | undefined;
      const known = stored === undefined ? null : memo.known(stored, run);
      if (stored === undefined || known !== null) return known;
      return inOneRead(db, () => {
        const now = select.get(run) as Stored | undefined;
        return now === undefined ? null : memo.read(now, run);
      });
    },
    insert: (row: Row): void => {
      const { tenant, agent } = row;
      const [startKey, parent] = [row.brief?.startKey ?? null, row.parent?.run ?? null];
      insert.run({ ...written(row, null), ...indexed(row), tenant, agent, startKey, parent });
    },
    /** Writes the index columns only if they change, since SQLite does not log a page that is not touched. */
    update: (before: Row, row: Row): void => {
      update.run(written(row, before));
      const isSame = row.status === before.status && row.statusSince === before.statusSince;
      if (!isSame || row.endNotified !== before.endNotified || mayAsk(row) !== mayAsk(before))
        index.run({ ...indexed(row), run: row.run });
    },
    /** Removes a row, and reports it in the same transaction. */
    remove: rowRemover(db),
  };
}

function turnsOf(db: DatabaseSync, dir: string) {
  const select = db.prepare("SELECT turn FROM turns WHERE name = ?");
  const put = db.prepare("INSERT INTO turns (name, turn) VALUES (?, ?) ON CONFLICT DO UPDATE SET turn = excluded.turn");
  return {
    find: (name: string): MutexLease | null => {
      const found = select.get(name) as { readonly turn: string } | undefined;
      return found === undefined ? null : (parseStored(dir, found.turn) as MutexLease);
    },
    put: (turn: MutexLease): void => {
      put.run(turn.name, JSON.stringify(turn));
    },
  };
}
