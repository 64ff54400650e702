/** Mutex leases on DynamoDB: each is an item in its own partition, whose name no run can have. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { MutexLease, MutexLeaseOutcome } from "../../../protocol/mutex-lease.ts";
import type { MutexLeases } from "../../../ports/mutex-leases.ts";
import type { Ambiguous } from "../../../ports/run-table.ts";
import { ATTRIBUTES } from "./attributes.ts";
import type { Dynamo } from "./dynamo.ts";
import * as is from "./fragments.ts";
import { either, number, set, textValue } from "./expression.ts";
import { itemOf, itemKey } from "./item.ts";

export const mutexLeaseKey = (name: string): Record<string, AttributeValue> => itemKey(`turn#${name}`, "turn");

export const dynamoMutexLeases = (dynamo: Dynamo): MutexLeases => ({
  take: (lease) => take(dynamo, lease),
  cursorOf: async (name) => (await dynamo.get(mutexLeaseKey(name)))?.[ATTRIBUTES.cursor]?.S ?? null,
});

/**
 * Takes a mutex lease. The write itself returns the lease that it replaces; without a new cursor, the stored one stays.
 */
async function take(dynamo: Dynamo, lease: MutexLease): Promise<MutexLeaseOutcome | Ambiguous> {
  const { name, owner, until, cursor } = lease;
  const key = mutexLeaseKey(name);
  const leaseUntil = number(until);
  const condition =
    lease.again === true ? is.ownedBy(owner) : either(is.absent, is.ownedBy(owner), is.leaseLapsed(lease));
  const outcome =
    cursor === undefined
      ? await dynamo.update(key, {
          condition,
          changes: [set("owner", textValue(owner)), set("leaseUntil", leaseUntil)],
        })
      : await dynamo.put(
          {
            ...key,
            ...itemOf({ owner: textValue(owner), leaseUntil, cursor: cursor === null ? null : textValue(cursor) }),
          },
          condition,
        );
  if (outcome.kind === "ambiguous") return outcome;
  const found: Readonly<Record<string, AttributeValue>> = outcome.item ?? {};
  if (outcome.kind === "refused") return { kind: "held", until: Number(found[ATTRIBUTES.leaseUntil]?.N ?? lease.now) };
  return { kind: "taken", cursor: found[ATTRIBUTES.cursor]?.S ?? null };
}
