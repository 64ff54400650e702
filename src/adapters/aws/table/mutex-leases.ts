/** Mutex leases on DynamoDB: each is an item in its own partition, whose name no run can have. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { type MutexLease, type MutexLeaseOutcome } from "../../../protocol/mutex-lease.ts";
import type { MutexLeases } from "../../../ports/mutex-leases.ts";
import type { Ambiguous } from "../../../ports/run-table.ts";
import { ATTRIBUTES } from "./attributes.ts";
import type { Dynamo } from "./dynamo.ts";
import * as is from "./fragments.ts";
import { either, number, set, text } from "./expression.ts";
import { itemOf, keyOf } from "./item.ts";

export const turnKey = (name: string): Record<string, AttributeValue> => keyOf(`turn#${name}`, "turn");

export const dynamoMutexLeases = (dynamo: Dynamo): MutexLeases => ({
  take: (turn) => take(dynamo, turn),
  cursorOf: async (name) => (await dynamo.get(turnKey(name)))?.[ATTRIBUTES.cursor]?.S ?? null,
});

/**
 * Takes a mutex lease. The write itself returns the lease that it replaces; without a new cursor, the stored one stays.
 */
async function take(dynamo: Dynamo, turn: MutexLease): Promise<MutexLeaseOutcome | Ambiguous> {
  const { name, owner, until, cursor } = turn;
  const key = turnKey(name);
  const leaseUntil = number(until);
  const condition =
    turn.again === true ? is.ownedBy(owner) : either(is.absent, is.ownedBy(owner), is.leaseLapsed(turn));
  const outcome =
    cursor === undefined
      ? await dynamo.update(key, { condition, changes: [set("owner", text(owner)), set("leaseUntil", leaseUntil)] })
      : await dynamo.put(
          { ...key, ...itemOf({ owner: text(owner), leaseUntil, cursor: cursor === null ? null : text(cursor) }) },
          condition,
        );
  if (outcome.kind === "ambiguous") return outcome;
  const found: Readonly<Record<string, AttributeValue>> = outcome.item ?? {};
  if (outcome.kind === "refused") return { kind: "held", until: Number(found[ATTRIBUTES.leaseUntil]?.N ?? turn.now) };
  return { kind: "taken", cursor: found[ATTRIBUTES.cursor]?.S ?? null };
}
