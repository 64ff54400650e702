/**
 * A run row as an item of DynamoDB, and back. An item that lacks an attribute, or holds it in another shape, is a
 * damaged row: cairn must not decide anything from a guess (schedule 31).
 */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Spent } from "../../../core/policy/budget.ts";
import { LOWEST_LEVEL, levelIn } from "../../../core/levels.ts";
import { type Phase, type Status, PHASES, PHASE_NAMES } from "../../../core/phases.ts";
import { type Found, RowDamaged, changeIn, newerBy } from "../../../codec/row.ts";
import type { Entry } from "../../../protocol/entry.ts";
import { dueAt } from "../../../protocol/due.ts";
import { type Incarnation, type Row, type RedriveNote, hasEnded } from "../../../protocol/row.ts";
import { UNCOUNTED } from "../../../protocol/uncounted.ts";
import { ATTRIBUTES, type Attribute } from "./attributes.ts";
import { flag, number, text } from "./expression.ts";
import * as keys from "./keys.ts";

export type Item = Readonly<Record<string, AttributeValue>>;

/** An item of these attributes, named by what they mean; null leaves an attribute out. */
export function itemOf(
  values: Readonly<Partial<Record<Attribute, AttributeValue | null>>>,
): Record<string, AttributeValue> {
  const given = Object.entries(values).flatMap(([attribute, value]) =>
    value === null ? [] : [[ATTRIBUTES[attribute as Attribute], value] as const],
  );
  return Object.fromEntries(given);
}

export const keyOf = (run: string, item: string): Record<string, AttributeValue> =>
  itemOf({ run: text(run), item: text(item) });

/** The spent budget as a list. The working time is in it only for runs that limit it. */
const spentValue = ({ tokensIn, tokensOut, microUsd, beats, toolCalls, wallMs }: Spent): AttributeValue => ({
  L: [tokensIn, tokensOut, microUsd, beats, toolCalls, ...(wallMs === undefined ? [] : [wallMs])].map(number),
});

/** The note of a redrive as a list, in the order in which `redrive` reads it. */
const redriveValue = ({ id, by, why }: RedriveNote): AttributeValue => ({
  L: [text(id), text(by), text(why)],
});

/** Which entries hold the journal of a row: the first `count` slots, if their bytes have this digest. */
export interface EntryNames {
  readonly count: number;
  readonly digest: string;
}

/**
 * The journal of a row whose journal is in entries. Older code takes zero bytes for a journal that was not read, and
 * the level of the row keeps it from going on with the run.
 */
const IN_ENTRIES = new Uint8Array();

/** Null: the item itself holds the journal. */
export function entryNamesOf(item: Item): EntryNames | null {
  const [count, digest] = item[ATTRIBUTES.entries]?.L ?? [];
  return digest?.S === undefined ? null : { count: Number(count?.N), digest: digest.S };
}

/** The attributes of a row, by what they mean; null: the item does not have it. */
export const rowValues = (row: Row, names: EntryNames | null = null) =>
  ({
    born: text(row.born),
    format: number(row.format),
    level: levelIn(row) > LOWEST_LEVEL ? number(levelIn(row)) : null,
    parentRun: textOrNull(row.parent?.run),
    parentBorn: textOrNull(row.parent?.born),
    agent: text(row.agent),
    agentVersion: text(row.agentVersion),
    createdAt: number(row.createdAt),
    inputDigest: text(row.inputDigest),
    epoch: number(row.epoch),
    owner: textOrNull(row.owner),
    leaseUntil: numberOrNull(row.leaseUntil),
    effectsSettleAt: number(row.effectsSettleAt),
    chain: number(row.chain),
    entryExecution: row.entry === null ? null : text(keys.shortExecution(row, row.entry.execution)),
    entryEpoch: numberOrNull(row.entry?.epoch),
    entryRetry: numberOrNull(row.entry?.retry),
    chainClaims: number(row.chainClaims),
    version: number(row.version),
    commitId: text(row.commitId),
    snapshotVersion: number(row.snapshot.version),
    snapshotKey: text(keys.shortKey(row, row.snapshot.key)),
    snapshotDigest: text(row.snapshot.digest),
    journal: row.journal === null ? null : { B: names === null ? row.journal : IN_ENTRIES },
    entries: names === null ? null : { L: [number(names.count), text(names.digest)] },
    checksum: textOrNull(row.checksum),
    claims: number(row.claims),
    takeovers: number(row.takeovers),
    deaths: row.deaths === 0 ? null : number(row.deaths),
    asks: number(row.asks),
    will: number(row.will),
    outageStore: textOrNull(row.storeOutage?.store),
    outageSince: numberOrNull(row.storeOutage?.since),
    wakeCount: number(row.wakeCount),
    wakeCountSeen: number(row.wakeCountSeen),
    cancel: row.cancel ? flag : null,
    pause: row.pause ? flag : null,
    phase: text(row.phase),
    tenantStatus: text(keys.tenantStatus(row.tenant, row.status)),
    since: text(keys.sinceOf(row.run, row.statusSince)),
    lastCheckpointAt: number(row.lastCheckpointAt),
    wakeAt: numberOrNull(row.wakeAt),
    parkToken: textOrNull(row.park?.token),
    parkExecution: row.park === null ? null : text(keys.shortExecution(row, row.park.entry.execution)),
    parkEpoch: numberOrNull(row.park?.entry.epoch),
    parkRetry: numberOrNull(row.park?.entry.retry),
    endNotified: row.endNotified ? flag : null,
    deadline: number(row.deadline),
    spent: spentValue(row.spent),
    alive: hasEnded(row) && row.endNotified ? null : number(keys.aliveShard(row.run)),
    due: hasEnded(row) && row.endNotified ? null : text(keys.dueOf(dueAt(row), row.run)),
    expiresAtSec: numberOrNull(row.expiresAtSec),
    redrive: row.redrive === undefined ? null : redriveValue(row.redrive),
  }) satisfies Partial<Record<Attribute, AttributeValue | null>>;

