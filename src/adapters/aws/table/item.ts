/** A run row as an item of DynamoDB. `item-reader.ts` reads it back. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { METERS, type Spent } from "../../../core/policy/budget.ts";
import { LOWEST_LEVEL, levelIn } from "../../../core/levels.ts";
import { dueAt } from "../../../protocol/due.ts";
import type { RestoredMark } from "../../../protocol/restored.ts";
import type { RowBrief } from "../../../protocol/row-brief.ts";
import { type Row, type RedriveNote, hasEnded } from "../../../protocol/row.ts";
import { ATTRIBUTES, type Attribute } from "./attributes.ts";
import { flag, number, textValue } from "./expression.ts";
import * as keys from "./keys.ts";

export type TableItem = Readonly<Record<string, AttributeValue>>;

/** An item of these attributes, named by what they mean; null leaves an attribute out. */
export function itemOf(
  values: Readonly<Partial<Record<Attribute, AttributeValue | null>>>,
): Record<string, AttributeValue> {
  const given = Object.entries(values).flatMap(([attribute, value]) =>
    value === null ? [] : [[ATTRIBUTES[attribute as Attribute], value] as const],
  );
  return Object.fromEntries(given);
}

export const itemKey = (run: string, item: string): Record<string, AttributeValue> =>
  itemOf({ run: textValue(run), item: textValue(item) });

/** The spent budget as a list. The working time is in it only for runs that limit it. */
const spentValue = ({ tokensIn, tokensOut, microUsd, beats, toolCalls, wallMs }: Spent): AttributeValue => ({
  L: [tokensIn, tokensOut, microUsd, beats, toolCalls, ...(wallMs === undefined ? [] : [wallMs])].map(number),
});

/** The note of a redrive as a list, in the order in which `redrive` reads it. */
const redriveValue = ({ id, by, why }: RedriveNote): AttributeValue => ({
  L: [textValue(id), textValue(by), textValue(why)],
});

/** The mark of a restore as a list, in the order in which `restored` reads it. The last two are absent before the word. */
const restoredValue = ({ at, asOf, version, epoch, waits, checked }: RestoredMark): AttributeValue => ({
  L: [
    ...[at, asOf, version, epoch].map(number),
    { BOOL: waits === true },
    ...(checked === undefined ? [] : [textValue(checked.by), number(checked.at)]),
  ],
});

/**
 * The brief as a list: the limits in the order of the meters, then the names in one text, then whether it is scheduled,
 * whether it asks a human, its title, its key, the trace that started it, and its labels. What is absent at its end is left
 * out.
 */
const briefValue = ({
  limits,
  cracks,
  isScheduled,
  asks,
  title,
  startKey,
  trace,
  labels,
}: RowBrief): AttributeValue => ({
  L: [
    ...METERS.map((meter) => numberOrNull(limits[meter]) ?? { NULL: true }),
    textValue(cracks.join(" ")),
    { BOOL: isScheduled },
    ...shortest([
      asks === true ? { BOOL: true } : null,
      textOrNull(title),
      textOrNull(startKey),
      textOrNull(trace),
      labelsValue(labels),
    ]),
  ],
});

const labelsValue = (labels: RowBrief["labels"]): AttributeValue | null =>
  labels === undefined
    ? null
    : { M: Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, textValue(value)])) };

/** Without the absent values at the end. */
const shortest = (values: readonly (AttributeValue | null)[]): AttributeValue[] =>
  values.slice(0, values.findLastIndex((value) => value !== null) + 1).map((value) => value ?? { NULL: true });

/** Which entries hold the journal of a row: the first `count` slots, if their bytes have this digest. */
export interface EntryNames {
  readonly count: number;
  readonly digest: string;
}

/** The journal of a row whose journal is in entries. Lists, which read no entries, show a row whose journal was not read. */
const IN_ENTRIES = new Uint8Array();

/** Null: the item itself holds the journal. */
export function entryNamesOf(item: TableItem): EntryNames | null {
  const [count, digest] = item[ATTRIBUTES.entries]?.L ?? [];
  return digest?.S === undefined ? null : { count: Number(count?.N), digest: digest.S };
}

/** How a row is laid out in the table. */
export interface Layout {
  /** The entries that hold its journal; null: the row itself does. */
  readonly names?: EntryNames | null;
  /** How many shards `byStatus` has. */
  readonly shards?: number;
}

