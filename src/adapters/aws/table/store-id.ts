/**
 * The permanent ID that a table and its bucket share. The deployment names both at once. Beside a table of another
 * deployment, which knows none of its runs, every object of a bucket would look like an orphan and be deleted.
 */
import { randomBytes } from "node:crypto";
import { FINGERPRINT } from "../../../protocol/fingerprint.ts";
import { StoreUnreachable } from "../../../ports/world.ts";
import { ATTRIBUTES } from "./attributes.ts";
import { type AwsClients, awsClients } from "../clients.ts";
import { systemClock } from "../clock.ts";
import { Dynamo } from "./dynamo.ts";
import { textValue } from "./expression.ts";
import * as is from "./fragments.ts";
import { itemOf, itemKey } from "./item.ts";
import { STORE } from "./keys.ts";
import { type StoreIdentity, storeIdentityOf, identityText, ownId } from "./store-identity.ts";
import { s3ObjectStore } from "../bucket/object-store.ts";

const KEY = itemKey(STORE.item, STORE.item);

/** Null before the table is named. */
export async function identityOfTable(dynamo: Dynamo): Promise<StoreIdentity | null> {
  const item = await dynamo.get(KEY);
  const id = item?.[ATTRIBUTES.store]?.S;
  return id === undefined ? null : storeIdentityOf(id, item?.[ATTRIBUTES.forms]?.S);
}

/**
 * Names a table and a bucket that have no ID yet; safe to repeat. False: they have different IDs, and both stay as they
 * are. Throws `StoreForeign` if another cairn named one of them.
 */
export async function nameStores({
  table,
  bucket,
  clients = awsClients(),
}: {
  readonly table: string;
  readonly bucket: string;
  readonly clients?: AwsClients;
}): Promise<boolean> {
  const dynamo = new Dynamo({ clients: clients.table, table, clock: systemClock });
  const fresh = randomBytes(16).toString("hex");
  await dynamo.put({ ...KEY, ...itemOf({ store: textValue(fresh), forms: textValue(FINGERPRINT) }) }, is.absent);
  const identity = await identityOfTable(dynamo);
  if (identity === null) throw new StoreUnreachable(`the table ${table} did not keep its name; try again`);
  const id = ownId(`the table ${table}`, identity);
  const objects = s3ObjectStore({ clients: clients.bucket, bucket });
  await objects.put(STORE.key, Buffer.from(identityText(id)));
  return (await objects.storeId()) === id;
}