export type RowAttribute = keyof ReturnType<typeof rowValues>;

const textOrNull = (value: string | null | undefined): AttributeValue | null => (value == null ? null : text(value));
const numberOrNull = (value: number | null | undefined): AttributeValue | null =>
  value == null ? null : number(value);

export const rowItem = (row: Row): Record<string, AttributeValue> => ({
  ...keyOf(row.run, keys.ROW_ITEM),
  ...itemOf(rowValues(row)),
});

/** The row in an item, or why it cannot be read. */
export function rowOf(item: Item): Found {
  const read = new Reader(item);
  const of = { run: read.text("run"), born: read.text("born") };
  const format = read.number("format");
  const row = {
    ...of,
    parent: read.has("parentRun") ? { run: read.text("parentRun"), born: read.text("parentBorn") } : null,
    tenant: keys.tenantOf(of.run),
    agent: read.text("agent"),
    agentVersion: read.text("agentVersion"),
    createdAt: read.number("createdAt"),
    inputDigest: read.text("inputDigest"),
    epoch: read.number("epoch"),
    owner: read.has("owner") ? read.text("owner") : null,
    leaseUntil: read.has("leaseUntil") ? read.number("leaseUntil") : null,
    effectsSettleAt: read.number("effectsSettleAt"),
    chain: read.number("chain"),
    entry: read.entry(of, ["entryExecution", "entryEpoch", "entryRetry"]),
    chainClaims: read.number("chainClaims"),
    version: read.number("version"),
    commitId: read.text("commitId"),
    snapshot: read.snapshot(of),
    journal: read.has("journal") ? read.bytes("journal") : null,
    claims: read.number("claims"),
    takeovers: read.number("takeovers"),
    ...read.accounts(),
    wakeCount: read.number("wakeCount"),
    wakeCountSeen: read.number("wakeCountSeen"),
    cancel: read.has("cancel"),
    pause: read.has("pause"),
    status: read.status(),
    phase: read.phase(),
    statusSince: read.since(),
    lastCheckpointAt: read.number("lastCheckpointAt"),
    wakeAt: read.has("wakeAt") ? read.number("wakeAt") : null,
    park: read.park(of),
    endNotified: read.has("endNotified"),
    deadline: read.number("deadline"),
    spent: read.spent(),
    expiresAtSec: read.has("expiresAtSec") ? read.number("expiresAtSec") : null,
    ...(read.has("checksum") ? { checksum: read.text("checksum") } : {}),
    ...(read.has("level") ? { level: read.number("level") } : {}),
    ...(read.has("redrive") ? { redrive: read.redrive() } : {}),
  };
  read.checkAlive(of.run);
  read.checkEntries(entryNamesOf(item));
  if (read.faulty === null) {
    const fault = changeIn({ ...row, format });
    return fault === null ? { ...row, format } : new RowDamaged(of.run, fault);
  }
  // An item that a newer version wrote may have another shape.
  return newerBy(of.run, { ...row, format }) ?? new RowDamaged(of.run, faultOf(read.faulty));
}

const faultOf = (attribute: Attribute): string =>
  `its attribute ${ATTRIBUTES[attribute]} (${attribute}) is missing or has a value that it cannot have`;

const STATUSES: ReadonlySet<string> = new Set(["queued", ...PHASE_NAMES.map((phase) => PHASES[phase].status)]);

