/**
 * Records on DynamoDB: each subject has a partition, whose name no run can have. The index `byStatus` lists those of a
 * tenant, under a status that no run has.
 */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { undamagedRecord } from "../../../codec/record.ts";
import type { Json } from "../../../core/json.ts";
import {
  type FoundRecord,
  type RecordKey,
  type RecordKind,
  type Records,
  type StoredRecord,
  damagedRecord,
  isDamagedRecord,
  isRecordExpired,
  partedRecords,
} from "../../../ports/records.ts";
import { ATTRIBUTES, type Attribute } from "./attributes.ts";
import type { Dynamo } from "./dynamo.ts";
import * as is from "./fragments.ts";
import { type Fragment, all, fragment, number, set, setOrRemove, textValue } from "./expression.ts";
import { type TableItem, itemOf, itemKey } from "./item.ts";
import { recordItem, recordPartition, recordSince, recordsOfTenant } from "./keys.ts";

/** Kinds that are never listed by tenant are in no index. */
const LISTED: ReadonlySet<RecordKind> = new Set(["audit", "token"]);

export const dynamoRecords = (dynamo: Dynamo): Records => ({
  add: async (record, now) => {
    const outcome = await dynamo.put(newItem({ ...record, version: 1 }), is.keyIsFree(now));
    if (outcome.kind === "ambiguous") return outcome;
    if (outcome.kind === "written") return { kind: "added" };
    return { kind: "exists", record: undamagedRecord(recordIn(outcome.item ?? {}, record.kind)) };
  },
  replace: async (record, now) => {
    const { version, body, expiresAtSec } = record;
    const condition = all(fragment("#version = :seen", { ":seen": number(version) }), is.notExpired({ now }));
    const changes = [
      set("version", number(version + 1)),
      set("body", textValue(JSON.stringify(body))),
      ...setOrRemove("expiresAtSec", expiresAtSec === null ? null : number(expiresAtSec)),
    ];
    const outcome = await dynamo.update(keyOfRecord(record), { condition, changes });
    if (outcome.kind === "ambiguous") return outcome;
    return outcome.kind === "written" ? { kind: "replaced" } : { kind: "changed" };
  },
  overwriteDamaged: async (record, now) => {
    const item = await dynamo.get(keyOfRecord(record));
    if (item === null || isItemExpired(item, now) || !isDamagedRecord(recordIn(item, record.kind)))
      return { kind: "changed" };
    const isAsRead = all(is.exists, is.same("body", item[ATTRIBUTES.body] ?? null));
    const outcome = await dynamo.put(newItem({ ...record, version: 1 }), isAsRead);
    if (outcome.kind === "ambiguous") return outcome;
    return outcome.kind === "written" ? { kind: "replaced" } : { kind: "changed" };
  },
  get: async (key, now) => {
    const item = await dynamo.get(keyOfRecord(key));
    return undamagedRecord(item === null || isItemExpired(item, now) ? null : recordIn(item, key.kind));
  },
  list: async (query) =>
    "tenant" in query.by ? listTenant(dynamo, query, query.by) : listAbout(dynamo, query, query.by),
});

type Query = Parameters<Records["list"]>[0];
type Found = Awaited<ReturnType<Records["list"]>>;

async function listAbout(
  dynamo: Dynamo,
  { kind, after, limit, now }: Query,
  { about }: { readonly about: string },
): Promise<Found> {
  const behind = behindOf(after);
  if (behind === null) return EMPTY;
  const where = fragment("#run = :run AND #item < :item", {
    ":run": textValue(recordPartition({ kind, about })),
    ":item": textValue(behind),
  });
  const found = await dynamo.query({ index: null, where, limit: limit + 1, newestFirst: true });
  const listed = found.map((item) => ({ place: textIn(item, "item"), item }));
  return pageOf(listed, { kind, limit, now });
}

