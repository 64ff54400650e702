/**
 * The fence of a child in one transaction (`protocol/row-fence.ts`): a check of the parent's row, and the
 * compare-and-swap of the child's. It is rare, so both rows are read first. A conflict with another transaction is no
 * answer: the caller sends the same request again, and the number in the row recognises it.
 */
import { isRunId } from "../../../core/ids.ts";
import { RowUnreadable, presentIn } from "../../../codec/row.ts";
import { mayMakeChildren } from "../../../protocol/row-children.ts";
import { type ChildFence, type FenceOutcome, decideFence } from "../../../protocol/row-fence.ts";
import type { Ambiguous } from "../../../ports/run-table.ts";
import { parentCheck } from "./children.ts";
import type { Dynamo } from "./dynamo.ts";
import { itemKey } from "./item.ts";
import { ROW_ITEM } from "./keys.ts";
import { swapWrite } from "./row-writes.ts";
import { type Rows, WRITES_MAX, changedTooOften } from "./rows.ts";
import type { StatusShards } from "./status-shards.ts";

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
