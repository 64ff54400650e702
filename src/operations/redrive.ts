/**
 * `cairn redrive`: a run that failed for a reason of infrastructure goes on from its last checkpoint, with the same
 * keys and budget. One conditional row write gives it the next epoch and execution, and stores the author and the
 * reason. The invocation that claims the run records them. So a redrive whose sender dies is neither lost nor anonymous
 * (schedule 88).
 */
import { checksumOf } from "../codec/checksum.ts";
import { RowNewer, assertKnown } from "../codec/row.ts";
import { bounded } from "../codec/value.ts";
import { SIZES } from "../codec/limits.ts";
import type { Failure } from "../core/event.ts";
import type { Phase } from "../core/phases.ts";
import { type RedriveRefusal, redriveRefusal } from "../features/redrive/core.ts";
import type { RestoreTimes } from "../protocol/restored.ts";
import type { Row } from "../protocol/row.ts";
import { type RedriveOutcome, REDRIVE } from "../protocol/row-redrive.ts";
import type { World } from "../ports/world.ts";
import { resolveAmbiguousWrite } from "../history/resolve-ambiguous-write.ts";
import { passedOn } from "./restored-store.ts";
import { startExecution } from "../engine/context/executions.ts";
import { senderOf } from "../engine/context/inbox.ts";
import { SegmentCache } from "../history/load.ts";
import { loadVouched } from "../history/vouch.ts";
import { learnSecrets, redactionIn } from "../history/secrets.ts";

/** The outcome of a redrive. */
export type Redrove =
  | { readonly kind: "redriven"; readonly row: Row; readonly failure: Failure; readonly from: Phase }
  /** The run goes on, or ended in another way. */
  | { readonly kind: "NotFailed"; readonly row: Row }
  | { readonly kind: "HasParent"; readonly row: Row }
  | { readonly kind: RedriveRefusal; readonly failure: Failure | null }
  /** The run was already redriven. */
  | { readonly kind: "Late"; readonly row: Row }
  /** The retention of the run has expired. */
  | { readonly kind: "Expired" }
  | { readonly kind: "missing" }
  | { readonly kind: "unreadable" };

/** Throws `RowNewer`, and `Unreadable` if the run cannot be loaded. */
export async function redrive(
  world: World,
  asked: { readonly run: string; readonly by: string; readonly why: string },
): Promise<Redrove> {
  const now = world.clock.now();
  const row = await world.table.read(asked.run, now);
  if (row === null) return (await world.table.read(asked.run, 0)) === null ? { kind: "missing" } : { kind: "Expired" };
  assertKnown(row);
  if (row.redrive !== undefined) return started(world, row);
  if (row.status !== "failed") return { kind: "NotFailed", row };
  if (row.parent !== null) return { kind: "HasParent", row };
  const { state } = await loadVouched(world, row, new SegmentCache());
  const refusal = redriveRefusal(state);
  if (refusal !== null || state.failure === null || state.failedFrom === undefined) {
    return { kind: refusal ?? "NotInfrastructure", failure: state.failure };
  }
  const { failure, failedFrom } = state;
  const note = await noteOf(world, asked);
  const outcome = await decided(world, { row, note, restored: await passedOn(world, row) });
  if (outcome.kind === "redriven" || (outcome.kind === "late" && (await isMine(world, outcome.row, note.id)))) {
    await startExecution(world, outcome.row);
    return { kind: "redriven", row: outcome.row, failure, from: failedFrom.phase };
  }
  if (outcome.kind === "newer") throw new RowNewer(row.run, outcome);
  return outcome.kind === "late" ? started(world, outcome.row) : { kind: outcome.kind };
}

/**
 * An earlier sender redrove the run and may have died before it started the execution. A repeated start does nothing.
 */
async function started(world: World, row: Row): Promise<Redrove> {
  if (row.redrive !== undefined) await startExecution(world, row);
  return { kind: "Late", row };
}

/** The author and the reason, with secrets redacted. The row holds them until an invocation records them. */
async function noteOf(world: World, { by, why }: { readonly by: string; readonly why: string }) {
  await learnSecrets(world);
  const words = (text: string, max: number): string => bounded(redactionIn(world).text(text), max).toWellFormed();
  return {
    id: world.random.hex().slice(0, 16),
    by: senderOf(words(by, SIZES.nameCharactersMax)),
    why: words(why, SIZES.whyCharactersMax) || "no reason was given",
  };
}

function decided(
  world: World,
  {
    row,
    note,
    restored: mark,
  }: {
    readonly row: Row;
    readonly note: Awaited<ReturnType<typeof noteOf>>;
    readonly restored: RestoreTimes | null;
  },
): Promise<RedriveOutcome> {
  const { run, born, epoch, version } = row;
  // A mark that the row has already stays as it is.
  const isNew = mark !== null && mark.at !== row.restored?.at;
  const restored = isNew ? { restored: { at: mark.at, asOf: mark.asOf } } : {};
  const checksum = checksumOf({ ...row, wakeAt: null, storeOutage: null });
  return resolveAmbiguousWrite<RedriveOutcome>(
    () => {
      const now = world.clock.now();
      const deadline = now + world.limits.idleRunMs;
      return world.table.decide({ run, born, epoch, version, note, now, deadline, checksum, ...restored }, REDRIVE);
    },
    (found) => (found.redrive?.id === note.id ? { kind: "redriven", row: found } : null),
  );
}

/** The answer was lost, and an invocation has claimed the run since: the state then has the ID of its redrive. */
async function isMine(world: World, row: Row, id: string): Promise<boolean> {
  if (row.redrive !== undefined) return row.redrive.id === id;
  const { state } = await loadVouched(world, row, new SegmentCache());
  return state.redriven?.id === id;
}
