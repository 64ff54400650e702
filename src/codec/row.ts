/**
 * Decodes run rows, message bodies and payloads that come out of an untyped store. A row that cannot be decoded is
 * *damaged*: every operation refuses to act on it. A list that contains a damaged row still shows the other rows.
 */
import * as z from "zod";
import type { MessageBody } from "../core/event.ts";
import { LEVEL, levelIn } from "../core/levels.ts";
import { PHASES, PHASE_NAMES, type Status } from "../core/phases.ts";
import type { Payload } from "../protocol/chain.ts";
import type { Entry } from "../protocol/entry.ts";
import type { RestoredMark } from "../protocol/restored.ts";
import type { RowBrief } from "../protocol/row-brief.ts";
import { BEFORE_RELEASE, type Foreign, OTHER_SCHEMAS } from "../protocol/foreign.ts";
import { type Newer, newerFormat, newerLevel } from "../protocol/newer.ts";
import {
  FORMAT,
  type Incarnation,
  type ListedRow,
  type RunRef,
  type Refused,
  type Row,
  presentRow,
} from "../protocol/row.ts";
import { Unreadable } from "./canonical.ts";
import { hasOwnForms, isAsWritten } from "./checksum.ts";
import { impossibleIn } from "./row-range.ts";
import { messageBody, phase } from "./schema/event.ts";
import { spent } from "./schema/budget.ts";

/** The row of that run exists, but no operation may act on it. `why` never quotes stored data. */
export abstract class RowUnreadable extends Unreadable {
  readonly run: string;
  readonly why: string;
  /** The refusal that every operation on the run returns. */
  abstract readonly refused: Exclude<Refused, { readonly kind: "missing" }>;

  constructor(
    run: string,
    { what, why, code }: { readonly what: string; readonly why: string; readonly code: string },
  ) {
    super(`${what}: ${why}`, code);
    this.run = run;
    this.why = why;
  }
}

/** The row cannot be decoded, or it fails its checksum or its range checks. */
export class RowDamaged extends RowUnreadable {
  readonly refused: Extract<Refused, { readonly kind: "unreadable" }>;

  constructor(run: string, why: string) {
    super(run, { what: `the row of run ${run} is damaged`, why, code: "RowDamaged" });
    this.refused = { kind: "unreadable", why: `its row is damaged: ${why}` };
  }
}

/** A newer version of cairn wrote the row; only a process of that version continues the run. */
export class RowNewer extends RowUnreadable {
  readonly refused: Newer;

  constructor(run: string, refused: Newer) {
    const { why } = refused;
    super(run, { what: `run ${run} waits for a newer version of cairn`, why, code: "RowNewer" });
    this.refused = refused;
  }
}

/** An undamaged row that this version does not read, and that no newer version reads either. */
export class RowForeign extends RowUnreadable {
  readonly refused: Extract<Refused, { readonly kind: "unreadable" }>;

  constructor(run: string, { code, says }: Foreign) {
    super(run, { what: `run ${run} cannot be read`, why: `it ${says}`, code });
    this.refused = { kind: "unreadable", why: `it ${says}` };
  }
}

/** The body of a message from its stored JSON text. Throws `Unreadable` (`MessageDamaged`). */
export function decodeBody(text: string, id: string): MessageBody {
  const found = messageBody.safeParse(jsonIn(text));
  if (!found.success) throw new Unreadable(`message ${id} is damaged: its body is invalid`, "MessageDamaged");
  return found.data;
}

/** The payload of an execution from its JSON text; null if it cannot be decoded. */
export const decodePayload = (text: string): Payload | null => payloadSchema.safeParse(jsonIn(text)).data ?? null;

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A row as a store returns it: decoded, or the reason why it is unreadable. */
export type Found = Row | RowUnreadable;

const time = z.number();
const count = z.int().nonnegative();
const text = z.string();

