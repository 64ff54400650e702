/**
 * A run row as a store without types holds it. A row that cannot be decoded is damaged: no operation may decide from a
 * guess, and one damaged row must not break the pages that name it beside others.
 */
import * as z from "zod";
import type { MessageBody } from "../core/event.ts";
import { LEVEL, levelIn } from "../core/levels.ts";
import { PHASES, PHASE_NAMES, type Status } from "../core/phases.ts";
import type { Payload } from "../protocol/chain.ts";
import type { Entry } from "../protocol/entry.ts";
import { type Newer, newerFormat, newerLevel } from "../protocol/newer.ts";
import { FORMAT, type Incarnation, type Of, type Refused, type Row, present } from "../protocol/row.ts";
import { Unreadable } from "./canonical.ts";
import { isAsWritten } from "./checksum.ts";
import { impossibleIn } from "./row-range.ts";
import { messageBody, phase } from "./schema/event.ts";
import { spent } from "./schema/budget.ts";

/** The row of that run is there, and nothing may be decided from it. `why` never quotes what is stored. */
export abstract class RowUnreadable extends Unreadable {
  readonly run: string;
  readonly why: string;
  /** What every operation on it answers. */
  abstract readonly refused: Exclude<Refused, { readonly kind: "missing" }>;

  constructor(run: string, of: { readonly what: string; readonly why: string; readonly code: string }) {
    super(`${of.what}: ${of.why}`, of.code);
    this.run = run;
    this.why = of.why;
  }
}

/** It cannot be decoded. */
export class RowDamaged extends RowUnreadable {
  readonly refused: Extract<Refused, { readonly kind: "unreadable" }>;

  constructor(run: string, why: string) {
    super(run, { what: `the row of run ${run} is damaged`, why, code: "RowDamaged" });
    this.refused = { kind: "unreadable", why: `its row is damaged: ${why}` };
  }
}

/** A newer version of cairn wrote it, and goes on with it. */
export class RowNewer extends RowUnreadable {
  readonly refused: Newer;

  constructor(run: string, refused: Newer) {
    const { why } = refused;
    super(run, { what: `run ${run} waits for a newer version of cairn`, why, code: "RowNewer" });
    this.refused = refused;
  }
}

/** What a message says, as a store without types holds it. */
export function decodeBody(text: string, id: string): MessageBody {
  const found = messageBody.safeParse(jsonIn(text));
  if (!found.success) throw new Unreadable(`message ${id} is damaged: it is no message`, "MessageDamaged");
  return found.data;
}

/** What an execution carries, as a store without types holds it; null: it cannot be decoded. */
export const decodePayload = (text: string): Payload | null => payloadSchema.safeParse(jsonIn(text)).data ?? null;

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A row as a store found it. */
export type Found = Row | RowUnreadable;

const time = z.number();
const count = z.int().nonnegative();
const text = z.string();

const payloadSchema: z.ZodType<Payload> = z.looseObject({
  ...{ run: text, born: text, chain: count, epoch: count },
  // Absent in executions that began before a payload named it.
  agent: text.default(""),
});
const incarnation: z.ZodType<Incarnation> = z.looseObject({ run: text, born: text });
const entry: z.ZodType<Entry> = z.looseObject({ execution: text, epoch: count, retry: count });
const STATUSES: ReadonlySet<unknown> = new Set(["queued", ...PHASE_NAMES.map((name) => PHASES[name].status)]);

