/**
 * Ambiguous writes, resolved in one place. A write whose answer was lost may have been applied, may still be under
 * way, or may never land. The rule is to send **the very same write again**, and to recognise one's own work in the
 * row that a refusal returns: every write carries a random name of its own.
 *
 * Schedules: 6 (a commit answered 500 that was not applied must not be taken for fenced), 7 and 37 (a claim refused
 * by its own first copy), 8 (another write for the same version could be overtaken by the first), 16 (a park token is
 * compared, not a version). Tests: `test/schedules/writes.test.ts`, `test/history/certain.test.ts`.
 */
import { SIZES } from "../codec/limits.ts";
import type { Row } from "../protocol/row.ts";
import type { PutOutcome } from "../ports/object-store.ts";
import type { Ambiguous } from "../ports/run-table.ts";
import { StoreUnreachable, type World } from "../ports/world.ts";

/** Still unknown after all rewrites. The invocation ends; the next epoch finds out. */
export class Undecided extends StoreUnreachable {
  override readonly name: string = "Undecided";
}

/** Lets some time pass before a busy store is asked again; false where there is no more time for that. */
export type Patience = () => Promise<boolean>;

const IMPATIENT: Patience = async () => false;

/** What bounds the waiting: until when, by the clock, in which the draws of the jitter differ. */
export interface PatienceOptions extends Pick<World, "clock" | "random"> {
  /** Epoch milliseconds. */
  readonly until: number;
}

const PAUSE_MS_MIN = 50;
const PAUSE_MS_MAX = 2_000;

/** Growing pauses with full jitter. A throttled write is repeated as long as the lease of its invocation allows. */
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

/** 0 < x <= 1, of random hex digits. */
export const unitFrom = (hex: string): number => (Number.parseInt(hex.slice(0, 8), 16) + 1) / 2 ** 32;

/**
 * Sends a conditional write until its outcome is certain. `mine` turns the row of a refusal into the outcome that
 * was lost, when that row shows this very write; otherwise null. A store that asks for patience gets it.
 */
export async function certainly<Outcome extends { readonly kind: string }>(
  write: () => Promise<Outcome | Ambiguous>,
  mine: (row: Row) => Outcome | null,
  patience: Patience = IMPATIENT,
): Promise<Outcome> {
  let why = "";
  for (let [copy, sent] = [0, 0]; sent <= SIZES.rewritesMax; copy += 1) {
    const outcome = await write();
    if (isAmbiguous(outcome)) {
      why = outcome.why;
      if (outcome.isBusy !== true || !(await patience())) sent += 1;
      continue;
    }
    const refusal = copy > 0 ? rowOf(outcome) : null;
    const lost = refusal === null ? null : mine(refusal);
    // A write that succeeds at last is no refusal: its own answer says more than what can be read off the row.
    return lost === null || lost.kind === outcome.kind ? outcome : lost;
  }
  throw new Undecided(`a write was sent ${SIZES.rewritesMax + 1} times without an answer: ${why}`, {
    store: "the table",
  });
}

/** Puts an object until it is certain that it is there; whether these bytes or others is the caller's question. */
export async function certainlyPut(put: () => Promise<PutOutcome>): Promise<"stored" | "exists"> {
  let why = "";
  for (let copy = 0; copy <= SIZES.rewritesMax; copy += 1) {
    const outcome = await put();
    if (outcome.kind !== "ambiguous") return outcome.kind;
    why = outcome.why;
  }
  throw new Undecided(`an object was put ${SIZES.rewritesMax + 1} times without an answer: ${why}`, {
    store: "the objects",
  });
}

const isAmbiguous = (outcome: { readonly kind: string }): outcome is Ambiguous => outcome.kind === "ambiguous";

const rowOf = (outcome: object): Row | null => ("row" in outcome ? (outcome.row as Row) : null);
