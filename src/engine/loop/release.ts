/**
 * Releases a run while a store does not answer. An outage is not a death: the run keeps its decisions as far as the row
 * can hold them, has no owner, and is retried later. The next invocation repeats what could not be kept.
 *
 * It tries three ways in this order: commit all decisions into the journal; commit only what they cost; release the row
 * alone.
 *
 * Schedule 91: a commit is under way when the run is released, and lands later. The release names the version of that
 * commit, so the table refuses one of the two. Schedule 92: the row shows that a commit landed whose answer was lost.
 * The release starts from that row. Schedule 93: an end or an expiry was decided, a message comes, and the release
 * would commit that decision over the message.
 *
 * The release is the last write of an epoch: after it was sent, this invocation starts and commits nothing. Tests:
 * `test/schedules/outages.test.ts`.
 */
import { checkedCommit } from "../../codec/checksum.ts";
import type { Commit, CommitOutcome, StoreOutage, Row } from "../../protocol/row.ts";
import { COMMIT } from "../../protocol/row-commit.ts";
import { type StoreUnreachable, type World } from "../../ports/world.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { Fenced } from "../context/fenced.ts";
import { tryAfterOutage } from "./next-look.ts";
import { postponeUnbegun } from "../tools/postpone.ts";
import { endUnsent } from "../../features/detached-calls/unsent.ts";
import { alarm } from "../../history/alarm.ts";
import { resolveAmbiguousWrite, unitFrom } from "../../history/resolve-ambiguous-write.ts";

/** The fields of every release in an outage. */
interface Waiting {
  readonly storeOutage: StoreOutage;
  readonly wakeAt: number;
}

/** Releases the run and returns its row. Rejects with `StoreUnreachable` if the table does not answer either. */
export async function releaseRun(run: ActiveRun, error: StoreUnreachable): Promise<Row> {
  const { world, row } = run;
  const waiting = waitingFor(world, row, error);
  if (row.owner === null) return row;
  // Conditional events hold only if no message has come. They are decided again, beginning with the inbox (schedule
  // 93).
  if (run.pending.isConditional) run.rewind("no store accepted it");
  try {
    postponeUnbegun(run, "a store did not answer before it was started");
    endUnsent(run);
    return (await released(run, waiting)) ?? (await giveBack(world, row, { ...waiting, ...leftBy(run) }));
  } catch (refused) {
    const found = refused instanceof Fenced ? await world.table.read(row.run, run.now) : null;
    // The epoch must be the same: the row of a later epoch may still name a commit of this invocation.
    const hasLanded =
      found?.epoch === row.epoch && found.version > row.version && run.committed.hasSent(found.commitId);
    if (found === null || !hasLanded) throw refused;
    // Schedule 92: the commit has settled its calls, and its mark for the next call is not used any more.
    return found.owner === null
      ? found
      : giveBack(world, found, { ...waiting, unaccountedModelCalls: 0, raiseEffectsSettleAt: false });
  }
}

/** The same for an invocation that could not load its run. Its own mark was not used. */
export function releaseUnloaded(world: World, row: Row, error: StoreUnreachable): Promise<Row> {
  return giveBack(world, row, {
    ...waitingFor(world, row, error),
    unaccountedModelCalls: row.unaccountedModelCalls - row.marksAtClaim,
    raiseEffectsSettleAt: false,
  });
}

/** Releases the run with a commit. Returns null if the journal has no room even for the costs. */
async function released(run: ActiveRun, waiting: Waiting): Promise<Row | null> {
  const options = { ...waiting, release: true, deadline: run.row.deadline };
  if (run.hasPending || run.pending.modelCalls.others > 0) {
    if ((await run.commit(options)) === "committed") return run.row;
    run.rewind("no store accepted it");
    if (run.hasPending && (await run.commit(options)) === "committed") return run.row;
  }
  return null;
}

/**
 * The counters of a release without events. An unused mark is taken back. A call that left under its mark stays
 * counted, because its debit is dropped.
 */
const leftBy = ({
  row,
  pending,
  noticed,
}: ActiveRun): Pick<Commit, "unaccountedModelCalls" | "raiseEffectsSettleAt"> => ({
  unaccountedModelCalls: row.unaccountedModelCalls - (pending.modelCalls.own === "marked" ? 1 : 0),
  raiseEffectsSettleAt: noticed.outlived === "tool",
});

/**
 * Releases the row with a commit without events. Snapshot, journal, `wakeCountSeen`, `marksAtClaim` and deadline stay as
 * they are.
 */
async function giveBack(
  world: World,
  row: Row,
  waiting: Waiting & Pick<Commit, "unaccountedModelCalls" | "raiseEffectsSettleAt">,
): Promise<Row> {
  const commit = {
    run: row.run,
    born: row.born,
    now: world.clock.now(),
    epoch: row.epoch,
    version: row.version,
    agentVersion: row.agentVersion,
    journal: row.journal,
    snapshot: row.snapshot,
    spent: row.spent,
    status: row.status,
    phase: row.phase,
    wakeCountSeen: row.wakeCountSeen,
    deadline: row.deadline,
    marksAtClaim: row.marksAtClaim,
    lastCheckpointAt: row.lastCheckpointAt,
    release: true,
    nextChain: false,
    expiresAtSec: null,
    unlessWoken: false,
    isProgress: false,
    ...waiting,
    commitId: world.random.hex().slice(0, 16),
  };
  const outcome = await resolveAmbiguousWrite<CommitOutcome>(
    () => world.table.decide(checkedCommit(row, commit), COMMIT),
    (found) => (found.commitId === commit.commitId ? { kind: "committed", row: found } : null),
  );
  if (outcome.kind !== "committed") throw new Fenced(`epoch ${row.epoch} is over, or a commit of it landed`);
  return outcome.row;
}

/** The wait of a released run, of which operators are notified. */
function waitingFor({ clock, random, limits, ...world }: World, row: Row, error: StoreUnreachable): Waiting {
  const now = clock.now();
  const storeOutage = { store: error.store, since: row.storeOutage?.since ?? now };
  alarm({ ...world, clock }, row.run, { what: "StoreUnavailable", why: error.message });
  const chance = unitFrom(random.hex());
  return { storeOutage, wakeAt: tryAfterOutage({ now, since: storeOutage.since, chance, limits }) };
}
