/**
 * `cairn redrive`: a run that failed for a reason of infrastructure goes on from its last checkpoint, with the same keys and
 * the same budget. One row decision gives it the next epoch and execution; the invocation that claims it then records who
 * wanted that and why, so a redrive whose sender dies in between is neither lost nor anonymous (schedule 88).
 */
import { checksumOf } from "../codec/checksum.ts";
import { RowNewer, assertKnown } from "../codec/row.ts";
import { bounded } from "../codec/value.ts";
import { SIZES } from "../codec/limits.ts";
import type { Failure } from "../core/event.ts";
import type { Phase } from "../core/phases.ts";
import { type RedriveRefusal, redriveRefusal } from "../core/policy/redrive.ts";
import { FORMAT, type Row } from "../protocol/row.ts";
import type { RedriveOutcome } from "../protocol/row-redrive.ts";
import type { World } from "../ports/world.ts";
import { certainly } from "../history/resolve-ambiguous-write.ts";
import { startExecution } from "../engine/loop/executions.ts";
import { senderOf } from "../engine/context/inbox.ts";
import { SegmentCache } from "../history/load.ts";
import { loadVouched } from "../history/vouch.ts";
import { knowSecrets, redactionIn } from "../history/secrets.ts";

export type Redrove =
  | { readonly kind: "redriven"; readonly row: Row; readonly failure: Failure; readonly from: Phase }
  /** It goes on, or ended otherwise. */
  | { readonly kind: "NotFailed"; readonly row: Row }
  | { readonly kind: "HasParent"; readonly row: Row }
  | { readonly kind: RedriveRefusal; readonly failure: Failure | null }
  /** Somebody redrove it before. */
  | { readonly kind: "Late"; readonly row: Row }
  /** Its retention is over. */
  | { readonly kind: "Expired" }
  | { readonly kind: "missing" }
  | { readonly kind: "unreadable" };

export async function redrive(
  world: World,
  of: { readonly run: string; readonly by: string; readonly why: string },
): Promise<Redrove> {
  const now = world.clock.now();
  const row = await world.table.read(of.run, now);
  if (row === null) return (await world.table.read(of.run, 0)) === null ? { kind: "missing" } : { kind: "Expired" };
  assertKnown(row);
  if (row.format !== FORMAT) return { kind: "unreadable" };
  if (row.redrive !== undefined) return started(world, row);
  if (row.status !== "failed") return { kind: "NotFailed", row };
  if (row.parent !== null) return { kind: "HasParent", row };
  const { state } = await loadVouched(world, row, new SegmentCache());
  const refusal = redriveRefusal(state);
  if (refusal !== null || state.failure === null || state.failedFrom === undefined) {
    return { kind: refusal ?? "EndedBefore", failure: state.failure };
  }
  const { failure, failedFrom } = state;
  const note = await noteOf(world, of);
  const outcome = await decided(world, { row, note });
  if (outcome.kind === "redriven" || (outcome.kind === "late" && (await isMine(world, outcome.row, note.id)))) {
    await startExecution(world, outcome.row);
    return { kind: "redriven", row: outcome.row, failure, from: failedFrom.phase };
  }
  if (outcome.kind === "newer") throw new RowNewer(row.run, outcome);
  return outcome.kind === "late" ? started(world, outcome.row) : { kind: outcome.kind };
}

/** Somebody redrove it before, and may have died before its execution was started: starting it twice is starting it once. */
async function started(world: World, row: Row): Promise<Redrove> {
  if (row.redrive !== undefined) await startExecution(world, row);
  return { kind: "Late", row };
}

/** What is a secret in it is replaced before it is written. */
async function noteOf(world: World, { by, why }: { readonly by: string; readonly why: string }) {
  await knowSecrets(world);
  const words = (text: string, max: number): string => bounded(redactionIn(world).text(text), max).toWellFormed();
  return {
    id: world.random.hex().slice(0, 16),
    by: senderOf(words(by, SIZES.nameCharactersMax)),
    why: words(why, WHY_MAX) || "no reason was given",
  };
}

/** As much as a note of a person needs; it stands in the row until it is recorded. */
const WHY_MAX = 500;

function decided(
  world: World,
  { row, note }: { readonly row: Row; readonly note: Awaited<ReturnType<typeof noteOf>> },
): Promise<RedriveOutcome> {
  const { run, born, epoch, version } = row;
  const checksum = checksumOf({ ...row, wakeAt: null, storeOutage: null });
  return certainly<RedriveOutcome>(
    () => {
      const now = world.clock.now();
      const deadline = now + world.limits.idleRunMs;
      return world.table.redrive({ run, born, epoch, version, note, now, deadline, checksum });
    },
    (found) => (found.redrive?.id === note.id ? { kind: "redriven", row: found } : null),
  );
}

/** The answer was lost, and the run has been claimed since: then its state knows whose redrive that was. */
async function isMine(world: World, row: Row, id: string): Promise<boolean> {
  if (row.redrive !== undefined) return row.redrive.id === id;
  const { state } = await loadVouched(world, row, new SegmentCache());
  return state.redriven?.id === id;
}
