/**
 * The row in an item of DynamoDB. An item that lacks an attribute, or holds it in another shape, is a damaged row: cairn
 * must not decide anything from a guess (schedule 31).
 */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { METERS, type Spent } from "../../../core/policy/budget.ts";
import { tenantOf } from "../../../core/ids.ts";
import { type Phase, type Status, PHASES, PHASE_NAMES } from "../../../core/phases.ts";
import { type Found, RowDamaged, faultIn, otherBy } from "../../../codec/row.ts";
import type { Entry } from "../../../protocol/entry.ts";
import { timeIn } from "../../../protocol/ids.ts";
import type { RestoredMark } from "../../../protocol/restored.ts";
import type { RowBrief } from "../../../protocol/row-brief.ts";
import type { Incarnation, RedriveNote, Row } from "../../../protocol/row.ts";
import { ATTRIBUTES, type Attribute } from "./attributes.ts";
import { type EntryNames, type TableItem, entryNamesOf } from "./item.ts";
import * as keys from "./keys.ts";

/** The row in an item, or why it cannot be read. */
export function rowInItem(item: TableItem): Found {
  const read = new Reader(item);
  const of = { run: read.text("run"), born: read.text("born") };
  const format = read.number("format");
  const row = {
    ...of,
    parent: read.has("parentRun") ? { run: read.text("parentRun"), born: read.text("parentBorn") } : null,
    tenant: tenantOf(of.run),
    agent: read.text("agent"),
    agentVersion: read.text("agentVersion"),
    createdAt: read.number("createdAt"),
    inputDigest: read.digest("inputDigest"),
    epoch: read.number("epoch"),
    owner: read.has("owner") ? read.text("owner") : null,
    leaseUntil: read.has("leaseUntil") ? read.number("leaseUntil") : null,
    effectsSettleAt: read.number("effectsSettleAt"),
    chain: read.number("chain"),
    entry: read.entry(of, ["entryExecution", "entryEpoch", "entryRetry"]),
    chainClaims: read.number("chainClaims"),
    version: read.number("version"),
    commitId: read.digest("commitId"),
    snapshot: read.snapshot(of),
    journal: read.has("journal") ? read.bytes("journal") : null,
    claims: read.number("claims"),
    takeovers: read.has("takeovers") ? read.number("takeovers") : 0,
    deaths: read.has("deaths") ? read.number("deaths") : 0,
    unaccountedModelCalls: read.number("unaccountedModelCalls"),
    marksAtClaim: read.number("marksAtClaim") === 0 ? (0 as const) : (1 as const),
    storeOutage: read.storeOutage(),
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
    ...read.level(),
    ...(read.has("claimedAt") ? { claimedAt: read.number("claimedAt") } : {}),
    ...(read.has("redrive") ? { redrive: read.redrive() } : {}),
    ...(read.has("brief") ? { brief: read.brief() } : {}),
    ...(read.has("restored") ? { restored: read.restored() } : {}),
    ...(read.has("dispatch") ? { dispatch: read.number("dispatch") } : {}),
  };
  read.checkAlive(of.run);
  read.checkEntries(entryNamesOf(item));
  if (read.faulty === null) {
    return faultIn({ ...row, format }) ?? { ...row, format };
  }
  // An item of another format or level may have another shape.
  const other = read.faulty === "format" ? null : otherBy(of.run, { ...row, format });
  return other ?? new RowDamaged(of.run, faultOf(read.faulty));
}

const faultOf = (attribute: Attribute): string =>
  `its attribute ${ATTRIBUTES[attribute]} (${attribute}) is missing or has a value that it cannot have`;

const STATUSES: ReadonlySet<string> = new Set(["queued", ...PHASE_NAMES.map((phase) => PHASES[phase].status)]);

/** Reads typed values. A missing or malformed value becomes an empty one, and `faulty` remembers its attribute. */
class Reader {
  readonly #item: TableItem;
  /** The first attribute that could not be read; null if all could. */
  faulty: Attribute | null = null;

