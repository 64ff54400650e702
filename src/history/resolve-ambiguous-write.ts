/**
 * Resolves ambiguous writes, in one place. A write whose answer was lost may have been applied, may still be under way,
 * or may never arrive. The rule: send **the very same write again**. Every write carries a random name, so a process
 * recognises its own write in the row that a refusal returns.
 *
 * Schedule 6: a commit that was answered with 500 and not applied must not count as fenced. Schedules 7 and 37: a claim
 * is refused by its own first copy. Schedule 8: a different write for the same version could be fenced by the first.
 * Schedule 16: a park token is compared, not a version. Tests: `test/schedules/writes.test.ts`,
 * `test/history/resolve-ambiguous-write.test.ts`.
 */
import { SIZES } from "../codec/limits.ts";
import type { MutexLeaseOutcome } from "../protocol/mutex-lease.ts";
import type { Row } from "../protocol/row.ts";
import type { PutOutcome } from "../ports/object-store.ts";
import type { Ambiguous } from "../ports/run-table.ts";
import { StoreUnreachable, type World } from "../ports/world.ts";

/** The outcome is still unknown after all copies. The invocation ends, and the next epoch finds out. */
export class WriteUnresolved extends StoreUnreachable {
  override readonly name: string = "Undecided";
}

/** Waits before a busy store is called again; false if no time is left for that. */
export type Patience = (why?: string) => Promise<boolean>;

const IMPATIENT: Patience = async () => false;

/** Bounds for the waiting: the deadline `until`, its clock, and the random source of the jitter. */
export interface PatienceOptions extends Pick<World, "clock" | "random"> {
  /** Epoch milliseconds. */
  readonly until: number;
}

const PAUSE_MS_MIN = 50;
const PAUSE_MS_MAX = 2_000;

/** Growing pauses with full jitter. A throttled write is repeated as long as the invocation's lease allows. */
export function patient({ clock, random, until }: PatienceOptions): Patience {
  let pauses = 0;
  return async () => {
    const most = Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** pauses);
    pauses += 1;
    const ms = Math.ceil(most * unitFrom(random.hex()));
    if (clock.now() + ms >= until) return false;
    await new Promise<void>((resolve) => void clock.after(ms, resolve));
    return true;
  };
}

/** Maps random hex digits to a number x with 0 < x <= 1. */
export const unitFrom = (hex: string): number => (Number.parseInt(hex.slice(0, 8), 16) + 1) / 2 ** 32;

/**
 * Sends a conditional write until its outcome is certain. `mine` inspects the row of a refusal: if the row shows this
 * very write, it returns the lost outcome, otherwise null. `patience` waits where the store is busy. Throws
 * `Undecided`.
 */
export async function resolveAmbiguousWrite<Outcome extends { readonly kind: string }>(
  write: () => Promise<Outcome | Ambiguous>,
  mine: (row: Row) => Outcome | null,
  patience: Patience = IMPATIENT,
): Promise<Outcome> {
  let why = "";
  for (let [copy, sent] = [0, 0]; sent <= SIZES.rewritesMax; copy += 1) {
    const outcome = await write();
    if (isAmbiguous(outcome)) {
      why = outcome.why;
      if (outcome.isBusy !== true || !(await patience(why))) sent += 1;
      continue;
    }
    const refusal = copy > 0 ? rowOf(outcome) : null;
    const lost = refusal === null ? null : mine(refusal);
    // A write that succeeds in the end is no refusal: its own answer says more than the row does.
    return lost === null || lost.kind === outcome.kind ? outcome : lost;
  }
  throw new WriteUnresolved(`a write was sent ${SIZES.rewritesMax + 1} times without an answer: ${why}`, {
    store: "the table",
  });
}

/**
 * Puts an object until it certainly exists. `exists`: an object was there; the caller decides whether its bytes match.
 */
export async function resolveAmbiguousPut(put: () => Promise<PutOutcome>): Promise<"stored" | "exists"> {
  let why = "";
  for (let copy = 0; copy <= SIZES.rewritesMax; copy += 1) {
    const outcome = await put();
    if (outcome.kind !== "ambiguous") return outcome.kind;
    why = outcome.why;
  }
  throw new WriteUnresolved(`an object was put ${SIZES.rewritesMax + 1} times without an answer: ${why}`, {
    store: "the objects",
  });
}

/**
 * Stores a word for all processes: the cursor of a mutex lease that no process holds. `name`: of the lease. `cursor`:
 * null removes it.
 */
export async function storeCursor(
  { leases, clock, random }: Pick<World, "leases" | "clock" | "random">,
  { name, cursor }: { readonly name: string; readonly cursor: string | null },
  patience?: Patience,
): Promise<void> {
  const owner = random.hex().slice(0, 16);
  await resolveAmbiguousWrite<MutexLeaseOutcome>(
    () => leases.take({ name, owner, cursor, until: clock.now(), now: clock.now() }),
    () => null,
    patience,
  );
}

const isAmbiguous = (outcome: { readonly kind: string }): outcome is Ambiguous => outcome.kind === "ambiguous";

const rowOf = (outcome: object): Row | null => ("row" in outcome ? (outcome.row as Row) : null);
