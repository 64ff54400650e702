/**
 * RunTable on DynamoDB. Each operation is one conditional write of one item, or one transaction. DynamoDB says whether
 * the write was refused. The same pure decision as in every world says what a refusal means, on the row that it
 * returns. So of fifty concurrent claims one wins (schedule 1), and no stale read decides anything.
 */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { isRunId } from "../../core/ids.ts";
import { ensure } from "../../core/ensure.ts";
import {
  type Creation,
  type RunRef,
  type Refused,
  type Row,
  decideCommit,
  newRow,
  isExpired,
  decideRequest,
} from "../../protocol/row.ts";
import { decidePark } from "../../protocol/row-park.ts";
import { decideClaim } from "../../protocol/row-claim.ts";
import { decideHandOver } from "../../protocol/row-hand-over.ts";
import { decideRedrive } from "../../protocol/row-redrive.ts";
import { markEndNotified } from "../../protocol/row-end-notification.ts";
import { type PurgeOutcome, expiryThreshold, decideCreate, decidePurge } from "../../protocol/row-removal.ts";
import { RowUnreadable, presentIn, undamaged } from "../../codec/row.ts";
import type { Ambiguous, CreateOutcome, RunTable } from "../../ports/run-table.ts";
import type { Clock } from "../../ports/world.ts";
import type { Pair } from "./clients.ts";
import { Dynamo } from "./dynamo.ts";
import * as is from "./fragments.ts";
import { all } from "./expression.ts";
import { keyOf, newItem, rowOf } from "./item.ts";
import { ROW_ITEM, tenantOf } from "./keys.ts";
import { clearInbox, deliver, forget, inbox } from "./messages.ts";
import { alive, list } from "./pages.ts";
import * as writes from "./row-writes.ts";
import { tableStoreId } from "./store-id.ts";
import { forgetKey, keepKey, readKey, tombstoneIn, tombstoneKey } from "./tombstones.ts";
import { cursorOf, takeMutexLease } from "./mutex-leases.ts";

/** The run table `table`, with the contract of `ports/run-table.ts`. */
export function dynamoRunTable(of: {
  readonly clients: Pair<DynamoDBClient>;
  readonly table: string;
  readonly clock: Pick<Clock, "after">;
}): RunTable {
  const dynamo = new Dynamo(of);
  const rows = new Rows(dynamo);
  return {
    create: (creation) => create(dynamo, creation),
    claim: (claim) =>
      rows.decide(claim, {
        write: (assumed) => writes.claimWrite(claim, assumed),
        decide: (row) => decideClaim(row, claim),
        done: (row, assumed) => ({ kind: "granted", row, overtook: assumed?.owner ?? null }),
      }),
    commit: (commit) =>
      rows.decide(commit, {
        write: (assumed) => writes.commitWrite(commit, assumed),
        decide: (row) => decideCommit(row, commit),
        done: (row) => ({ kind: "committed", row }),
      }),
    park: (park) =>
      rows.decide(park, {
        write: () => writes.parkWrite(park),
        decide: (row) => decidePark(row, park),
        done: (row) => ({ kind: "parked", row }),
      }),
    request: (request) =>
      rows.decide(request, {
        write: () => writes.requestWrite(request),
        decide: (row) => decideRequest(row, request),
        done: (row) => ({ kind: "requested", row }),
      }),
    handOver: (handOver) =>
      rows.decide(handOver, {
        write: (assumed) => writes.handOverWrite(handOver, assumed),
        decide: (row) => decideHandOver(row, handOver),
        done: (row) => ({ kind: "handed", row }),
      }),
    recordEndNotified: (of) =>
      rows.decide(of, {
        write: () => writes.tellWrite(of),
        decide: (row) => ({ kind: "notified" as const, row: markEndNotified(row, of) }),
        done: (row) => ({ kind: "notified", row }),
      }),
    redrive: (redrive) =>
      rows.decide(redrive, {
        write: () => writes.redriveWrite(redrive),
        decide: (row) => decideRedrive(row, redrive),
        done: (row) => ({ kind: "redriven", row }),
      }),
    purge: (of) => purge(dynamo, of),
    keepKey: (tombstone) => keepKey(dynamo, tombstone),
    forgetKey: (of) => forgetKey(dynamo, of),
    readKey: (run, now) => readKey(dynamo, run, now),
    read: async (run, now) => {
      const row = await readRow(dynamo, run);
      return row === null || isExpired(row, now) ? null : row;
    },
    deliver: (delivery) => deliver(dynamo, delivery),
    inbox: (of) => inbox(dynamo, of),
    clearInbox: (of) => clearInbox(dynamo, of),
    takeTurn: (turn) => takeMutexLease(dynamo, turn),
    cursorOf: (name) => cursorOf(dynamo, name),
    list: (query) => list(dynamo, query),
    alive: (query) => alive(dynamo, query),
    forget: (of) => forget(dynamo, of),
    storeId: async () => (await tableStoreId(dynamo)) ?? `an unnamed table (${of.table})`,
  };
}

/** If the row changed between every guess and its write, the caller sends the write again later. */
const GUESSES_MAX = 4;
const KNOWN_MAX = 64;

