/**
 * The delta log on DynamoDB: an item for each delta, and one for the readers of a run, all beside its row. DynamoDB
 * deletes them by their expiry, which costs nothing. Reads may lag a moment behind, which costs half.
 */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { isRunId } from "../../../core/ids.ts";
import { DELTAS, type Delta, type DeltaLog, PACE_OF_SERVICE, isDeltaExpired } from "../../../ports/delta-log.ts";
import { StoreUnreachable } from "../../../ports/world.ts";
import type { Incarnation } from "../../../protocol/row.ts";
import { ATTRIBUTES } from "./attributes.ts";
import type { Dynamo, ItemWritten } from "./dynamo.ts";
import * as is from "./fragments.ts";
import { either, fragment, number, set, textValue } from "./expression.ts";
import { type TableItem, itemOf, itemKey } from "./item.ts";
import { READER_ITEM, deltaItem, itemsOf } from "./keys.ts";

export const dynamoDeltaLog = (dynamo: Dynamo): DeltaLog => ({
  pace: PACE_OF_SERVICE,
  attach: async ({ run, until }) => {
    if (!isRunId(run)) return;
    const condition = either(is.absent, is.leaseLapsed({ now: until }));
    const changes = [set("leaseUntil", number(until)), set("expiresAtSec", number(expiryOf(until)))];
    decided(await dynamo.update(itemKey(run, READER_ITEM), { condition, changes }));
  },
  attachedUntil: async ({ run, now }) => {
    if (!isRunId(run)) return null;
    const item = await dynamo.get(itemKey(run, READER_ITEM), "lagging");
    const until = Number(item?.[ATTRIBUTES.leaseUntil]?.N ?? 0);
    return until > now ? until : null;
  },
  append: async (incarnation, delta) => {
    if (isRunId(incarnation.run)) decided(await dynamo.put(itemOfDelta(incarnation, delta), is.absent));
  },
  read: async ({ after, limit, now, ...of }) => {
    if (!isRunId(of.run)) return [];
    const { epoch, version, seq } = after;
    const found = await query(dynamo, of, { from: deltaItem(of, { epoch, version, seq: seq + 1 }), limit });
    return found.flatMap(deltaIn).filter((delta) => !isDeltaExpired(delta, now));
  },
  forget: async (incarnation) => {
    if (!isRunId(incarnation.run)) return;
    for (let found = await all(dynamo, incarnation); found.length > 0; found = await all(dynamo, incarnation)) {
      await dynamo.removeAll(found.map((item) => itemKey(incarnation.run, item[ATTRIBUTES.item]?.S ?? "")));
    }
    await dynamo.removeAll([itemKey(incarnation.run, READER_ITEM)]);
  },
});

const FORGOTTEN_AT_ONCE = 100;

const all = (dynamo: Dynamo, incarnation: Incarnation): Promise<readonly TableItem[]> =>
  query(dynamo, incarnation, { from: itemsOf("delta", incarnation), limit: FORGOTTEN_AT_ONCE, isLagging: false });

function query(
  dynamo: Dynamo,
  incarnation: Incarnation,
  { from, limit, isLagging = true }: { readonly from: string; readonly limit: number; readonly isLagging?: boolean },
): Promise<readonly TableItem[]> {
  // `~` sorts after every character of these keys.
  const where = fragment("#run = :run AND #item BETWEEN :from AND :to", {
    ":run": textValue(incarnation.run),
    ":from": textValue(from),
    ":to": textValue(`${itemsOf("delta", incarnation)}~`),
  });
  return dynamo.query({ index: null, where, limit, isLagging });
}

/** A refusal says that it is stored already, or for longer. */
function decided(written: ItemWritten): void {
  if (written.kind === "ambiguous") throw new StoreUnreachable(written.why, { store: "the table" });
}

const itemOfDelta = (incarnation: Incarnation, delta: Delta): Record<string, AttributeValue> => ({
  ...itemKey(incarnation.run, deltaItem(incarnation, delta)),
  ...itemOf({ body: textValue(JSON.stringify(delta)), expiresAtSec: number(expiryOf(delta.at + DELTAS.keptMs)) }),
});

const expiryOf = (moment: number): number => Math.ceil(moment / 1_000);

/** A delta that cannot be read is skipped: nothing depends on it. */
function deltaIn(item: TableItem): readonly Delta[] {
  try {
    return [JSON.parse(item[ATTRIBUTES.body]?.S ?? "") as Delta];
  } catch {
    return [];
  }
}
