/**
 * RunTable and ObjectStore in memory: the pure decisions of `protocol/row.ts`, on copies, as in a real store.
 */
import {
  type Incarnation,
  type RunRef,
  type Refused,
  type Row,
  hasEnded,
  isExpired,
  decideRequest,
  wokenRow,
} from "../../protocol/row.ts";
import { isRowDue } from "../../protocol/due.ts";
import { rowToWrite } from "../../protocol/row-decision.ts";
import {
  type ChildAnswer,
  type ChildrenCreation,
  type ChildrenOutcome,
  decideChild,
  mayMakeChildren,
} from "../../protocol/row-children.ts";
import { type ChildFence, type FenceOutcome, decideFence } from "../../protocol/row-fence.ts";
import type { Status } from "../../core/phases.ts";
import { repetition } from "../../protocol/repetition.ts";
import { type MutexLease, storedMutexLease, decideMutexLease } from "../../protocol/mutex-lease.ts";
import { decideCreate } from "../../protocol/row-removal.ts";
import { type Found, RowUnreadable, decodeRow, parted, presentIn, undamaged } from "../../codec/row.ts";
import { type Tombstone, isKept, newerTombstone } from "../../protocol/tombstone.ts";
import { isRecordExpired } from "../../ports/records.ts";
import { type MemoryDeltas, memoryDeltas } from "./delta-log.ts";
import type { MemoryRecords } from "./records.ts";
import type { Clock } from "../../ports/world.ts";
import type { ObjectStore } from "../../ports/object-store.ts";
import type { Inbox, InboxMessage } from "../../ports/inbox.ts";
import type { MutexLeases } from "../../ports/mutex-leases.ts";
import type { Page, RunTable } from "../../ports/run-table.ts";

/** The content of an in-memory store, which tests may read and change. */
export interface MemoryStore {
  readonly id: string;
  readonly rows: Map<string, Row>;
  /** By run, incarnation and message ID. A message that is removed from the inbox keeps its ID and digest. */
  readonly messages: Map<string, KeptMessage>;
  readonly objects: Map<string, Uint8Array>;
  readonly turns: Map<string, MutexLease>;
  readonly records: MemoryRecords;
  readonly deltas: MemoryDeltas;
  readonly tombstones: Map<string, Tombstone>;
  /** When each object was put. An object that a test stored past the port has no time, and counts as very old. */
  readonly putAt: Map<string, number>;
  /** The stream: incarnations whose row was removed, in order. The driver of the world turns each into a `cleanUp`. */
  readonly removed: Incarnation[];
  /** Removes every expired row and tombstone, as other stores do by themselves some time later. */
  expire(now: number): void;
}

interface KeptMessage {
  readonly of: Incarnation;
  message: InboxMessage | null;
  readonly digest: string | null;
}

/** An empty store. Stores that are used together need the same `id`. */
export function memoryStore(id = "in memory"): MemoryStore {
  const rows = new Map<string, Row>();
  const tombstones = new Map<string, Tombstone>();
  const removed: Incarnation[] = [];
  const records: MemoryRecords = new Map();
  const empty = {
    messages: new Map(),
    objects: new Map(),
    turns: new Map(),
    records,
    putAt: new Map(),
    deltas: memoryDeltas(),
  };
  const expire = (now: number): void => {
    for (const run of rows.keys()) {
      const found = findIn(rows, run);
      if (found !== null && !(found instanceof RowUnreadable) && isExpired(found, now))
        remove({ rows, removed }, found);
    }
    for (const [run, tombstone] of tombstones) if (!isKept(tombstone, now)) tombstones.delete(run);
    for (const [key, record] of empty.records) if (isRecordExpired(record, now)) empty.records.delete(key);
  };
  return { id, rows, tombstones, ...empty, removed, expire };
}

function remove({ rows, removed }: Pick<MemoryStore, "rows" | "removed">, { run, born }: Incarnation): void {
  rows.delete(run);
  removed.push({ run, born });
}

const isListed = (found: Found, { tenant, status }: { readonly tenant: string; readonly status: Status | null }) =>
  found instanceof RowUnreadable
    ? found.run.startsWith(`${tenant}-`)
    : found.tenant === tenant && (status === null || found.status === status);

/** A test may have stored something that is not a row. */
function findIn(rows: ReadonlyMap<string, Row>, run: string): Found | null {
  const stored = rows.get(run);
  return stored === undefined ? null : decodeRow(stored, run);
}