interface Operation<O> {
  /** The write for an assumed row; null: no row is known. */
  readonly write: (assumed: Row | null) => writes.Write;
  /** The decision on that row. A decision that changes nothing returns the same row object. */
  readonly decide: (row: Row) => O;
  readonly done: (row: Row, assumed: Row | null) => O;
}

class Rows {
  readonly #dynamo: Dynamo;
  /** The last row of each run that this process saw: guesses, so that a beat's commits need one write each. */
  readonly #known = new Map<string, Row>();

  constructor(dynamo: Dynamo) {
    this.#dynamo = dynamo;
  }

  async decide<O extends { readonly kind: string; readonly row?: Row }>(
    of: RunRef,
    { write, decide, done }: Operation<O>,
  ): Promise<O | Refused | Ambiguous> {
    if (!isRunId(of.run)) return { kind: "missing" };
    const known = this.#known.get(of.run);
    let assumed = known?.born === of.born ? known : null;
    for (let guess = 0; guess < GUESSES_MAX; guess += 1) {
      const outcome = await this.#dynamo.update(keyOf(of.run, ROW_ITEM), write(assumed));
      if (outcome.kind === "ambiguous") return outcome;
      const found = outcome.item === null ? null : rowOf(outcome.item);
      // The write may have succeeded, if its condition named no damaged attribute. The outcome is `unreadable` in any
      // case.
      if (found instanceof RowUnreadable) return found.refused;
      const row = found === null ? null : this.#noted(found);
      if (outcome.kind === "written") {
        ensure(row !== null, `a write of ${of.run} returned no row`);
        return done(row, assumed);
      }
      const before = presentIn(row, of);
      if ("kind" in before) return before;
      const decision = decide(before);
      if (decision.row === undefined || decision.row === before) return decision;
      assumed = before;
    }
    return { kind: "ambiguous", why: `run ${of.run} changed ${GUESSES_MAX} times while it was written` };
  }

  #noted(row: Row): Row {
    this.#known.delete(row.run);
    this.#known.set(row.run, row);
    const [oldest] = this.#known.keys();
    if (this.#known.size > KNOWN_MAX && oldest !== undefined) this.#known.delete(oldest);
    return row;
  }
}

async function readRow(dynamo: Dynamo, run: string): Promise<Row | null> {
  const item = isRunId(run) ? await dynamo.get(keyOf(run, ROW_ITEM)) : null;
  return undamaged(item === null ? null : rowOf(item));
}

/**
 * Creates a row.
 *
 * Schedule 32: an expired row is not overwritten. It is deleted first, as the row of its own `born`, so that the stream
 * names the incarnation to clean up.
 *
 * Schedule 82: the tombstone is checked in the transaction that puts the row. A separate check before it would be out
 * of date for a process that freezes between the two.
 */
async function create(dynamo: Dynamo, creation: Creation): Promise<CreateOutcome> {
  const { run, tenant } = creation;
  ensure(isRunId(run) && tenantOf(run) === tenant, `${run} is no run of the tenant ${tenant}`);
  for (let guess = 0; guess < GUESSES_MAX; guess += 1) {
    const item = newItem(newRow(creation));
    const put = await dynamo.transact([
      { kind: "put", item, condition: is.absent },
      { kind: "check", key: tombstoneKey(run), condition: is.keyIsFree(expiryThreshold(creation)) },
    ]);
    if (put.kind === "ambiguous") return put;
    if (put.kind === "written") return { kind: "created", row: undamaged(rowOf(item)) };
    const [refused, tombstone] = put.items;
    // An existing row governs, and a refusal need not contain the item of each part.
    const found = refused == null ? await readRow(dynamo, run) : rowOf(refused);
    if (found instanceof RowUnreadable) return found.refused;
    const outcome = decideCreate(found, tombstone == null ? null : tombstoneIn(tombstone), creation);
    if (outcome.kind !== "created") return outcome;
    if (outcome.over === null) continue;
    const removed = await dynamo.remove(keyOf(run, ROW_ITEM), is.mine(outcome.over));
    if (removed.kind === "ambiguous") return removed;
  }
  return { kind: "ambiguous", why: `run ${run} changed ${GUESSES_MAX} times while it was created` };
}

async function purge(dynamo: Dynamo, of: RunRef): Promise<PurgeOutcome | Ambiguous> {
  if (!isRunId(of.run)) return { kind: "missing" };
  for (let guess = 0; guess < GUESSES_MAX; guess += 1) {
    const removed = await dynamo.remove(keyOf(of.run, ROW_ITEM), all(is.present(of), is.ended(of), is.told));
    if (removed.kind === "ambiguous") return removed;
    const row = presentIn(removed.item === null ? null : rowOf(removed.item), of);
    if ("kind" in row) return row;
    if (removed.kind === "written") return { kind: "purged", row };
    const outcome = decidePurge(row);
    if (outcome.kind === "kept") return outcome;
  }
  return { kind: "ambiguous", why: `run ${of.run} changed ${GUESSES_MAX} times while it was removed` };
}
