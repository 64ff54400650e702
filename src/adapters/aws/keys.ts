/**
 * Keys of a run's items and of its entries in the indexes. Order comes from the keys, and so does the rule that nothing
 * of one incarnation is found by another one: each key of an item beside the row begins with its kind and its `born`.
 */
import { createHash } from "node:crypto";
import type { Status } from "../../core/phases.ts";
import type { Incarnation } from "../../protocol/row.ts";

export const ROW_ITEM = "row";
export const TOMBSTONE_ITEM = "tombstone";
/** How many partitions the index of live runs has: a sweep reads them one after the other. */
export const ALIVE_SHARDS = 16;

/** Where a store keeps its name: a partition that no run can have, and a key that lies beside those of all runs. */
export const STORE = { item: "store", key: "store-id" } as const;

const TIME_DIGITS = 15;
/** DynamoDB takes sort keys of 1,024 bytes. */
const ID_BYTES_MAX = 960;

export const tenantOf = (run: string): string => run.slice(0, run.indexOf("-"));
const afterTenant = (run: string): string => run.slice(run.indexOf("-") + 1);

export const tenantStatus = (tenant: string, status: Status): string => `${tenant}#${status}`;
export const statusOf = (stored: string): string => stored.slice(stored.indexOf("#") + 1);

/** Texts of one length, so that they are in the order of their times. */
const timeText = (time: number): string => String(Math.max(0, Math.floor(time))).padStart(TIME_DIGITS, "0");

/** The order of a list: by time, then by run. With the tenant, which the partition has, it names the run. */
export const sinceOf = (run: string, statusSince: number): string => `${timeText(statusSince)}${afterTenant(run)}`;
export const timeOf = (since: string): number => Number(since.slice(0, TIME_DIGITS));

export const aliveShard = (run: string): number =>
  createHash("sha256").update(run, "utf8").digest().readUInt8(0) % ALIVE_SHARDS;

type Kind = "inbox" | "seen" | "audit";

export const itemsOf = (kind: Kind, { born }: Pick<Incarnation, "born">): string => `${kind}#${born}#`;

export const seenItem = (of: Pick<Incarnation, "born">, id: string): string => `${itemsOf("seen", of)}${boundedId(id)}`;

export const inboxItem = (
  of: Pick<Incarnation, "born">,
  { sentAt, id }: { readonly sentAt: number; readonly id: string },
): string => `${itemsOf("inbox", of)}${timeText(sentAt)}#${boundedId(id)}`;

/** An id that no key has room for is known by its digest; the message keeps the id itself. */
function boundedId(id: string): string {
  if (Buffer.byteLength(id) + TIME_DIGITS <= ID_BYTES_MAX) return id;
  return `sha256#${createHash("sha256").update(id, "utf8").digest("hex")}`;
}

/** What all names of an incarnation begin with is not stored with each of them; `=` marks one that does not. */
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

/** A deployment is known by the name of its machine: a table that was restored has another name than the deployment. */
export const deploymentOf = (machine: string): string => machine.split(":").at(-1) ?? "";

/** Below it lie the secrets of a deployment in the Parameter Store. */
export const parameterPath = (deployment: string): string => `/cairn/${deployment}`;

export const parameterOf = (deployment: string, secret: string): string => `${parameterPath(deployment)}/${secret}`;
