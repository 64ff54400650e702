/**
 * The audit log: who did what, to what, when, from where and why, and what came of it.
 *
 * The record is stored before the operation acts, so there is no change without a record: if the record cannot be
 * stored, nothing is done. A process that dies in between leaves a record without an outcome, as does an operation that
 * is under way. The outcome is added once, afterwards; nothing else of a record ever changes. A record has its own
 * retention, since it must outlive the run that a purge removes.
 */
import * as z from "zod";
import { SIZES } from "../../codec/limits.ts";
import { sentenceOf } from "../../codec/value.ts";
import { isRunId, tenantOf } from "../../core/ids.ts";
import type { Json } from "../../core/json.ts";
import { redactionIn, learnSecrets } from "../../history/secrets.ts";
import { resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";
import { alarm } from "../../history/alarm.ts";
import type { DamagedRecord, NewRecord, StoredRecord } from "../../ports/records.ts";
import { StoreUnreachable, type World } from "../../ports/world.ts";
import { timeIn, timeText } from "../../protocol/ids.ts";
import type { OperationContext, CommandTyped } from "../operation.ts";

/** One record as the log shows it. `at`: epoch milliseconds. */
export interface AuditEntry {
  readonly at: number;
  readonly id: string;
  readonly tenant: string;
  /** Null: it was about no run. */
  readonly run: string | null;
  /** The command that does the same. */
  readonly operation: string;
  readonly actor: string;
  /** The ID of the access token that identified the actor; null without one. */
  readonly token: string | null;
  readonly from: string | null;
  /** What it was about, within the run: a gate, a call, an operator. No text that a human or a model wrote. */
  readonly details: Json;
  readonly why: string | null;
  /**
   * What came of it; null: it is under way, or its process died, so the run shows whether it happened. `unreadable`: the
   * record is damaged.
   */
  readonly outcome: string | null;
}

export const body = z.strictObject({
  operation: z.string(),
  actor: z.string(),
  token: z.string().nullable(),
  from: z.string().nullable(),
  run: z.string().nullable(),
  details: z.unknown(),
  why: z.string().nullable(),
  outcome: z.string().nullable(),
});

/** A change that is about to happen. */
export interface AuditedChange {
  readonly typed: readonly CommandTyped[];
  readonly input: object;
  readonly run: string | null;
}

/** Fields of inputs that name something. Fields with content, such as a text or arguments, stay out of the log. */
const NAMES = [
  "agent",
  "gate",
  "call",
  "event",
  "endpoint",
  "notification",
  "as",
  "to",
  "id",
  "name",
  "scope",
  "scopes",
  "lifeMs",
  "at",
  "compensate",
  "confirmed",
  "keepArchive",
  "forgetKey",
  "all",
] as const;

/** Fields in which the actor says why. */
const REASONS = ["why", "note"] as const;

const DETAIL_CHARACTERS_MAX = 128;

/** Stores who does what, then does it, then adds what came of it. */
export async function recorded<Outcome extends { readonly kind: string }>(
  context: OperationContext,
  change: AuditedChange,
  act: () => Promise<Outcome>,
): Promise<Outcome> {
  // An ID of another form names no run, so the operation changes none.
  if (change.run !== null && !isRunId(change.run)) return act();
  const { world } = context;
  const record = await recordOf(context, change);
  // Its ID is random: a record that exists is this one, of a write whose answer was lost.
  await resolveAmbiguousWrite(
    () => world.records.add(record, record.at),
    () => null,
  );
  const outcome = await act();
  await addOutcome(world, { ...record, version: 1 }, outcome.kind);
  return outcome;
}

/** The operation has happened, so its caller gets the outcome, whether or not the log gets it. */
async function addOutcome(world: World, record: StoredRecord, outcome: string): Promise<void> {
  const next = { ...record, body: { ...(record.body as Readonly<Record<string, Json>>), outcome } };
  try {
    await resolveAmbiguousWrite(
      () => world.records.replace(next, world.clock.now()),
      () => null,
    );
  } catch (error) {
    if (!(error instanceof StoreUnreachable)) throw error;
    alarm(world, "", {
      what: "StoreUnavailable",
      why: `the outcome of audit record ${record.id} is not stored: ${sentenceOf(error)}`,
    });
  }
}

async function recordOf(context: OperationContext, { typed, input, run }: AuditedChange): Promise<NewRecord> {
  const { world, by, origin } = context;
  const at = world.clock.now();
  const given: Readonly<Record<string, unknown>> = { ...input };
  const why = REASONS.map((name) => given[name]).find((text) => typeof text === "string" && text !== "");
  if (why !== undefined) await learnSecrets(world);
  const clean = (text: string, charactersMax: number): string =>
    redactionIn(world).text(text).slice(0, charactersMax).toWellFormed();
  const details = Object.fromEntries(
    NAMES.flatMap((name) => {
      const value = given[name];
      if (value === undefined || value === null || value === false) return [];
      return [[name, typeof value === "string" ? clean(value, DETAIL_CHARACTERS_MAX) : (value as Json)]];
    }),
  );
  const tenant = run === null ? context.tenant : tenantOf(run);
  return {
    kind: "audit",
    about: run ?? tenant,
    tenant,
    at,
    id: `${timeText(at)}-${nextOf(world)}${world.random.hex().slice(0, 12)}`,
    expiresAtSec: Math.ceil((at + world.limits.auditMs) / 1_000),
    body: {
      operation: commandOf(typed, given),
      actor: clean(by, DETAIL_CHARACTERS_MAX),
      run,
      details,
      outcome: null,
      token: origin?.token ?? null,
      from: origin?.from ?? null,
      why: typeof why === "string" ? clean(why, SIZES.whyCharactersMax) : null,
    },
  };
}

/** IDs sort by time, and those of one process within a millisecond by their order. */
const ORDER_DIGITS = 4;

const made = new WeakMap<World, number>();

function nextOf(world: World): string {
  const count = ((made.get(world) ?? -1) + 1) % 16 ** ORDER_DIGITS;
  made.set(world, count);
  return count.toString(16).padStart(ORDER_DIGITS, "0");
}

/** `approve` and `deny` are two commands of one operation, and an option may select another operation. */
function commandOf(typed: readonly CommandTyped[], given: Readonly<Record<string, unknown>>): string {
  const meant = typed.find(({ command }) => command === given["as"]) ?? typed[0];
  return [meant?.command, meant?.option].filter((word) => word !== undefined).join(" ");
}

export interface AuditPage {
  readonly kind: "listed";
  readonly entries: readonly AuditEntry[];
  /** The cursor of the next page; null if there is none. A page may be empty and still have a next one. */
  readonly next: string | null;
}

const PAGE = 100;
/** How many records one answer looks at, whatever it filters. */
const PAGES_MAX = 10;

/** The log of a tenant or of one run, newest first. */
export async function readAudit(
  world: World,
  query: {
    readonly tenant: string;
    readonly run: string | null;
    /** Null: every actor. */
    readonly actor: string | null;
    /** Epoch milliseconds; null: from the beginning. */
    readonly since: number | null;
    readonly after: string | null;
  },
): Promise<AuditPage> {
  const by = query.run === null ? { tenant: query.tenant } : { about: query.run };
  const entries: AuditEntry[] = [];
  let { after } = query;
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const { records, damaged, next } = await world.records.list({
      kind: "audit",
      by,
      after,
      limit: PAGE,
      now: world.clock.now(),
    });
    const mine = records.map(entryOf);
    const unread = damaged.map((each) => damagedEntry(each, query.tenant));
    // IDs sort by time. Who made the change of a damaged record is not known, so each actor's log has it.
    const read = [...mine, ...unread].toSorted((one, other) => (one.id < other.id ? 1 : -1));
    const since = query.since ?? 0;
    const isMeant = (each: AuditEntry): boolean =>
      query.actor === null || each.actor === query.actor || unread.includes(each);
    entries.push(...read.filter((each) => each.at >= since && isMeant(each)));
    after = read.some(({ at }) => at < since) ? null : next;
    if (after === null || entries.length >= PAGE) break;
  }
  return { kind: "listed", entries, next: after };
}

function entryOf(record: StoredRecord): AuditEntry {
  const { at, id, tenant } = record;
  const read = body.safeParse(record.body);
  if (read.success) return { at, id, tenant, ...read.data, details: read.data.details as Json };
  // A record of a newer version may have more fields. The log shows what it can.
  return {
    at,
    id,
    tenant,
    run: null,
    operation: "unknown",
    actor: "unknown",
    ...UNREADABLE,
    details: record.body,
  };
}

/** The entry of a damaged record: its key says when it was made, and of which run. */
const damagedEntry = ({ about, id, why }: DamagedRecord, tenant: string): AuditEntry => ({
  at: timeIn(id) || 0,
  id,
  tenant,
  run: isRunId(about) ? about : null,
  operation: "unknown",
  actor: "unknown",
  ...UNREADABLE,
  details: { damaged: why },
  outcome: "unreadable",
});

const UNREADABLE = { token: null, from: null, why: null, outcome: null };