/** The attributes of a row, by what they mean; null: the item does not have it. */
export const rowValues = (row: Row, { names = null, shards = 1 }: Layout = {}) =>
  ({
    born: textValue(row.born),
    format: number(row.format),
    level: levelIn(row) > LOWEST_LEVEL ? number(levelIn(row)) : null,
    parentRun: textOrNull(row.parent?.run),
    parentBorn: textOrNull(row.parent?.born),
    agent: textValue(row.agent),
    agentVersion: textValue(row.agentVersion),
    createdAt: number(row.createdAt),
    inputDigest: digestValue(row.inputDigest),
    epoch: number(row.epoch),
    owner: textOrNull(row.owner),
    leaseUntil: numberOrNull(row.leaseUntil),
    effectsSettleAt: number(row.effectsSettleAt),
    chain: number(row.chain),
    entryExecution: row.entry === null ? null : textValue(keys.shortExecution(row, row.entry.execution)),
    entryEpoch: numberOrNull(row.entry?.epoch),
    entryRetry: numberOrNull(row.entry?.retry),
    chainClaims: number(row.chainClaims),
    claimedAt: numberOrNull(row.claimedAt),
    version: number(row.version),
    commitId: digestValue(row.commitId),
    snapshotVersion: number(row.snapshot.version),
    snapshotKey: textValue(keys.shortKey(row, row.snapshot.key)),
    snapshotDigest: digestValue(row.snapshot.digest),
    journal: row.journal === null ? null : { B: names === null ? row.journal : IN_ENTRIES },
    entries: names === null ? null : { L: [number(names.count), textValue(names.digest)] },
    checksum: textOrNull(row.checksum),
    claims: number(row.claims),
    takeovers: row.takeovers === 0 ? null : number(row.takeovers),
    deaths: row.deaths === 0 ? null : number(row.deaths),
    unaccountedModelCalls: number(row.unaccountedModelCalls),
    marksAtClaim: number(row.marksAtClaim),
    outageStore: textOrNull(row.storeOutage?.store),
    outageSince: numberOrNull(row.storeOutage?.since),
    wakeCount: number(row.wakeCount),
    wakeCountSeen: number(row.wakeCountSeen),
    cancel: row.cancel ? flag : null,
    pause: row.pause ? flag : null,
    phase: textValue(row.phase),
    tenantStatus: textValue(keys.tenantStatus(row.tenant, row.status, keys.statusShard(row.run, shards))),
    since: textValue(keys.sinceOf(row.run, row.statusSince)),
    lastCheckpointAt: number(row.lastCheckpointAt),
    wakeAt: numberOrNull(row.wakeAt),
    parkToken: textOrNull(row.park?.token),
    parkExecution: row.park === null ? null : textValue(keys.shortExecution(row, row.park.entry.execution)),
    parkEpoch: numberOrNull(row.park?.entry.epoch),
    parkRetry: numberOrNull(row.park?.entry.retry),
    endNotified: row.endNotified ? flag : null,
    deadline: number(row.deadline),
    spent: spentValue(row.spent),
    alive: hasEnded(row) && row.endNotified ? null : number(keys.aliveShard(row.run)),
    due: hasEnded(row) && row.endNotified ? null : textValue(keys.dueOf(dueAt(row), row.run)),
    expiresAtSec: numberOrNull(row.expiresAtSec),
    redrive: row.redrive === undefined ? null : redriveValue(row.redrive),
    brief: row.brief === undefined ? null : briefValue(row.brief),
    restored: row.restored === undefined ? null : restoredValue(row.restored),
    dispatch: numberOrNull(row.dispatch),
  }) satisfies Partial<Record<Attribute, AttributeValue | null>>;

export type RowAttribute = keyof ReturnType<typeof rowValues>;

/** A digest or a draw in hexadecimal as its bytes, half as long: a beat's row has to stay within 1 KB. Another text as it is. */
const digestValue = (digest: string): AttributeValue =>
  HEXADECIMAL.test(digest) ? { B: new Uint8Array(Buffer.from(digest, "hex")) } : textValue(digest);

const HEXADECIMAL = /^(?:[0-9a-f]{2})+$/;

const textOrNull = (value: string | null | undefined): AttributeValue | null =>
  value == null ? null : textValue(value);
const numberOrNull = (value: number | null | undefined): AttributeValue | null =>
  value == null ? null : number(value);

export const rowItem = (row: Row, layout: Layout = {}): Record<string, AttributeValue> => ({
  ...itemKey(row.run, keys.ROW_ITEM),
  ...itemOf(rowValues(row, layout)),
});
