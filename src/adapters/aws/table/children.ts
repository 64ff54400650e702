/**
 * The fenced creation of child runs in one transaction (`protocol/row-children.ts`): a check of the parent's row, and
 * for each child a check of its report's ID and the put of its row. That is 1 + 2n of the 100 actions that a
 * transaction may have, and each action is charged twice.
 *
 * A transaction is refused as a whole. Children whose rows or reports are there get their answer, and the others are
 * sent again without them. A conflict with another transaction is no answer: the caller sends the same write again.
 */
import { ensure } from "../../../core/ensure.ts";
import { isRunId, tenantOf } from "../../../core/ids.ts";
import { RowUnreadable, presentIn } from "../../../codec/row.ts";
import {
  type ChildAnswer,
  type ChildCreation,
  type ChildrenCreation,
  type ChildrenOutcome,
  decideChild,
  mayMakeChildren,
} from "../../../protocol/row-children.ts";
import { type Refused, type Row, type RunRef, newRow } from "../../../protocol/row.ts";
import type { Ambiguous } from "../../../ports/run-table.ts";
import type { Dynamo, TransactionPart } from "./dynamo.ts";
import { all, number } from "./expression.ts";
import * as is from "./fragments.ts";
import { type TableItem, itemOf, itemKey, rowItem } from "./item.ts";
import { rowInItem } from "./item-reader.ts";
import { ROW_ITEM, seenItem } from "./keys.ts";
import { WRITES_MAX, changedTooOften, type Rows } from "./rows.ts";
import type { StatusShards } from "./status-shards.ts";
import { type ChildFence, type FenceOutcome, decideFence } from "../../../protocol/row-fence.ts";
import { swapWrite } from "./row-writes.ts";

/** The actions that DynamoDB takes in one transaction. */
const ACTIONS_MAX = 100;

export async function createChildren(
  { dynamo, shards }: { readonly dynamo: Dynamo; readonly shards: StatusShards },
  creating: ChildrenCreation,
): Promise<ChildrenOutcome | Ambiguous> {
  if (!isRunId(creating.run)) return { kind: "missing" };
  const actions = 1 + 2 * creating.children.length;
  ensure(actions <= ACTIONS_MAX, `${actions} actions do not fit into one transaction, ${ACTIONS_MAX} do`);
  for (const { creation } of creating.children) {
    const { run, tenant } = creation;
    ensure(isRunId(run) && tenantOf(run) === tenant, `${run} is no run of the tenant ${tenant}`);
  }
  const written = await shards.write();
  const answers = new Map<ChildCreation, ChildAnswer>();
  // Each refusal answers for at least one child, or names the parent.
  for (let writes = 0; writes < WRITES_MAX; writes += 1) {
    const left = creating.children.filter((child) => !answers.has(child));
    const sent = await dynamo.transact([
      parentCheck(creating),
      ...left.flatMap((child) => partsOf(creating, child, written)),
    ]);
    if (sent.kind === "ambiguous") return sent;
    if (sent.kind === "written") {
      for (const child of left) answers.set(child, { kind: "created", row: newRow(child.creation) });
      return { kind: "made", children: creating.children.map((child) => answers.get(child) as ChildAnswer) };
    }
    const [parent, ...items] = sent.items;
    if (parent !== undefined) {
      const refused = await refusedParent(dynamo, creating, parent);
      if (refused !== null) return refused;
      continue;
    }
    for (const [index, child] of left.entries()) {
      const answer = answerIn(child, items[2 * index], items[2 * index + 1]);
      if (answer !== null) answers.set(child, answer);
    }
  }
  return changedTooOften(creating.run, "its children were created");
}

/** The parent has not ended, and the named epoch holds it. */
const parentCheck = (ref: RunRef & { readonly epoch: number }): TransactionPart => ({
  kind: "check",
  key: itemKey(ref.run, ROW_ITEM),
  condition: all(is.present(ref), is.epochIs(ref.epoch), is.notTerminal(ref)),
});

function partsOf(
  creating: ChildrenCreation,
  { creation, reportId, isLeft }: ChildCreation,
  shards: number,
): readonly TransactionPart[] {
  const key = itemKey(creating.run, seenItem(creating, reportId));
  const seen: TransactionPart = isLeft
    ? { kind: "put", item: { ...key, ...itemOf({ sentAt: number(creating.now) }) }, condition: is.absent }
    : { kind: "check", key, condition: is.absent };
  return [seen, { kind: "put", item: rowItem(newRow(creation), { shards }), condition: is.absent }];
}

/** Null: the parent may make children, so another part was the reason. */
async function refusedParent(
  dynamo: Dynamo,
  creating: ChildrenCreation,
  item: TableItem | null,
): Promise<Refused | { readonly kind: "fenced"; readonly row: Row } | null> {
  const stored = item ?? (await dynamo.get(itemKey(creating.run, ROW_ITEM)));
  const row = presentIn(stored === null ? null : rowInItem(stored), creating);
  if ("kind" in row) return row;
  return mayMakeChildren(row, creating) ? null : { kind: "fenced", row };
}

/** What the refused parts of a child say; null: none of them was refused. */
function answerIn(
  { creation }: ChildCreation,
  seen: TableItem | null | undefined,
  stored: TableItem | null | undefined,
): ChildAnswer | null {
  if (seen !== undefined) return { kind: "reported" };
  if (stored == null) return null;
  const found = rowInItem(stored);
  if (found instanceof RowUnreadable) return { kind: "unreadable", why: found.message };
  return decideChild(found, { isSeen: false, creation });
}

/**
 * The fence of a child in one transaction (`protocol/row-fence.ts`): a check of the parent's row, and the
 * compare-and-swap of the child's. It is rare, so both rows are read first. A conflict with another transaction is no
 * answer: the caller sends the same request again, and the number in the row recognises it.
 */
export async function fenceChild(
  on: { readonly dynamo: Dynamo; readonly rows: Rows; readonly shards: StatusShards },
  fence: ChildFence,
): Promise<FenceOutcome | Ambiguous> {
  const { dynamo, rows, shards } = on;
  if (!isRunId(fence.run)) return { kind: "missing" };
  const key = itemKey(fence.child, ROW_ITEM);
  for (let writes = 0; writes < WRITES_MAX; writes += 1) {
    const parent = presentIn(await rows.found(await dynamo.get(itemKey(fence.run, ROW_ITEM))), fence);
    if ("kind" in parent) return parent;
    if (!mayMakeChildren(parent, fence)) return { kind: "refused", row: parent };
    const child = isRunId(fence.child) ? await rows.found(await dynamo.get(key)) : null;
    if (child instanceof RowUnreadable) return { kind: "childUnreadable", why: child.message };
    const answer = decideFence(child, fence);
    if (answer.kind !== "fenced" || child === null) return answer;
    const write = swapWrite(child, answer.row, {}, { shards: await shards.write() });
    const sent = await dynamo.transact([parentCheck(fence), { kind: "update", key, ...write }]);
    if (sent.kind === "ambiguous") return sent;
    if (sent.kind === "written") return { ...answer, row: rows.remember(answer.row) };
  }
  return changedTooOften(fence.child, "its parent fenced it");
}
