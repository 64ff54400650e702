/**
 * The keys of a run's items and of its index entries. They give the order of the items, and they keep incarnations
 * apart: each key of an item beside the row begins with its kind and its `born`.
 */
import { createHash } from "node:crypto";
import { tenantOf } from "../../../core/ids.ts";
import type { Status } from "../../../core/phases.ts";
import { timeText } from "../../../protocol/ids.ts";
import type { Incarnation } from "../../../protocol/row.ts";

export const ROW_ITEM = "row";
export const TOMBSTONE_ITEM = "tombstone";
/** Until when a reader is attached to the run. */
export const READER_ITEM = "reader";
/** The partitions of the index of live runs. A sweep reads them one after the other. */
export const ALIVE_SHARDS = 16;
/** The numbers of shards that the index `byStatus` may have: powers of two, so that few shards can hold a run. */
export const STATUS_SHARDS = [1, 2, 4, 8, 16] as const;
export const STATUS_SHARDS_MAX = 16;

/**
 * Where a store keeps its permanent ID: a partition that no run can have, and an object key outside those of all runs.
 */
export const STORE = { item: "store", key: "store-id" } as const;

/** The longest ID in bytes; DynamoDB takes sort keys of 1,024 bytes. */
const ID_BYTES_MAX = 960;

const afterTenant = (run: string): string => run.slice(run.indexOf("-") + 1);

/** The partition key of a list. The first shard has the key of a table without shards, so each version reads it. */
export const tenantStatus = (tenant: string, status: Status, shard = 0): string =>
  shard === 0 ? `${tenant}#${status}` : `${tenant}#${status}#${shard}`;

/** The status and the shard in the partition key of a list. */
export function partsOfStatus(stored: string): { readonly status: string; readonly shard: number } {
  const [, status = "", shard = "0"] = stored.split("#");
  return { status, shard: Number(shard) };
}

/** The sort key of a list: time, then run. Together with the tenant in the partition key it names the run. */
export const sinceOf = (run: string, statusSince: number): string => `${timeText(statusSince)}${afterTenant(run)}`;

/** The sort key of `due`. Without a run: before every run of that moment. */
export const dueOf = (moment: number, run: string): string => `${timeText(moment)}${run}`;

const digestOf = (run: string): Buffer => createHash("sha256").update(run, "utf8").digest();

export const aliveShard = (run: string): number => digestOf(run).readUInt8(0) % ALIVE_SHARDS;

/** The shard of a run in an index of this many shards. */
export const statusShard = (run: string, shards: number): number =>
  shards === 1 ? 0 : digestOf(run).readUInt8(1) % shards;

/** A row was written into this shard under one of the allowed numbers of shards. */
export const isStatusShard = (run: string, shard: number): boolean =>
  STATUS_SHARDS.some((shards) => statusShard(run, shards) === shard);

type Kind = "inbox" | "seen" | "audit" | "journal" | "delta";

export const itemsOf = (kind: Kind, { born }: Pick<Incarnation, "born">): string => `${kind}#${born}#`;

export const seenItem = (incarnation: Pick<Incarnation, "born">, id: string): string =>
  `${itemsOf("seen", incarnation)}${boundedId(id)}`;

export const inboxItem = (
  incarnation: Pick<Incarnation, "born">,
  { sentAt, id }: { readonly sentAt: number; readonly id: string },
): string => `${itemsOf("inbox", incarnation)}${timeText(sentAt)}#${boundedId(id)}`;

const SLOT_DIGITS = 5;

export const journalItem = (incarnation: Pick<Incarnation, "born">, slot: number): string =>
  `${itemsOf("journal", incarnation)}${String(slot).padStart(SLOT_DIGITS, "0")}`;

/** Sort keys of deltas sort as the deltas do. */
export const deltaItem = (
  incarnation: Pick<Incarnation, "born">,
  { epoch, version, seq }: { readonly epoch: number; readonly version: number; readonly seq: number },
): string => `${itemsOf("delta", incarnation)}${[epoch, version, seq].map(timeText).join("#")}`;

/** The partition of the records about one subject. No run has such a name. */
export const recordPartition = ({ kind, about }: { readonly kind: string; readonly about: string }): string =>
  `${kind}#${about}`;
/** No row, message or tombstone has such a sort key. */
export const recordItem = (id: string): string => `record#${id}`;
/** The partition of `byStatus` with the records of a tenant. No status of a run has the name of a kind. */
export const recordsOfTenant = (tenant: string, kind: string): string => `${tenant}#${kind}`;
export const recordSince = ({ at, id }: { readonly at: number; readonly id: string }): string => `${timeText(at)}${id}`;

/** An ID that is too long for a key is stored by its digest there. The message keeps the ID itself. */
function boundedId(id: string): string {
  if (Buffer.byteLength(timeText(0) + id) <= ID_BYTES_MAX) return id;
  return `sha256#${createHash("sha256").update(id, "utf8").digest("hex")}`;
}

/** Leaves out the prefix that all names of an incarnation share; `=` marks a name without that prefix. */
function shortened(prefix: string, name: string, next: string): string {
  return name.startsWith(prefix + next) ? name.slice(prefix.length) : `=${name}`;
}

const lengthened = (prefix: string, stored: string): string =>
  stored.startsWith("=") ? stored.slice(1) : `${prefix}${stored}`;

const executions = ({ run, born }: Incarnation): string => `${run}-${born}`;
/** The prefix of the keys of its objects, without a slash at the end. */
export const objectsOf = ({ run, born }: Incarnation): string => `runs/${tenantOf(run)}/${run}/${born}`;

export const shortExecution = (incarnation: Incarnation, name: string): string =>
  shortened(executions(incarnation), name, "-");
export const longExecution = (incarnation: Incarnation, stored: string): string =>
  lengthened(executions(incarnation), stored);

/** The key of a snapshot as its three numbers alone, since it is in every write of the row. */
export function shortKey(incarnation: Incarnation, key: string): string {
  const short = shortened(objectsOf(incarnation), key, "/");
  const [, ...numbers] = SNAPSHOT.exec(short) ?? [];
  const dense = numbers.map(Number).join("-");
  return longKey(incarnation, dense) === key ? dense : short;
}

export function longKey(incarnation: Incarnation, stored: string): string {
  const [, version, epoch, put] = DENSE.exec(stored) ?? [];
  if (version === undefined || epoch === undefined) return lengthened(objectsOf(incarnation), stored);
  return `${objectsOf(incarnation)}/snapshots/${version.padStart(8, "0")}-${epoch.padStart(6, "0")}-${put}.json.br`;
}

const SNAPSHOT = /^\/snapshots\/(\d{8})-(\d{6,})-(\d+)\.json\.br$/;
const DENSE = /^(\d+)-(\d+)-(\d+)$/;

/** A deployment is named after its state machine, since a restored table has another name than its deployment. */
export const deploymentOf = (machine: string): string => machine.split(":").at(-1) ?? "";

/** The path of a deployment's secrets in the Parameter Store. */
export const parameterPath = (deployment: string): string => `/cairn/${deployment}`;

export const parameterOf = (deployment: string, secret: string): string => `${parameterPath(deployment)}/${secret}`;
