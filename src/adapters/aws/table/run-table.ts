/**
 * RunTable on DynamoDB. Every operation on a row is a pure decision of `protocol/`, as in every world. It is written by
 * compare-and-swap: one conditional write of one item, or one transaction (`rows.ts`).
 */
import { isRunId, tenantOf } from "../../../core/ids.ts";
import { ensure } from "../../../core/ensure.ts";
import { type Creation, newRow, isExpired } from "../../../protocol/row.ts";
import { expiryThreshold, decideCreate } from "../../../protocol/row-removal.ts";
import { RowUnreadable, undamaged } from "../../../codec/row.ts";
import type { CreateOutcome, RunTable } from "../../../ports/run-table.ts";
import type { Dynamo } from "./dynamo.ts";
import { createChildren, fenceChild } from "./children.ts";
import * as is from "./fragments.ts";
import { rowItem } from "./item.ts";
import { rowInItem } from "./item-reader.ts";
import { alive, listRows } from "./pages.ts";
import { Rows, WRITES_MAX, changedTooOften } from "./rows.ts";
import { StatusShards } from "./status-shards.ts";
import { identityOfTable } from "./store-id.ts";
import { ownId } from "./store-identity.ts";
import { forgetKey, keepTombstone, readKey, tombstoneIn, tombstoneKey } from "./tombstones.ts";

/** The run table `table`, with the contract of `ports/run-table.ts`. */
export function dynamoRunTable({
  dynamo,
  table,
  shards = new StatusShards(dynamo),
}: {
  readonly dynamo: Dynamo;
  readonly table: string;
  /** Absent: this process writes rows into the first shard. */
  readonly shards?: StatusShards;
}): RunTable {
  const rows = new Rows(dynamo, shards);
  return {
    create: (creation) => create({ dynamo, rows, shards }, creation),
    createChildren: (creating) => createChildren({ dynamo, shards }, creating),
    fenceChild: (fence) => fenceChild({ dynamo, rows, shards }, fence),
    decide: (asked, decision) => rows.decide(asked, decision),
    request: (request) => rows.request(request),
    keepKey: (tombstone) => keepTombstone(dynamo, tombstone),
    forgetKey: (incarnation) => forgetKey(dynamo, incarnation),
    readKey: (run, now) => readKey(dynamo, run, now),
    read: async (run, now) => {
      const row = await rows.read(run);
      return row === null || isExpired(row, now) ? null : row;
    },
    list: (query) => listRows({ dynamo, shards }, query),
    alive: (query) => alive({ dynamo, rows }, query),
    storeId: async () => {
      const identity = await identityOfTable(dynamo);
      return identity === null ? `an unnamed table (${table})` : ownId(`the table ${table}`, identity);
    },
  };
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
async function create(
  { dynamo, rows, shards }: { readonly dynamo: Dynamo; readonly rows: Rows; readonly shards: StatusShards },
  creation: Creation,
): Promise<CreateOutcome> {
  const { run, tenant } = creation;
  ensure(isRunId(run) && tenantOf(run) === tenant, `${run} is no run of the tenant ${tenant}`);
  for (let writes = 0; writes < WRITES_MAX; writes += 1) {
    const item = rowItem(newRow(creation), { shards: await shards.write() });
    const put = await dynamo.transact([
      { kind: "put", item, condition: is.absent },
      { kind: "check", key: tombstoneKey(run), condition: is.keyIsFree(expiryThreshold(creation)) },
    ]);
    if (put.kind === "ambiguous") return put;
    if (put.kind === "written") return { kind: "created", row: rows.remember(undamaged(rowInItem(item))) };
    const [refused, tombstone] = put.items;
    // An existing row governs, and a refusal need not contain the item of each part.
    const found = refused == null ? await rows.read(run) : await rows.found(refused);
    if (found instanceof RowUnreadable) return found.refused;
    const outcome = decideCreate(found, tombstone == null ? null : tombstoneIn(tombstone), creation);
    if (outcome.kind !== "created") return outcome;
    if (outcome.over === null) continue;
    const removed = await rows.remove(outcome.over);
    if (removed.kind === "ambiguous") return removed;
  }
  return changedTooOften(run, "it was created");
}
