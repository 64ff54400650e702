/**
 * What the model calls of all runs of a store or deployment have cost today (UTC), for the spend cap.
 *
 * The sum is in shards, so that many runs can add to it at once. It is never less than what is committed: a commit adds
 * its debits before it is sent. It may be more, by what a process added that died before its commit.
 *
 * Schedule 192: two commits read a shard, and both write their sum. The write of the second one is refused, since the
 * shard has another version by then; it reads again.
 *
 * Schedule 193: a process commits what a call cost, and dies before it adds that. So it adds first.
 */
import * as z from "zod";
import type { Json } from "../../core/json.ts";
import { Unreadable } from "../../codec/canonical.ts";
import type { RecordKey, StoredRecord } from "../../ports/records.ts";
import { StoreUnreachable, type World } from "../../ports/world.ts";
import { swapRecord } from "../../history/record-swap.ts";
import { patient } from "../../history/resolve-ambiguous-write.ts";

type Stores = Pick<World, "records" | "clock" | "random">;

/** No tenant has this name. */
const ACCOUNT = "*account";
const SHARDS = 16;
const DAY_MS = 24 * 3_600_000;
/** Longer than a day, so that a sum never expires within its own. */
const KEPT_SECONDS = 3 * 24 * 3_600;

export const stored = z.object({ microUsd: z.number().nonnegative() });

/** The day of a time, such as `2026-11-25`. */
const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** When the day of this time ends, epoch milliseconds. */
const endOfDay = (at: number): number => (Math.floor(at / DAY_MS) + 1) * DAY_MS;

/** Adds to the sum of today. `until`: how long it may contend with other commits, epoch milliseconds. */
export async function addSpendToday(
  world: Stores,
  { microUsd, until }: { readonly microUsd: number; readonly until: number },
): Promise<void> {
  const { records, clock, random } = world;
  const pause = patient({ clock, random, until });
  const shard = Number.parseInt(random.hex().slice(0, 4), 16) % SHARDS;
  const key = { kind: "rate", about: ACCOUNT, id: `${dayOf(clock.now())}-${String(shard).padStart(2, "0")}` } as const;
  do {
    const found = await records.get(key, clock.now());
    const body: Json = { microUsd: (found === null ? 0 : sumIn(found)) + microUsd };
    if (await swapRecord(world, { key, tenant: ACCOUNT, found, body, keptSeconds: KEPT_SECONDS })) return;
  } while (await pause());
  throw new StoreUnreachable("too many commits add to the spend of today", { store: "the table" });
}

/** The sum of today, in millionths of a dollar. Around midnight a process with another clock may write tomorrow's shards. */
export async function spentToday({ records, clock }: Pick<World, "records" | "clock">): Promise<number> {
  const now = clock.now();
  const page = await records.list({ kind: "rate", by: { about: ACCOUNT }, after: null, limit: 2 * SHARDS, now });
  const isToday = ({ id }: RecordKey): boolean => id.startsWith(dayOf(now));
  const damaged = page.damaged.find(isToday);
  if (damaged !== undefined) throw unreadable(damaged);
  const today = page.records.filter(isToday);
  return today.reduce((sum, record) => sum + sumIn(record), 0);
}

/** A sum that cannot be read lets nothing leave. */
function sumIn(record: StoredRecord): number {
  const read = stored.safeParse(record.body);
  if (read.success) return read.data.microUsd;
  throw unreadable(record);
}

const unreadable = ({ id }: RecordKey): Unreadable => new Unreadable(`the spend ${id} cannot be read`, "RecordDamaged");

/** A cap that is reached. Amounts in dollars, times in epoch milliseconds. */
export interface SpendCapReached {
  readonly spentUsd: number;
  readonly capUsd: number;
  readonly resetsAt: number;
}

/** Null: there is no cap, or less was spent today. */
export async function spendCapReached(
  world: Pick<World, "records" | "clock" | "limits">,
): Promise<SpendCapReached | null> {
  const cap = world.limits.spendMicroUsdPerDay;
  if (cap === Number.MAX_SAFE_INTEGER) return null;
  const spent = await spentToday(world);
  if (spent < cap) return null;
  return { spentUsd: spent / 1e6, capUsd: cap / 1e6, resetsAt: endOfDay(world.clock.now()) };
}

/** What is reached, and how it goes on. */
export const capWords = ({ spentUsd, capUsd, resetsAt }: SpendCapReached): string =>
  `$${spentUsd.toFixed(2)} of the $${capUsd.toFixed(2)} that all runs may spend a day are spent; until ` +
  `${new Date(resetsAt).toISOString()}, or until spend.perDayUsd of cairn.config.ts is raised, no model is called`;