/** Applies a decision to the stored row. */
const decider =
  ({ rows }: MemoryStore) =>
  <O extends Refused | { readonly kind: string; readonly row: Row }>(
    ref: RunRef,
    decision: (row: Row) => O,
  ): O | Refused => {
    const before = presentIn(findIn(rows, ref.run), ref);
    if ("kind" in before) return before;
    const outcome = decision(before);
    if ("row" in outcome) rows.set(ref.run, outcome.row);
    return structuredClone(outcome);
  };

/** The run table of an in-memory store. Its writes are never `ambiguous`. */
export function memoryRunTable(store: MemoryStore): RunTable {
  const { rows } = store;
  const find = (run: string): Found | null => findIn(rows, run);
  const decide = decider(store);
  return {
    create: async (creation) => {
      const found = find(creation.run);
      if (found instanceof RowUnreadable) return found.refused;
      const outcome = decideCreate(found, store.tombstones.get(creation.run) ?? null, creation);
      if (outcome.kind === "ended") return structuredClone(outcome);
      if (outcome.kind === "created") {
        if (outcome.over !== null) remove(store, outcome.over);
        rows.set(creation.run, structuredClone(outcome.row));
      }
      return { kind: outcome.kind, row: structuredClone(outcome.row) };
    },
    createChildren: async (creation) => createChildren(store, creation),
    fenceChild: async (fence) => fenceChild(store, fence),
    decide: async (asked, { decision, replaces }) => {
      const before = presentIn(find(asked.run), asked);
      if ("kind" in before) return before;
      const outcome = decision(before, structuredClone(asked));
      const row = rowToWrite(before, outcome, replaces?.(asked) ?? []);
      if (row !== null) rows.set(asked.run, row);
      if (outcome.removes === true) remove(store, before);
      return structuredClone(outcome);
    },
    request: async (request) => decide(request, (row) => decideRequest(row, request)),
    read: async (run, now) => {
      const row = undamaged(find(run));
      return row === null || isExpired(row, now) ? null : structuredClone(row);
    },
    ...keysOf(store),
    list: async (query) => {
      const { tenant, status } = query;
      return pageOf(rows, query, (found) => isListed(found, { tenant, status }));
    },
    alive: async ({ dueBy = Infinity, ...query }) =>
      pageOf(rows, query, (found) => found instanceof RowUnreadable || isRowDue(found, dueBy)),
    storeId: async () => store.id,
  };
}

function createChildren(store: MemoryStore, creating: ChildrenCreation): ChildrenOutcome {
  const { rows, messages } = store;
  const parent = presentIn(findIn(rows, creating.run), creating);
  if ("kind" in parent) return parent;
  if (!mayMakeChildren(parent, creating)) return { kind: "fenced", row: structuredClone(parent) };
  const children = creating.children.map(({ creation, reportId, isLeft }): ChildAnswer => {
    const found = findIn(rows, creation.run);
    if (found instanceof RowUnreadable) return { kind: "unreadable", why: found.message };
    const id = idOf(creating, reportId);
    const answer = decideChild(found, { isSeen: messages.has(id), creation });
    if (answer.kind === "created") {
      rows.set(creation.run, structuredClone(answer.row));
      if (isLeft) messages.set(id, { of: { run: creating.run, born: creating.born }, message: null, digest: null });
    }
    return structuredClone(answer);
  });
  return { kind: "made", children };
}

function fenceChild({ rows }: MemoryStore, fence: ChildFence): FenceOutcome {
  const parent = presentIn(findIn(rows, fence.run), fence);
  if ("kind" in parent) return parent;
  if (!mayMakeChildren(parent, fence)) return { kind: "refused", row: structuredClone(parent) };
  const found = findIn(rows, fence.child);
  if (found instanceof RowUnreadable) return { kind: "childUnreadable", why: found.message };
  const answer = decideFence(found, fence);
  if (answer.kind === "fenced") rows.set(fence.child, structuredClone(answer.row));
  return structuredClone(answer);
}

export const memoryMutexLeases = ({ turns }: MemoryStore): MutexLeases => ({
  take: async (turn) => {
    const before = turns.get(turn.name) ?? null;
    const outcome = decideMutexLease(before, turn);
    if (outcome.kind === "taken") turns.set(turn.name, storedMutexLease(before, turn));
    return outcome;
  },
  cursorOf: async (name) => turns.get(name)?.cursor ?? null,
});

function keysOf({ tombstones }: MemoryStore): Pick<RunTable, "keepKey" | "forgetKey" | "readKey"> {
  return {
    keepKey: async (tombstone) => {
      const { run } = tombstone;
      tombstones.set(run, newerTombstone(tombstones.get(run) ?? null, structuredClone(tombstone)));
      return { kind: "kept" };
    },
    forgetKey: async ({ run, born }) => {
      if (tombstones.get(run)?.born === born) tombstones.delete(run);
      return { kind: "forgotten" };
    },
    readKey: async (run, now) => {
      const found = tombstones.get(run);
      return found === undefined || !isKept(found, now) ? null : structuredClone(found);
    },
  };
}