export const payloadSchema: z.ZodType<Payload> = z.looseObject({
  run: text,
  born: text,
  chain: count,
  epoch: count,
  agent: text,
});
const incarnation: z.ZodType<Incarnation> = z.looseObject({ run: text, born: text });
const entry: z.ZodType<Entry> = z.looseObject({ execution: text, epoch: count, retry: count });
const STATUSES: ReadonlySet<unknown> = new Set(["queued", ...PHASE_NAMES.map((name) => PHASES[name].status)]);

const limit = count.exactOptional();
/** A newer version may add a field that is no count. */
const brief: z.ZodType<RowBrief> = z.looseObject({
  limits: z.looseObject({ beats: limit, microUsd: limit, tokens: limit, wallMs: limit, toolCalls: limit }),
  cracks: z.array(text),
  isScheduled: z.boolean(),
  asks: z.literal(true).exactOptional(),
  title: text.exactOptional(),
  startKey: text.exactOptional(),
  trace: text.exactOptional(),
  labels: z.record(text, text).exactOptional(),
});

const restoredMark: z.ZodType<RestoredMark> = z.looseObject({
  at: time,
  asOf: time,
  version: count,
  epoch: count,
  waits: z.literal(true).exactOptional(),
  checked: z.looseObject({ by: text, at: time }).exactOptional(),
});

/** Checks types only: the code that uses an ID or a digest validates it. */
export const rowSchema: z.ZodType<Row> = z.looseObject({
  run: text,
  born: text,
  parent: incarnation.nullable(),
  tenant: text,
  agent: text,
  agentVersion: text,
  createdAt: time,
  inputDigest: text,
  format: count,
  epoch: count,
  owner: text.nullable(),
  leaseUntil: time.nullable(),
  effectsSettleAt: time,
  chain: count,
  entry: entry.nullable(),
  chainClaims: count,
  version: count,
  commitId: text,
  snapshot: z.looseObject({ version: count, key: text, digest: text }),
  journal: z.custom<Uint8Array | null>((value) => value === null || value instanceof Uint8Array),
  deaths: count,
  unaccountedModelCalls: count,
  marksAtClaim: z.literal([0, 1]),
  storeOutage: z.looseObject({ store: text, since: time }).nullable(),
  claims: count,
  takeovers: count,
  wakeCount: count,
  wakeCountSeen: count,
  cancel: z.boolean(),
  pause: z.boolean(),
  status: z.custom<Status>((value) => STATUSES.has(value)),
  phase,
  statusSince: time,
  lastCheckpointAt: time,
  wakeAt: time.nullable(),
  park: z.looseObject({ token: text, entry }).nullable(),
  endNotified: z.boolean(),
  deadline: time,
  spent,
  expiresAtSec: time.nullable(),
  level: count.exactOptional(),
  checksum: text.exactOptional(),
  claimedAt: time.exactOptional(),
  brief: brief.exactOptional(),
  restored: restoredMark.exactOptional(),
  dispatch: count.exactOptional(),
});

/**
 * Zod would compile the schema for the first row, which takes a fresh process 4 ms. Each further row would take 7 µs less
 * (`bench/start.ts` measures the first load).
 */
const UNCOMPILED = { jitless: true } as const;

/** Decodes and verifies a stored row. `run` is the ID under which the store found it. */
export function decodeRow(value: unknown, run: string): Found {
  const found = rowSchema.safeParse(value, UNCOMPILED);
  if (!found.success) return otherIn(value, run) ?? new RowDamaged(run, faultOf(found.error));
  const fault = found.data.run === run ? faultIn(found.data) : new RowDamaged(run, "it names another run");
  // Return the value itself, not the parsed copy, so that fields from a later version of this format are kept.
  return fault ?? (value as Row);
}

