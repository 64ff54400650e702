/**
 * Ambiguous writes, resolved in one place. A write whose answer was lost may have been applied, may still be under
 * way, or may never land. The rule is to send **the very same write again**, and to recognise one's own work in the
 * row that a refusal returns: every write carries a random name of its own.
 *
 * Schedules: 6 (a commit answered 500 that was not applied must not be taken for fenced), 7 and 37 (a claim refused
 * by its own first copy), 8 (another write for the same version could be overtaken by the first), 16 (a park token is
 * compared, not a version). Tests: `test/schedules/writes.test.ts`, `test/unit/certain.test.ts`.
 */
import { SIZES } from "../codec/limits.ts";
import type { Row } from "../protocol/row.ts";
import type { PutOutcome } from "../ports/object-store.ts";
import type { Ambiguous } from "../ports/run-table.ts";
import { StoreUnreachable } from "../ports/world.ts";

/** Nobody knows, after all rewrites. The invocation ends; the next epoch finds out. */
export class Undecided extends StoreUnreachable {
  override readonly name: string = "Undecided";
}

/**
 * Sends a conditional write until its outcome is certain. `mine` turns the row of a refusal into the outcome that
 * was lost, when that row shows this very write; otherwise null.
 */
export async function certainly<Outcome extends { readonly kind: string }>(
  write: () => Promise<Outcome | Ambiguous>,
  mine: (row: Row) => Outcome | null,
): Promise<Outcome> {
  let why = "";
  for (let copy = 0; copy <= SIZES.rewritesMax; copy += 1) {
    const outcome = await write();
    if (isAmbiguous(outcome)) {
      why = outcome.why;
      continue;
    }
    const refusal = copy > 0 ? rowOf(outcome) : null;
    const lost = refusal === null ? null : mine(refusal);
    // A write that succeeds at last is no refusal: its own answer says more than what can be read off the row.
    return lost === null || lost.kind === outcome.kind ? outcome : lost;
  }
  throw new Undecided(`a write was sent ${SIZES.rewritesMax + 1} times without an answer: ${why}`);
}

/** Puts an object until it is certain that it is there; whether these bytes or others is the caller's question. */
export async function certainlyPut(put: () => Promise<PutOutcome>): Promise<"stored" | "exists"> {
  let why = "";
  for (let copy = 0; copy <= SIZES.rewritesMax; copy += 1) {
    const outcome = await put();
    if (outcome.kind !== "ambiguous") return outcome.kind;
    why = outcome.why;
  }
  throw new Undecided(`an object was put ${SIZES.rewritesMax + 1} times without an answer: ${why}`);
}

const isAmbiguous = (outcome: { readonly kind: string }): outcome is Ambiguous => outcome.kind === "ambiguous";

const rowOf = (outcome: object): Row | null => ("row" in outcome ? (outcome.row as Row) : null);