const idOf = ({ run, born }: Incarnation, id: string): string => JSON.stringify([run, born, id]);

export function memoryInbox(store: MemoryStore): Inbox {
  const { rows, messages } = store;
  const decide = decider(store);
  return {
    deliver: async (delivery) =>
      decide(delivery, (row) => {
        const { message, deadline, digest = null } = delivery;
        const id = idOf(delivery, message.id);
        const seen = messages.get(id);
        if (seen !== undefined) return { kind: repetition(seen.digest, digest), row };
        if (hasEnded(row)) return { kind: "late" as const, row };
        const { run, born } = delivery;
        messages.set(id, { of: { run, born }, message: structuredClone(message), digest });
        return { kind: "delivered" as const, row: wokenRow(row, deadline) };
      }),
    unread: async (query) => {
      if ("kind" in presentIn(findIn(rows, query.run), query)) return [];
      const mine = [...messages.values()].filter((each) => sameIncarnation(each.of, query));
      const found = mine.flatMap(({ message }) => (message === null ? [] : [message]));
      const sorted = found.toSorted((one, other) => one.sentAt - other.sentAt || byBytes(one.id, other.id));
      return structuredClone(sorted.slice(0, query.limit));
    },
    clear: async (read) => {
      for (const id of read.ids) {
        const found = messages.get(idOf(read, id));
        if (found !== undefined) found.message = null;
      }
    },
    forget: async (incarnation) => {
      for (const [id, item] of messages) if (sameIncarnation(item.of, incarnation)) messages.delete(id);
    },
  };
}

export function memoryObjectStore({ id, objects, putAt }: MemoryStore, clock: Pick<Clock, "now">): ObjectStore {
  return {
    put: async (key, bytes) => {
      if (objects.has(key)) return { kind: "exists" };
      objects.set(key, Uint8Array.from(bytes));
      putAt.set(key, clock.now());
      return { kind: "stored" };
    },
    get: async (key) => {
      const found = objects.get(key);
      return found === undefined ? null : Uint8Array.from(found);
    },
    keysAfter: async (after, limit) => {
      const keys = [...objects.keys()].filter((key) => byBytes(key, after) > 0).toSorted(byBytes);
      return keys.slice(0, limit).map((key) => ({ key, putAt: putAt.get(key) ?? 0 }));
    },
    removeUnder: async (prefix) => {
      for (const key of [...objects.keys()].filter((key) => key.startsWith(prefix))) {
        objects.delete(key);
        putAt.delete(key);
      }
    },
    storeId: async () => id,
  };
}

/** The order of texts in stores. JavaScript compares UTF-16 units, which orders some characters differently. */
const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

/**
 * A page, newest first. The cursor is the position at which the previous page ended, whatever became of the run there.
 * Damaged rows come last and are on the pages of every status, since neither their time nor their status is known.
 */
function pageOf(
  rows: ReadonlyMap<string, Row>,
  query: { readonly limit: number; readonly after: string | null; readonly now: number },
  wanted: (found: Found) => boolean,
): Page {
  const none = query.after === null ? Infinity : -Infinity;
  const [, since = none, from = ""] = /^\[(-?\d+),"([a-z0-9-]+)"\]$/.exec(query.after ?? "") ?? [];
  const left = [...rows.keys()]
    .flatMap((run) => findIn(rows, run) ?? [])
    .filter((found) => wanted(found) && (found instanceof RowUnreadable || !isExpired(found, query.now)))
    .filter((found) => sinceOf(found) < +since || (sinceOf(found) === +since && found.run < from))
    .toSorted((one, other) => sinceOf(other) - sinceOf(one) || byBytes(other.run, one.run));
  const page = left.slice(0, query.limit);
  const last = page.at(-1);
  const { rows: sound, damaged } = parted(page);
  const next = last !== undefined && query.limit < left.length ? cursorOf(last) : null;
  return { rows: structuredClone(sound), damaged, behind: sound.map(cursorOf), next };
}

type Placed = Pick<Row, "run" | "statusSince"> | RowUnreadable;
const sinceOf = (found: Placed): number => (found instanceof RowUnreadable ? -1 : found.statusSince);
const cursorOf = (found: Placed): string => JSON.stringify([sinceOf(found), found.run]);
const sameIncarnation = (one: Incarnation, other: Incarnation): boolean =>
  one.run === other.run && one.born === other.born;
