/**
 * The keys of a run's items and of its index entries. They give the order of the items, and they keep incarnations
 * apart: each key of an item beside the row begins with its kind and its `born`.
 */
import { createHash } from "node:crypto";
import type { Status } from "../../../core/phases.ts";
import type { Incarnation } from "../../../protocol/row.ts";

export const ROW_ITEM = "row";
export const TOMBSTONE_ITEM = "tombstone";
/** The partitions of the index of live runs. A sweep reads them one after the other. */
export const ALIVE_SHARDS = 16;

/**
 * Where a store keeps its permanent ID: a partition that no run can have, and an object key outside those of all runs.
 */
export const STORE = { item: "store", key: "store-id" } as const;

const TIME_DIGITS = 15;
/** The longest ID in bytes; DynamoDB takes sort keys of 1,024 bytes. */
const ID_BYTES_MAX = 960;

export const tenantOf = (run: string): string => run.slice(0, run.indexOf("-"));
const afterTenant = (run: string): string => run.slice(run.indexOf("-") + 1);

export const tenantStatus = (tenant: string, status: Status): string => `${tenant}#${status}`;
export const statusOf = (stored: string): string => stored.slice(stored.indexOf("#") + 1);

/** A text of fixed length, so that texts sort as their times do. */
const timeText = (time: number): string => String(Math.max(0, Math.floor(time))).padStart(TIME_DIGITS, "0");

/** The sort key of a list: time, then run. Together with the tenant in the partition key it names the run. */
export const sinceOf = (run: string, statusSince: number): string => `${timeText(statusSince)}${afterTenant(run)}`;
export const timeOf = (since: string): number => Number(since.slice(0, TIME_DIGITS));

/** The sort key of `due`. Without a run: before every run of that moment. */
export const dueOf = (moment: number, run: string): string => `${timeText(moment)}${run}`;

export const aliveShard = (run: string): number =>
  createHash("sha256").update(run, "utf8").digest().readUInt8(0) % ALIVE_SHARDS;

type Kind = "inbox" | "seen" | "audit" | "journal";

export const itemsOf = (kind: Kind, { born }: Pick<Incarnation, "born">): string => `${kind}#${born}#`;

export const seenItem = (of: Pick<Incarnation, "born">, id: string): string => `${itemsOf("seen", of)}${boundedId(id)}`;

export const inboxItem = (
  of: Pick<Incarnation, "born">,
  { sentAt, id }: { readonly sentAt: number; readonly id: string },
): string => `${itemsOf("inbox", of)}${timeText(sentAt)}#${boundedId(id)}`;

const SLOT_DIGITS = 5;

export const journalItem = (of: Pick<Incarnation, "born">, slot: number): string =>
  `${itemsOf("journal", of)}${String(slot).padStart(SLOT_DIGITS, "0")}`;

/** An ID that is too long for a key is stored by its digest there. The message keeps the ID itself. */
function boundedId(id: string): string {
  if (Buffer.byteLength(id) + TIME_DIGITS <= ID_BYTES_MAX) return id;
  return `sha256#${createHash("sha256").update(id, "utf8").digest("hex")}`;
}

/** Leaves out the prefix that all names of an incarnation share; `=` marks a name without that prefix. */
function shortened(prefix: string, name: string, next: string): string {
  return name.startsWith(prefix + next) ? name.slice(prefix.length) : `=${name}`;
}

const lengthened = (prefix: string, stored: string): string =>
  stored.startsWith("=") ? stored.slice(1) : `${prefix}${stored}`;

const executions = ({ run, born }: Incarnation): string => `${run}-${born}`;
const objects = ({ run, born }: Incarnation): string => `runs/${tenantOf(run)}/${run}/${born}`;

export const shortExecution = (of: Incarnation, name: string): string => shortened(executions(of), name, "-");
export const longExecution = (of: Incarnation, stored: string): string => lengthened(executions(of), stored);
export const shortKey = (of: Incarnation, key: string): string => shortened(objects(of), key, "/");
export const longKey = (of: Incarnation, stored: string): string => lengthened(objects(of), stored);

/** A deployment is named after its state machine, since a restored table has another name than its deployment. */
export const deploymentOf = (machine: string): string => machine.split(":").at(-1) ?? "";

/** The path of a deployment's secrets in the Parameter Store. */
export const parameterPath = (deployment: string): string => `/cairn/${deployment}`;

export const parameterOf = (deployment: string, secret: string): string => `${parameterPath(deployment)}/${secret}`;