/** Why a row of the right shape cannot be read (format, fingerprint, checksum or range); null if it is intact. */
export function faultIn(row: Row): RowDamaged | RowForeign | null {
  const damaged = (why: string): RowDamaged => new RowDamaged(row.run, why);
  const foreign = foreignBy(row);
  if (row.format === FORMAT && foreign === null) {
    const why = isAsWritten(row) ? rangeFault(row) : NOT_AS_WRITTEN;
    return why === null ? null : damaged(why);
  }
  // This code does not know what the checksum of another format covers. If its digests fit with this code's format
  // number, only that number or the fingerprint was changed: the row is damaged.
  if (row.checksum !== undefined && isAsWritten({ ...row, format: FORMAT })) return damaged(NOT_AS_WRITTEN);
  return foreign === null ? null : new RowForeign(row.run, foreign);
}

const NOT_AS_WRITTEN = "its checksum does not match: it was changed after its last commit";

function rangeFault(row: Row): string | null {
  const field = impossibleIn(row);
  return field === null ? null : `its field ${field} has a value that contradicts its other fields`;
}

/** A row of another format or level may have another shape, so these are read before a fault is reported. */
function otherIn(value: unknown, run: string): RowNewer | RowForeign | null {
  const { data } = versions.safeParse(value);
  return data === undefined ? null : otherBy(run, data);
}

/** The refusal of a row with a shape that this code does not know; null if its format and level are those of this code. */
export function otherBy(run: string, row: Needs): RowNewer | RowForeign | null {
  const foreign = foreignBy(row);
  return foreign === null ? newerBy(run, row) : new RowForeign(run, foreign);
}

function foreignBy(row: Needs): Foreign | null {
  if (row.format < FORMAT) return BEFORE_RELEASE;
  return row.format === FORMAT && !hasOwnForms(row) ? OTHER_SCHEMAS : null;
}

const versions = z.looseObject({
  format: count,
  level: count.exactOptional(),
  epoch: count.catch(0),
  lastCheckpointAt: time.catch(0),
  checksum: text.exactOptional(),
});

/** The refusal of a row that needs a newer format or level; null if a process of level `known` can continue the run. */
export function newerBy(run: string, row: Needs, known: number = LEVEL): RowNewer | null {
  if (row.format > FORMAT) return new RowNewer(run, newerFormat(row.format, FORMAT));
  return levelIn(row) > known ? new RowNewer(run, newerLevel(row, known)) : null;
}

type Needs = Pick<Row, "format" | "level" | "epoch" | "lastCheckpointAt" | "checksum">;

/** Throws `RowNewer`. Call it before reading any object of a run that a newer version may have written. */
export function assertKnown(row: Row, known?: number): void {
  const newer = newerBy(row.run, row, known);
  if (newer !== null) throw newer;
}

function faultOf({ issues: [issue] }: z.ZodError): string {
  const [field = ""] = issue?.path ?? [];
  return field === "" ? "it is not an object" : `its field ${String(field)} is missing or has an invalid value`;
}

/** `presentRow` for a row as the store returned it. A damaged row is refused: its incarnation and expiry are unknown. */
export const presentIn = (found: Found | null, ref: RunRef): Row | Refused =>
  found instanceof RowUnreadable ? found.refused : presentRow(found, ref);

/** The row itself; throws the `RowUnreadable` for readers that cannot continue without the row. */
export function undamaged<R extends Row | null>(found: R | RowUnreadable): R {
  if (found instanceof RowUnreadable) throw found;
  return found;
}

/** The row as a list shows it in every world, whether or not the store has read the journal. */
const withoutJournal = ({ journal: _, ...row }: Row): ListedRow => row;

/** Splits what a store listed into readable rows and unreadable ones. */
export function parted(found: readonly Found[]): {
  readonly rows: readonly ListedRow[];
  readonly damaged: readonly RowUnreadable[];
} {
  return {
    rows: found.flatMap((each) => (each instanceof RowUnreadable ? [] : [withoutJournal(each)])),
    damaged: found.filter((each) => each instanceof RowUnreadable),
  };
}
