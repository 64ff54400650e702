/**
 * Meetings of two processes on a row of DynamoDB: what one of them writes after the other has read the row, for every
 * operation and every state of a row.
 */
import { rowItem } from "../../../src/adapters/aws/table/item.ts";
import { rowInItem } from "../../../src/adapters/aws/table/item-reader.ts";
import { RowUnreadable } from "../../../src/codec/row.ts";
import type { RunTable } from "../../../src/ports/run-table.ts";
import {
  type Creation,
  type Row,
  decideCommit,
  newRow,
  hasEnded,
  decideRequest,
  wokenRow,
} from "../../../src/protocol/row.ts";
import { decideClaim, CLAIM } from "../../../src/protocol/row-claim.ts";
import { decideHandOver, HAND_OVER } from "../../../src/protocol/row-hand-over.ts";
import { decidePark, PARK } from "../../../src/protocol/row-park.ts";
import { decideRedrive, REDRIVE } from "../../../src/protocol/row-redrive.ts";
import { RESTORED_CHECK, decideRestoredCheck } from "../../../src/protocol/row-restored.ts";
import { decidePurge, PURGE } from "../../../src/protocol/row-removal.ts";
import { markEndNotified, END_NOTIFICATION } from "../../../src/protocol/row-end-notification.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { LEASE_MS, NOW, subject } from "../../../src/testing/conformance/run.ts";
import { type DynamoTable, dynamoTable } from "./dynamo-table.ts";

export const tableOf = (row: Row): DynamoTable => {
  const table = dynamoTable();
  table.put(rowItem(row));
  return table;
};
export const fixtures = (table: RunTable) => subject({ table, tenant: "acme" });
export const mine = fixtures({} as RunTable);
export const AFTER_LEASE = NOW + LEASE_MS + 1;
const EXPIRES_SEC = NOW / 1_000 + 3_600;

/** The creation without what the fixtures add for other requests. */
const creationOf = ({ limit: _, ...creation }: Creation & { readonly limit?: number }): Creation => creation;

type Outcome = { readonly kind: string; readonly row?: Row };

interface Operation {
  /** The decision on a row, for the request that was made when the row was `seen`. */
  readonly decide: (row: Row, seen: Row) => Outcome;
  readonly send: (table: RunTable, seen: Row) => Promise<Outcome>;
}

const claimOf = (seen: Row) => mine.claim({ epoch: seen.epoch, chain: seen.chain, owner: "a second owner" });
const retryOf = (seen: Row) => ({ ...mine.claim({ owner: "a retry", now: AFTER_LEASE }), entry: retried(seen) });
const retried = ({ entry }: Row) => ({ ...(entry ?? mine.claim().entry), retry: 7 });
export const releaseOf = (seen: Row) =>
  mine.commit(seen, { release: true, wakeAt: NOW + 5, deadline: NOW + 77, commitId: "the release", isProgress: true });
export const endOf = (seen: Row) =>
  mine.commit(seen, { ...{ status: "failed", phase: "Failed" }, release: true, unlessWoken: true });
const parkOf = (seen: Row) => mine.park(seen, { token: "a later token", retry: 3 });
const handOverOf = (seen: Row) => mine.handOver({ chain: seen.chain, now: AFTER_LEASE });
const tellOf = () => ({ ...mine.of, expiresAtSec: EXPIRES_SEC });
const checkOf = () => ({ ...mine.of, restoredAt: NOW + 5, by: "ada" });
const redriveOf = ({ epoch, version }: Row) => ({
  ...{ ...mine.of, epoch, version, note: { id: "r1", by: "ada", why: "it is back" }, deadline: NOW + 99 },
});