/** Reads typed values. A missing or malformed value becomes an empty one, and `faulty` remembers its attribute. */
class Reader {
  readonly #item: Item;
  /** The first attribute that could not be read; null if all could. */
  faulty: Attribute | null = null;

  constructor(item: Item) {
    this.#item = item;
  }

  has(attribute: Attribute): boolean {
    return this.#item[ATTRIBUTES[attribute]] !== undefined;
  }

  text(attribute: Attribute): string {
    return this.#sound(attribute, this.#item[ATTRIBUTES[attribute]]?.S, "");
  }

  number(attribute: Attribute): number {
    return this.#numberOf(attribute, this.#item[ATTRIBUTES[attribute]]);
  }

  bytes(attribute: Attribute): Uint8Array {
    return this.#sound(attribute, this.#item[ATTRIBUTES[attribute]]?.B, new Uint8Array());
  }

  entry(of: Incarnation, [execution, epoch, retry]: readonly [Attribute, Attribute, Attribute]): Entry | null {
    if (!this.has(execution)) return null;
    const name = keys.longExecution(of, this.text(execution));
    return { execution: name, epoch: this.number(epoch), retry: this.number(retry) };
  }

  park(of: Incarnation): Row["park"] {
    const entry = this.entry(of, ["parkExecution", "parkEpoch", "parkRetry"]);
    return entry === null ? null : { token: this.text("parkToken"), entry };
  }

  snapshot(of: Incarnation): Row["snapshot"] {
    const key = keys.longKey(of, this.text("snapshotKey"));
    return { version: this.number("snapshotVersion"), key, digest: this.text("snapshotDigest") };
  }

  /** Rows from before cairn counted these have none of them. */
  accounts(): Pick<Row, "deaths" | "asks" | "will" | "storeOutage"> {
    return {
      ...UNCOUNTED,
      ...(this.has("deaths") && { deaths: this.number("deaths") }),
      ...(this.has("asks") && { asks: this.number("asks") }),
      ...(this.has("will") && { will: this.number("will") === 0 ? 0 : 1 }),
      ...(this.has("outageStore") && {
        storeOutage: { store: this.text("outageStore"), since: this.number("outageSince") },
      }),
    };
  }

  status(): Status {
    const [stored, tenant] = [this.text("tenantStatus"), keys.tenantOf(this.text("run"))];
    const status = keys.statusOf(stored) as Status;
    const isSound = STATUSES.has(status) && stored === keys.tenantStatus(tenant, status);
    return this.#sound("tenantStatus", isSound ? status : undefined, "running");
  }

  since(): number {
    const [stored, run] = [this.text("since"), this.text("run")];
    const since = keys.timeOf(stored);
    return this.#sound("since", stored === keys.sinceOf(run, since) ? since : undefined, 0);
  }

  /** In a wrong shard the sweeper would not find the run. */
  checkAlive(run: string): void {
    if (this.has("alive") && this.number("alive") !== keys.aliveShard(run)) this.#sound("alive", undefined, 0);
  }

  checkEntries(names: EntryNames | null): void {
    const isSound = names !== null && Number.isInteger(names.count) && names.count > 0;
    if (this.has("entries") && !isSound) this.#sound("entries", undefined, 0);
  }

  phase(): Phase {
    const phase = this.text("phase");
    return this.#sound("phase", Object.hasOwn(PHASES, phase) ? (phase as Phase) : undefined, "Preparing");
  }

  spent(): Spent {
    const [tokensIn, tokensOut, microUsd, beats, toolCalls, wallMs] = this.#item[ATTRIBUTES.spent]?.L ?? [];
    const of = (value: AttributeValue | undefined): number => this.#numberOf("spent", value);
    return {
      ...{ tokensIn: of(tokensIn), tokensOut: of(tokensOut), microUsd: of(microUsd) },
      ...{ beats: of(beats), toolCalls: of(toolCalls) },
      ...(wallMs === undefined ? {} : { wallMs: of(wallMs) }),
    };
  }

  redrive(): RedriveNote {
    const [id, by, why] = this.#item[ATTRIBUTES.redrive]?.L ?? [];
    const textOf = (value: AttributeValue | undefined): string => this.#sound("redrive", value?.S, "");
    return { id: textOf(id), by: textOf(by), why: textOf(why) };
  }

  #numberOf(attribute: Attribute, value: AttributeValue | undefined): number {
    const found = Number(value?.N);
    return this.#sound(attribute, Number.isFinite(found) ? found : undefined, 0);
  }

  #sound<T>(attribute: Attribute, value: T | undefined, empty: T): T {
    if (value === undefined) this.faulty ??= attribute;
    return value ?? empty;
  }
}