/** Types, and no more: ids and digests are judged where they are used. */
const rowSchema: z.ZodType<Row> = z.looseObject({
  ...{ run: text, born: text, parent: incarnation.nullable(), tenant: text, agent: text, agentVersion: text },
  ...{ createdAt: time, inputDigest: text, format: count },
  ...{ epoch: count, owner: text.nullable(), leaseUntil: time.nullable(), quietUntil: time },
  ...{ chain: count, entry: entry.nullable(), chainClaims: count, version: count, commitId: text },
  snapshot: z.looseObject({ version: count, key: text, digest: text }),
  journal: z.custom<Uint8Array | null>((value) => value === null || value instanceof Uint8Array),
  ...{ deaths: count, asks: count, will: z.literal([0, 1]) },
  storeOutage: z.looseObject({ store: text, since: time }).nullable(),
  ...{ claims: count, takeovers: count, stirs: count, stirsSeen: count, cancel: z.boolean(), pause: z.boolean() },
  ...{ status: z.custom<Status>((value) => STATUSES.has(value)), phase, statusSince: time, lastCheckpointAt: time },
  wakeAt: time.nullable(),
  park: z.looseObject({ token: text, entry }).nullable(),
  ...{ told: z.boolean(), deadline: time, spent, expiresAtSec: time.nullable() },
  ...{ level: count.exactOptional(), checksum: text.exactOptional() },
});

/** `run`: under which name it was found. */
export function decodeRow(value: unknown, run: string): Found {
  const found = rowSchema.safeParse(value);
  if (!found.success) return newerIn(value, run) ?? new RowDamaged(run, faultOf(found.error));
  const fault = found.data.run === run ? changeIn(found.data) : "it names another run";
  // The value itself: what a later version of this format added to any part of it is kept.
  return fault === null ? (value as Row) : new RowDamaged(run, fault);
}

/** What cannot be so in a row of the right shape; null where nothing is. */
export function changeIn(row: Row): string | null {
  if (row.format <= FORMAT) return isAsWritten(row) ? rangeFault(row) : NOT_AS_WRITTEN;
  // What another format covers is not known; but with the format of this code it may be the very row that was written.
  const isChanged = row.checksum !== undefined && isAsWritten({ ...row, format: FORMAT });
  return isChanged ? NOT_AS_WRITTEN : null;
}

const NOT_AS_WRITTEN = "it is not as its last commit wrote it";

function rangeFault(row: Row): string | null {
  const field = impossibleIn(row);
  return field === null ? null : `its field ${field} has a value that it cannot have beside the others`;
}

/** A row of a newer version may have another shape: what it needs is looked at before what it lacks. */
function newerIn(value: unknown, run: string): RowNewer | null {
  const { data } = versions.safeParse(value);
  return data === undefined ? null : newerBy(run, data);
}

const versions = z.looseObject({
  ...{ format: count, level: count.exactOptional(), epoch: count.catch(0), lastCheckpointAt: time.catch(0) },
});

/** Null where a process of that level knows what the row needs. */
export function newerBy(run: string, row: Needs, known: number = LEVEL): RowNewer | null {
  if (row.format > FORMAT) return new RowNewer(run, newerFormat(row.format, FORMAT));
  return levelIn(row) > known ? new RowNewer(run, newerLevel(row, known)) : null;
}

type Needs = Pick<Row, "format" | "level" | "epoch" | "lastCheckpointAt">;

/** Before anything of a run is read that a newer version may have written. */
export function assertKnown(row: Row, known?: number): void {
  const newer = newerBy(row.run, row, known);
  if (newer !== null) throw newer;
}

function faultOf({ issues: [issue] }: z.ZodError): string {
  const [field = ""] = issue?.path ?? [];
  return field === "" ? "it is no row" : `its field ${String(field)} is missing or has a value that it cannot have`;
}

/** `present` for a row as it was found: no store can tell of a damaged one which incarnation it is, or until when it stays. */
export const presentIn = (found: Found | null, of: Of): Row | Refused =>
  found instanceof RowUnreadable ? found.refused : present(found, of);

/** For a reader that cannot go on without the row. */
export function undamaged<R extends Row | null>(found: R | RowUnreadable): R {
  if (found instanceof RowUnreadable) throw found;
  return found;
}

/** What was found, in its two parts. */
export function parted(found: readonly Found[]): {
  readonly rows: readonly Row[];
  readonly damaged: readonly RowUnreadable[];
} {
  return {
    rows: found.filter((each): each is Row => !(each instanceof RowUnreadable)),
    damaged: found.filter((each) => each instanceof RowUnreadable),
  };
}