/** The index has only the keys, so the records are read afterwards. One that is gone by then is left out. */
async function listTenant(
  dynamo: Dynamo,
  { kind, after, limit, now }: Query,
  { tenant }: { readonly tenant: string },
): Promise<Found> {
  const behind = behindOf(after);
  if (behind === null) return EMPTY;
  const where: Fragment = fragment("#tenantStatus = :records AND #since < :since", {
    ":records": textValue(recordsOfTenant(tenant, kind)),
    ":since": textValue(behind),
  });
  const keys = await dynamo.query({ index: "byStatus", where, limit: limit + 1, newestFirst: true });
  const items = await dynamo.getAll(
    keys.map((item) => itemKey(textIn(item, "run"), textIn(item, "item"))),
    null,
  );
  const byKey = new Map(items.map((item) => [`${textIn(item, "run")} ${textIn(item, "item")}`, item]));
  const listed = keys.map((key) => ({
    place: textIn(key, "since"),
    item: byKey.get(`${textIn(key, "run")} ${textIn(key, "item")}`) ?? null,
  }));
  return pageOf(listed, { kind, limit, now });
}

/** `item`: null if it is gone. */
function pageOf(
  listed: readonly { readonly place: string; readonly item: TableItem | null }[],
  { kind, limit, now }: Pick<Query, "kind" | "limit" | "now">,
): Found {
  const page = listed.slice(0, limit);
  const last = page.at(-1);
  const next = listed.length > limit && last !== undefined ? Buffer.from(last.place).toString("base64url") : null;
  const found = page.flatMap(({ item }) => (item === null || isItemExpired(item, now) ? [] : [item]));
  return { ...partedRecords(found.map((item) => recordIn(item, kind))), next };
}

const EMPTY: Found = { records: [], damaged: [], next: null };

/** Above every key of a record. */
const LAST = "~";
/** DynamoDB refuses keys of more than 1,024 bytes, and empty ones. */
const CURSOR_BYTES_MAX = 512;

/** The place behind which a page begins; null for a cursor that no list gave. */
function behindOf(after: string | null): string | null {
  if (after === null) return LAST;
  const place = Buffer.from(after, "base64url").toString();
  return place === "" || Buffer.byteLength(place) > CURSOR_BYTES_MAX ? null : place;
}

const keyOfRecord = (key: RecordKey): Record<string, AttributeValue> =>
  itemKey(recordPartition(key), recordItem(key.id));

function newItem(record: StoredRecord): Record<string, AttributeValue> {
  const { kind, tenant, id, at, version, body, expiresAtSec } = record;
  return {
    ...keyOfRecord(record),
    ...itemOf({
      id: textValue(id),
      createdAt: number(at),
      version: number(version),
      body: textValue(JSON.stringify(body)),
      expiresAtSec: expiresAtSec === null ? null : number(expiresAtSec),
      recordTenant: textValue(tenant),
      ...(LISTED.has(kind) && {
        tenantStatus: textValue(recordsOfTenant(tenant, kind)),
        since: textValue(recordSince({ at, id })),
      }),
    }),
  };
}

function recordIn(item: TableItem, kind: RecordKind): FoundRecord {
  const partition = textIn(item, "run");
  const key = { kind, id: textIn(item, "id"), about: partition.slice(partition.indexOf("#") + 1) };
  const body = bodyIn(item);
  if (body === undefined) return damagedRecord(key, "its body is missing or no JSON");
  return {
    ...key,
    tenant: textIn(item, "recordTenant"),
    body,
    expiresAtSec: expiryIn(item),
    at: numberIn(item, "createdAt"),
    version: numberIn(item, "version"),
  };
}

function bodyIn(item: TableItem): Json | undefined {
  try {
    return JSON.parse(textIn(item, "body")) as Json;
  } catch {
    return undefined;
  }
}

const isItemExpired = (item: TableItem, now: number): boolean => isRecordExpired({ expiresAtSec: expiryIn(item) }, now);

function expiryIn(item: TableItem): number | null {
  const expires = item[ATTRIBUTES.expiresAtSec]?.N;
  return expires === undefined ? null : Number(expires);
}

const textIn = (item: TableItem, attribute: Attribute): string => item[ATTRIBUTES[attribute]]?.S ?? "";
const numberIn = (item: TableItem, attribute: Attribute): number => Number(item[ATTRIBUTES[attribute]]?.N);