  constructor(item: TableItem) {
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

  /** Bytes in hexadecimal, or the text (`digestValue` in `item.ts`). */
  digest(attribute: Attribute): string {
    const bytes = this.#item[ATTRIBUTES[attribute]]?.B;
    return bytes === undefined ? this.text(attribute) : Buffer.from(bytes).toString("hex");
  }

  entry(incarnation: Incarnation, [execution, epoch, retry]: readonly [Attribute, Attribute, Attribute]): Entry | null {
    if (!this.has(execution)) return null;
    const name = keys.longExecution(incarnation, this.text(execution));
    return { execution: name, epoch: this.number(epoch), retry: this.number(retry) };
  }

  park(incarnation: Incarnation): Row["park"] {
    const entry = this.entry(incarnation, ["parkExecution", "parkEpoch", "parkRetry"]);
    return entry === null ? null : { token: this.text("parkToken"), entry };
  }

  snapshot(incarnation: Incarnation): Row["snapshot"] {
    const key = keys.longKey(incarnation, this.text("snapshotKey"));
    return { version: this.number("snapshotVersion"), key, digest: this.digest("snapshotDigest") };
  }

  storeOutage(): Row["storeOutage"] {
    if (!this.has("outageStore")) return null;
    return { store: this.text("outageStore"), since: this.number("outageSince") };
  }

  status(): Status {
    const [stored, run] = [this.text("tenantStatus"), this.text("run")];
    const { status, shard } = keys.partsOfStatus(stored);
    const isKey = stored === keys.tenantStatus(tenantOf(run), status as Status, shard);
    // A list reads the run from its shards only.
    const isSound = STATUSES.has(status) && isKey && keys.isStatusShard(run, shard);
    return this.#sound("tenantStatus", isSound ? (status as Status) : undefined, "running");
  }

  /** The level that the commits of the run need. It is recorded only where it is above the lowest. */
  level(): Pick<Row, "level"> {
    return this.has("level") ? { level: this.number("level") } : {};
  }

  since(): number {
    const [stored, run] = [this.text("since"), this.text("run")];
    const since = timeIn(stored);
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
      tokensIn: of(tokensIn),
      tokensOut: of(tokensOut),
      microUsd: of(microUsd),
      beats: of(beats),
      toolCalls: of(toolCalls),
      ...(wallMs === undefined ? {} : { wallMs: of(wallMs) }),
    };
  }

  redrive(): RedriveNote {
    const [id, by, why] = this.#item[ATTRIBUTES.redrive]?.L ?? [];
    const textOf = (value: AttributeValue | undefined): string => this.#sound("redrive", value?.S, "");
    return { id: textOf(id), by: textOf(by), why: textOf(why) };
  }

  restored(): RestoredMark {
    const [at, asOf, version, epoch, waits, by, checkedAt] = this.#item[ATTRIBUTES.restored]?.L ?? [];
    const of = (value: AttributeValue | undefined): number => this.#numberOf("restored", value);
    const checked = by === undefined ? {} : { checked: { by: this.#sound("restored", by.S, ""), at: of(checkedAt) } };
    return {
      at: of(at),
      asOf: of(asOf),
      version: of(version),
      epoch: of(epoch),
      ...(this.#sound("restored", waits?.BOOL, false) && { waits: true }),
      ...checked,
    };
  }

  brief(): RowBrief {
    const list = this.#item[ATTRIBUTES.brief]?.L ?? [];
    const limits = METERS.flatMap((meter, index) =>
      list[index]?.NULL === true ? [] : [[meter, this.#numberOf("brief", list[index])] as const],
    );
    const [names, isScheduled, asks, title, startKey, trace, labels] = list.slice(METERS.length);
    const cracks = this.#sound("brief", names?.S, "");
    return {
      limits: Object.fromEntries(limits),
      cracks: cracks === "" ? [] : cracks.split(" "),
      isScheduled: this.#sound("brief", isScheduled?.BOOL, false),
      ...(asks?.BOOL === true && { asks: true }),
      ...(title?.S !== undefined && { title: title.S }),
      ...(startKey?.S !== undefined && { startKey: startKey.S }),
      ...(trace?.S !== undefined && { trace: trace.S }),
      ...(labels?.M !== undefined && {
        labels: Object.fromEntries(Object.entries(labels.M).map(([name, { S = "" }]) => [name, S])),
      }),
    };
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
