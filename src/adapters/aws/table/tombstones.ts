/**
 * Tombstones on DynamoDB: an item beside the row, in the partition of its run, with its own time to live. It is in no
 * index, and its removal triggers no clean-up, whose filter selects rows.
 */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { isRunId } from "../../../core/ids.ts";
import { type Tombstone, isKept } from "../../../protocol/tombstone.ts";
import type { Incarnation } from "../../../protocol/row.ts";
import type { Ambiguous } from "../../../ports/run-table.ts";
import { ATTRIBUTES } from "./attributes.ts";
import type { Dynamo } from "./dynamo.ts";
import * as is from "./fragments.ts";
import { all, either, number, textValue } from "./expression.ts";
import { type TableItem, itemOf, itemKey } from "./item.ts";
import { TOMBSTONE_ITEM } from "./keys.ts";

export const tombstoneKey = (run: string): Record<string, AttributeValue> => itemKey(run, TOMBSTONE_ITEM);

export async function keepTombstone(dynamo: Dynamo, next: Tombstone): Promise<{ readonly kind: "kept" } | Ambiguous> {
  const outcome = await dynamo.put(tombstoneItem(next), mayReplace(next));
  // Refused: a newer tombstone is stored (schedule 83).
  return outcome.kind === "ambiguous" ? outcome : { kind: "kept" };
}

/** The condition of `laid` in `protocol/tombstone.ts`. */
const mayReplace = (next: Tombstone) =>
  either(
    is.absent,
    is.notMine(next),
    is.epochBelow(next.epoch),
    all(is.epochIs(next.epoch), is.endedNotAfter(next.endedAt)),
  );

function tombstoneItem({
  run,
  born,
  agent,
  inputDigest,
  status,
  endedAt,
  epoch,
  expiresAtSec,
}: Tombstone): Record<string, AttributeValue> {
  return {
    ...tombstoneKey(run),
    ...itemOf({
      born: textValue(born),
      agent: textValue(agent),
      inputDigest: textValue(inputDigest),
      endedAs: textValue(status),
      endedAt: number(endedAt),
      epoch: number(epoch),
      expiresAtSec: number(expiresAtSec),
    }),
  };
}

/**
 * The tombstone in an item. Only this code writes such items. A field that a later version leaves out reads as empty,
 * and the key stays kept.
 */
export function tombstoneIn(item: TableItem): Tombstone {
  const texts = (name: keyof typeof ATTRIBUTES): string => item[ATTRIBUTES[name]]?.S ?? "";
  const numbers = (name: keyof typeof ATTRIBUTES): number => Number(item[ATTRIBUTES[name]]?.N ?? 0);
  return {
    run: texts("run"),
    born: texts("born"),
    agent: texts("agent"),
    inputDigest: texts("inputDigest"),
    status: texts("endedAs") as Tombstone["status"],
    endedAt: numbers("endedAt"),
    epoch: numbers("epoch"),
    expiresAtSec: numbers("expiresAtSec"),
  };
}

export async function forgetKey(
  dynamo: Dynamo,
  incarnation: Incarnation,
): Promise<{ readonly kind: "forgotten" } | Ambiguous> {
  if (!isRunId(incarnation.run)) return { kind: "forgotten" };
  const outcome = await dynamo.remove(tombstoneKey(incarnation.run), is.mine(incarnation));
  return outcome.kind === "ambiguous" ? outcome : { kind: "forgotten" };
}

export async function readKey(dynamo: Dynamo, run: string, now: number): Promise<Tombstone | null> {
  const item = isRunId(run) ? await dynamo.get(tombstoneKey(run)) : null;
  const found = item === null ? null : tombstoneIn(item);
  return found === null || !isKept(found, now) ? null : found;
}
