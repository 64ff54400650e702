/**
 * A run row as a store without types holds it. A row that cannot be decoded is damaged: no operation may decide from a
 * guess, and one damaged row must not break the pages that name it beside others.
 */
import * as z from "zod";
import type { MessageBody } from "../core/event.ts";
import { PHASES, PHASE_NAMES, type Status } from "../core/phases.ts";
import type { Payload } from "../protocol/chain.ts";
import type { Entry } from "../protocol/entry.ts";
import { FORMAT, type Incarnation, type Of, type Refused, type Row, present } from "../protocol/row.ts";
import { Unreadable } from "./canonical.ts";
import { messageBody, phase } from "./schema.ts";
import { spent } from "./schema-budget.ts";

/** The row of that run is there and cannot be decoded. `why` never quotes what is stored. */
export class RowDamaged extends Unreadable {
  readonly run: string;
  readonly why: string;

  constructor(run: string, why: string) {
    super(`the row of run ${run} is damaged: ${why}`, "RowDamaged");
    this.run = run;
    this.why = why;
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

/** A row as a store found it: decoded, or damaged. */
export type Found = Row | RowDamaged;

const time = z.number();
const count = z.int().nonnegative();
const text = z.string();

const payloadSchema: z.ZodType<Payload> = z.looseObject({ run: text, born: text, chain: count, epoch: count });
const incarnation: z.ZodType<Incarnation> = z.object({ run: text, born: text });
const entry: z.ZodType<Entry> = z.object({ execution: text, epoch: count, retry: count });
const STATUSES: ReadonlySet<unknown> = new Set(["queued", ...PHASE_NAMES.map((name) => PHASES[name].status)]);

/** Types, and no more: ids and digests are judged where they are used. */
const rowSchema: z.ZodType<Row> = z.object({
  ...{ run: text, born: text, parent: incarnation.nullable(), tenant: text, agent: text, agentVersion: text },
  ...{ createdAt: time, inputDigest: text, format: count },
  ...{ epoch: count, owner: text.nullable(), leaseUntil: time.nullable(), quietUntil: time },
  ...{ chain: count, entry: entry.nullable(), chainClaims: count, version: count, commitId: text },
  snapshot: z.object({ version: count, key: text, digest: text }),
  journal: z.custom<Uint8Array | null>((value) => value === null || value instanceof Uint8Array),
  ...{ deaths: count, asks: count, will: z.literal([0, 1]) },
  storeOutage: z.object({ store: text, since: time }).nullable(),
  ...{ claims: count, takeovers: count, stirs: count, stirsSeen: count, cancel: z.boolean(), pause: z.boolean() },
  ...{ status: z.custom<Status>((value) => STATUSES.has(value)), phase, statusSince: time, lastCheckpointAt: time },
  wakeAt: time.nullable(),
  park: z.object({ token: text, entry }).nullable(),
  ...{ told: z.boolean(), deadline: time, spent, expiresAtSec: time.nullable() },
});

/** `run`: under which name it was found. */
export function decodeRow(value: unknown, run: string): Found {
  const found = rowSchema.safeParse(value);
  if (!found.success) return new RowDamaged(run, faultOf(value, found.error));
  // The value itself: what a later version of this format added to any part of it is kept.
  return found.data.run === run ? (value as Row) : new RowDamaged(run, "it names another run");
}

/** A row of a later version may have another shape. */
function faultOf(value: unknown, { issues: [issue] }: z.ZodError): string {
  const format = typeof value === "object" && value !== null && "format" in value ? value.format : FORMAT;
  if (typeof format === "number" && format !== FORMAT) return `it has format ${format}`;
  const [field = ""] = issue?.path ?? [];
  return field === "" ? "it is no row" : `its field ${String(field)} is missing or has a value that it cannot have`;
}

/** What every operation on a damaged row answers. */
export const refusedFor = ({ why }: RowDamaged) => ({ kind: "unreadable", why: `its row is damaged: ${why}` }) as const;

/** `present` for a row as it was found: no store can tell of a damaged one which incarnation it is, or until when it stays. */
export const presentIn = (found: Found | null, of: Of): Row | Refused =>
  found instanceof RowDamaged ? refusedFor(found) : present(found, of);

/** For a reader that cannot go on without the row. */
export function undamaged<R extends Row | null>(found: R | RowDamaged): R {
  if (found instanceof RowDamaged) throw found;
  return found;
}

/** What was found, in its two parts. */
export function parted(found: readonly Found[]): {
  readonly rows: readonly Row[];
  readonly damaged: readonly RowDamaged[];
} {
  return {
    rows: found.filter((each): each is Row => !(each instanceof RowDamaged)),
    damaged: found.filter((each) => each instanceof RowDamaged),
  };
}