export const OPERATIONS: Readonly<Record<string, Operation>> = {
  claim: {
    decide: (row, seen) => decideClaim(row, claimOf(seen)),
    send: (table, seen) => table.decide(claimOf(seen), CLAIM),
  },
  "claim of a retry": {
    decide: (row, seen) => decideClaim(row, retryOf(seen)),
    send: (table, seen) => table.decide(retryOf(seen), CLAIM),
  },
  commit: {
    decide: (row, seen) => decideCommit(row, releaseOf(seen)),
    send: (table, seen) => table.decide(releaseOf(seen), COMMIT),
  },
  "terminal commit": {
    decide: (row, seen) => decideCommit(row, endOf(seen)),
    send: (table, seen) => table.decide(endOf(seen), COMMIT),
  },
  park: {
    decide: (row, seen) => decidePark(row, parkOf(seen)),
    send: (table, seen) => table.decide(parkOf(seen), PARK),
  },
  "hand-over": {
    decide: (row, seen) => decideHandOver(row, handOverOf(seen)),
    send: (table, seen) => table.decide(handOverOf(seen), HAND_OVER),
  },
  "report of an end": {
    decide: (row) => ({ kind: "notified", row: markEndNotified(row, tellOf()) }),
    send: (table) => table.decide(tellOf(), END_NOTIFICATION),
  },
  redrive: {
    decide: (row, seen) => decideRedrive(row, redriveOf(seen)),
    send: (table, seen) => table.decide(redriveOf(seen), REDRIVE),
  },
  "word about a restore": {
    decide: (row) => decideRestoredCheck(row, checkOf()),
    send: (table) => table.decide(checkOf(), RESTORED_CHECK),
  },
  purge: { decide: (row) => decidePurge(row), send: (table) => table.decide(mine.of, PURGE) },
};

/** What another process may have written meanwhile. An older version wrote the same, with expressions. */
const BETWEEN: Readonly<Record<string, (row: Row) => Outcome>> = {
  ...Object.fromEntries(Object.entries(OPERATIONS).map(([name, { decide }]) => [name, (row) => decide(row, row)])),
  message: (row) => ({ kind: "delivered", row: hasEnded(row) ? row : wokenRow(row, row.deadline + 1_000) }),
  "request to cancel": (row) => decideRequest(row, mine.request("cancel")),
  "request to pause": (row) => decideRequest(row, mine.request("pause")),
};
export const LANE = new Set(["message", "request to cancel", "request to pause"]);

export const queued = newRow(creationOf(mine.creation()));
export const rowAfter = (outcome: Outcome): Row => outcome.row as Row;
export const held = rowAfter(decideClaim(queued, mine.claim()));
const released = rowAfter(decideCommit(held, mine.commit(held, { release: true })));
const waiting = rowAfter(decidePark(released, mine.park(released)));
const failed = rowAfter(decideCommit(held, endOf(held)));
const delivered = markEndNotified(failed, tellOf());
const restored = rowAfter(
  decideHandOver(released, { ...handOverOf(released), restored: { at: NOW + 5, asOf: NOW - 5 } }),
);
export const ROWS = { queued, held, released, waiting, failed, delivered, restored };

function isPossible(row: Row): boolean {
  return !(rowInItem(rowItem(row)) instanceof RowUnreadable);
}

/** The stored row as the adapter reads it; null without one. */
export function stored(table: DynamoTable): unknown {
  const item = table.item(mine.run);
  return item === undefined ? null : rowInItem(item);
}

interface Meeting {
  readonly seen: Row;
  readonly between: string;
  /** The stored row after the other process has written. */
  readonly now: Row;
  readonly operation: Operation;
  readonly title: string;
}

/** All meetings in which the other process changes the row, and no decision makes a row that cannot be. */
export const MEETINGS = Object.entries(ROWS).flatMap(([state, seen]) =>
  Object.entries(BETWEEN).flatMap(([between, write]) => {
    const now = write(seen).row;
    if (now === undefined || now === seen || !isPossible(now)) return [];
    return Object.entries(OPERATIONS).flatMap(([name, operation]): readonly (readonly [string, Meeting])[] => {
      const { row } = operation.decide(now, seen);
      const title = `a ${name} after a ${between} of a row that was ${state}`;
      return row === undefined || isPossible(row) ? [[title, { seen, between, now, operation, title: name }]] : [];
    });
  }),
);

/** True if the decision on that row writes. */
export const writes = ({ operation }: Meeting, row: Row, seen: Row): boolean => {
  const outcome = operation.decide(row, seen);
  return outcome.kind === "purged" || (outcome.row !== undefined && outcome.row !== row);
};
