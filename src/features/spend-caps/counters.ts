/**
 * Applies the decisions of `protocol/spend-counter.ts` to stored counters: one record for each subject, which only the
 * version that was read may be replaced by.
 *
 * Schedule 188: two starts read a counter with room for one of them. The write of the second one is refused, so it reads
 * again, and finds no room.
 */
import * as z from "zod";
import { Unreadable } from "../../codec/canonical.ts";
import { RowUnreadable } from "../../codec/row.ts";
import { hasEnded } from "../../protocol/row.ts";
import {
  type PeriodLimits,
  type Reserved,
  type Seen,
  type SpendCounter,
  type SpendLimits,
  type SpendRefusal,
  atTime,
  reserveIn,
  settleIn,
  usedIn,
} from "../../protocol/spend-counter.ts";
import type { Json } from "../../core/json.ts";
import type { RecordKey, StoredRecord } from "../../ports/records.ts";
import { StoreUnreachable, type World } from "../../ports/world.ts";
import { findRow } from "../../history/damage.ts";
import { swapRecord } from "../../history/record-swap.ts";
import { patient } from "../../history/resolve-ambiguous-write.ts";

type Stores = Pick<World, "records" | "table" | "clock" | "random">;

/** Whose runs are counted, and what they may take. */
export interface CountedBy {
  /** Names the counter: `tenant acme`. */
  readonly subject: string;
  /** The tenant that owns the record. */
  readonly tenant: string;
  readonly limits: SpendLimits;
}

/** What counts the starts of a tenant. */
export const countedBy = (tenant: string, limits: SpendLimits): CountedBy => ({
  subject: `tenant ${tenant}`,
  tenant,
  limits,
});

/** How many open runs an accepted start looks at, so that the counter does not grow. */
const LOOKED_AT = 8;
const AT_ONCE = 25;
/** How long starts contend for a counter before the store counts as busy. */
const PATIENCE_MS = 10_000;
/** A contended write is tried again at once, this many times. */
const TRIES_AT_ONCE = 3;
/** After all open runs were looked at, refusals rely on that for this time. So refused starts cost few reads. */
const FRESH_MS = 5_000;
/** Longer than a month, so that a counter never expires within its own. */
const KEPT_SECONDS = 62 * 24 * 3_600;

/**
 * Counts a run that is about to be started; null: it may start. `id`: the ID of the run, the same for every attempt of
 * its start.
 */
export async function reserveSpend(
  world: Stores,
  start: CountedBy & { readonly id: string; readonly microUsd: number },
): Promise<SpendRefusal | null> {
  const { clock } = world;
  const pause = patient({ ...world, until: clock.now() + PATIENCE_MS });
  let tries = 0;
  do {
    tries += 1;
    const found = await world.records.get(keyOf(start), clock.now());
    const { refused, next } = await decided(world, start, found === null ? null : counterIn(found));
    if (next === null) return refused;
    const { tenant } = start;
    // If the first copy of this very write was stored, the next look finds the run in the counter.
    const swap = { key: keyOf(start), tenant, found, body: next as unknown as Json, keptSeconds: KEPT_SECONDS };
    if (await swapRecord(world, swap)) return refused;
  } while (tries < TRIES_AT_ONCE || (await pause()));
  throw new StoreUnreachable(`too many starts change the counter of ${start.subject}`, { store: "the table" });
}

export interface Used {
  readonly day: Required<PeriodLimits>;
  readonly month: Required<PeriodLimits>;
}

/** What a subject has used. */
export async function usedSpend(world: Stores, counted: Pick<CountedBy, "subject">): Promise<Used> {
  const now = world.clock.now();
  const found = await world.records.get(keyOf(counted), now);
  const counter = await looked(world, atTime(found === null ? null : counterIn(found), now), Infinity);
  return { day: usedIn(counter, "day"), month: usedIn(counter, "month") };
}

const keyOf = ({ subject }: Pick<CountedBy, "subject">): RecordKey => ({ kind: "rate", about: subject, id: "spent" });

/** What to answer, and the counter to store; null: it stays as it is. */
async function decided(
  world: Stores,
  start: CountedBy & { readonly id: string; readonly microUsd: number },
  before: SpendCounter | null,
): Promise<{ readonly refused: SpendRefusal | null; readonly next: SpendCounter | null }> {
  const at = world.clock.now();
  const now = atTime(before, at);
  const some = now.open[start.id] === undefined ? await looked(world, now, LOOKED_AT) : now;
  const answer = (reserved: Reserved, read: SpendCounter | null) => {
    if (reserved.kind === "spent") return { refused: reserved, next: read };
    return { refused: null, next: reserved.kind === "reserved" ? reserved.next : null };
  };
  const first = reserveIn(some, { ...start, at });
  if (first.kind !== "spent" || at - some.readAt < FRESH_MS) return answer(first, null);
  // Runs that have ended meanwhile may leave room.
  const all = { ...(await looked(world, some, Infinity)), readAt: at };
  return answer(reserveIn(all, { ...start, at }), all);
}

/** Looks at open runs, longest ago first, and settles those that have ended. */
async function looked(world: Stores, counter: SpendCounter, most: number): Promise<SpendCounter> {
  const ids = Object.keys(counter.open).slice(0, most);
  let next = counter;
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const seen = await Promise.all(ids.slice(at, at + AT_ONCE).map((id) => lookAt(world, id)));
    for (const each of seen) next = settleIn(next, each);
  }
  return next;
}

async function lookAt(world: Stores, id: string): Promise<Seen> {
  const { table, clock } = world;
  const row = await findRow(world, id, clock.earliest());
  // A damaged run goes on counting as it is.
  if (row instanceof RowUnreadable) return { id, row: null, isOver: false };
  if (row !== null) return { id, row: { hasEnded: hasEnded(row), microUsd: row.spent.microUsd }, isOver: false };
  return { id, row: null, isOver: (await table.readKey(id, clock.earliest())) !== null };
}

const amount = z.number().nonnegative();
const window = z.object({ period: z.int(), runs: amount, microUsd: amount });
const open = z.object({ day: z.int(), month: z.int(), microUsd: amount });
export const stored: z.ZodType<SpendCounter> = z.object({
  day: window,
  month: window,
  open: z.record(z.string(), open),
  readAt: z.number(),
});

/** A counter that cannot be read lets nothing start. */
function counterIn({ body, about }: StoredRecord): SpendCounter {
  const read = stored.safeParse(body);
  if (read.success) return read.data;
  throw new Unreadable(`the counter of ${about} cannot be read`, "RecordDamaged");
}
