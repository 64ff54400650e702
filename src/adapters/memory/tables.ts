/**
 * RunTable and ObjectStore in memory: the same pure decisions of `protocol/row.ts` as every world, with nothing around
 * them. Values are copied at the border, as a store would: nobody can change what is stored by holding on to it.
 */
import {
  type Incarnation,
  type Of,
  type Refused,
  type Row,
  committed,
  hasEnded,
  isExpired,
  parked,
  present,
  requested,
  stirred,
  told,
} from "../../protocol/row.ts";
import { claimed } from "../../protocol/row-claim.ts";
import { handedOver } from "../../protocol/row-hand-over.ts";
import { type Turn, turnLeft, turnTaken } from "../../protocol/turn.ts";
import { placed, purged } from "../../protocol/row-removal.ts";
import type { Clock } from "../../ports/world.ts";
import type { ObjectStore } from "../../ports/object-store.ts";
import type { Message, Page, RunTable } from "../../ports/run-table.ts";

/** What a store of this world holds, for tests to look at. */
export interface MemoryStore {
  readonly id: string;
  readonly rows: Map<string, Row>;
  /** By run, incarnation and message id; what was removed from the inbox stays seen. */
  readonly messages: Map<string, { readonly of: Incarnation; readonly message: Message; read: boolean }>;
  readonly objects: Map<string, Uint8Array>;
  readonly turns: Map<string, Turn>;
  /** When each object was put; one that a test stored past the port has no time and counts as ancient. */
  readonly putAt: Map<string, number>;
  /** The stream: incarnations whose row was removed, in order. Whoever drives the world makes each a `cleanUp`. */
  readonly removed: Incarnation[];
  /** Removes every row whose time is over, as a store does by itself some time after. */
  expire(now: number): void;
}

export function memoryStore(id = "in memory"): MemoryStore {
  const rows = new Map<string, Row>();
  const removed: Incarnation[] = [];
  const expire = (now: number): void => {
    for (const row of [...rows.values()].filter((row) => isExpired(row, now))) remove({ rows, removed }, row);
  };
  return { id, rows, messages: new Map(), objects: new Map(), turns: new Map(), putAt: new Map(), removed, expire };
}

function remove({ rows, removed }: Pick<MemoryStore, "rows" | "removed">, { run, born }: Incarnation): void {
  rows.delete(run);
  removed.push({ run, born });
}

export function memoryRunTable(store: MemoryStore): RunTable {
  const { rows, messages, turns } = store;
  const decide = <O extends Refused | { readonly kind: string; readonly row: Row }>(
    of: Of,
    decision: (row: Row) => O,
  ): O | Refused => {
    const before = present(rows.get(of.run) ?? null, of);
    if ("kind" in before) return before;
    const outcome = decision(before);
    if ("row" in outcome) rows.set(of.run, outcome.row);
    return structuredClone(outcome);
  };
  return {
    create: async (creation) => {
      const outcome = placed(rows.get(creation.run) ?? null, creation);
      if (outcome.kind === "created") {
        if (outcome.over !== null) remove(store, outcome.over);
        rows.set(creation.run, structuredClone(outcome.row));
      }
      return { kind: outcome.kind, row: structuredClone(outcome.row) };
    },
    claim: async (claim) => decide(claim, (row) => claimed(row, claim)),
    commit: async (commit) => decide(commit, (row) => committed(row, structuredClone(commit))),
    park: async (park) => decide(park, (row) => parked(row, park)),
    deliver: async (delivery) =>
      decide(delivery, (row) => {
        const { message, deadline } = delivery;
        const id = idOf(delivery, message.id);
        if (messages.has(id)) return { kind: "duplicate" as const, row };
        if (hasEnded(row)) return { kind: "late" as const, row };
        const { run, born } = delivery;
        messages.set(id, { of: { run, born }, message: structuredClone(message), read: false });
        return { kind: "delivered" as const, row: stirred(row, deadline) };
      }),
    request: async (request) => decide(request, (row) => requested(row, request)),
    handOver: async (handOver) => decide(handOver, (row) => handedOver(row, handOver)),
    tell: async (of) => decide(of, (row) => ({ kind: "told" as const, row: told(row, of.expiresAtSec) })),
    purge: async (of) => {
      const before = present(rows.get(of.run) ?? null, of);
      if ("kind" in before) return before;
      const outcome = purged(before);
      if (outcome.kind === "purged") remove(store, before);
      return structuredClone(outcome);
    },
    read: async (run, now) => {
      const row = rows.get(run);
      return row === undefined || isExpired(row, now) ? null : structuredClone(row);
    },
    ...inboxOf(store),
    takeTurn: async (turn) => {
      const before = turns.get(turn.name) ?? null;
      const outcome = turnTaken(before, turn);
      if (outcome.kind === "taken") turns.set(turn.name, turnLeft(before, turn));
      return outcome;
    },
    cursorOf: async (name) => turns.get(name)?.cursor ?? null,
    list: async (query) => {
      const { tenant, status } = query;
      return pageOf(rows, query, (row) => row.tenant === tenant && (status === null || row.status === status));
    },
    alive: async (query) => pageOf(rows, query, (row) => !(hasEnded(row) && row.told)),
    storeId: async () => store.id,
  };
}

const idOf = ({ run, born }: Incarnation, id: string): string => JSON.stringify([run, born, id]);

function inboxOf({ rows, messages }: MemoryStore): Pick<RunTable, "inbox" | "clearInbox" | "forget"> {
  return {
    inbox: async (of) => {
      if ("kind" in present(rows.get(of.run) ?? null, of)) return [];
      const mine = [...messages.values()].filter((each) => !each.read && sameIncarnation(each.of, of));
      const found = mine.map(({ message }) => message);
      const sorted = found.toSorted((one, other) => one.sentAt - other.sentAt || compare(one.id, other.id));
      return structuredClone(sorted.slice(0, of.limit));
    },
    clearInbox: async (of) => {
      for (const id of of.ids) {
        const found = messages.get(idOf(of, id));
        if (found !== undefined) found.read = true;
      }
    },
    forget: async (of) => {
      for (const [id, item] of messages) if (sameIncarnation(item.of, of)) messages.delete(id);
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
    next: async (after) => {
      const [key] = [...objects.keys()].filter((key) => byBytes(key, after) > 0).toSorted(byBytes);
      return key === undefined ? null : { key, putAt: putAt.get(key) ?? 0 };
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

/** As stores order texts: JavaScript compares UTF-16 units, which puts some characters elsewhere. */
const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

/** Newest first; the cursor is where the page before ended, whatever became of the run that was there. */
function pageOf(
  rows: ReadonlyMap<string, Row>,
  query: { readonly limit: number; readonly after: string | null; readonly now: number },
  wanted: (row: Row) => boolean,
): Page {
  const [since, from] = query.after === null ? [Infinity, ""] : (JSON.parse(query.after) as [number, string]);
  const left = [...rows.values()]
    .filter((row) => !isExpired(row, query.now) && wanted(row))
    .filter((row) => row.statusSince < since || (row.statusSince === since && row.run < from))
    .toSorted((one, other) => other.statusSince - one.statusSince || compare(other.run, one.run));
  const page = left.slice(0, query.limit);
  const last = page.at(-1);
  const next = last !== undefined && query.limit < left.length ? JSON.stringify([last.statusSince, last.run]) : null;
  return { rows: structuredClone(page), next };
}

const sameIncarnation = (one: Incarnation, other: Incarnation): boolean =>
  one.run === other.run && one.born === other.born;

const compare = (one: string, other: string): number => Number(one > other) - Number(one < other);
