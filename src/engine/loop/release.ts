/**
 * Giving a run back although a store does not answer. An outage is not a death: the run keeps what it decided as far as the
 * row can hold it, has no owner, and is tried again later. What cannot be kept is done again by the next invocation.
 *
 * In this order: everything that was decided goes into the journal; or only what it cost; or the row alone is released.
 * Schedules: 91 (a commit is under way when the run is released, and lands later: the release has a version of its own, so
 * that one of the two is refused), 92 (the row shows that a commit landed whose answer was lost: the release follows it), 93
 * (an end or an expiry was decided, a message comes, and the release would commit that decision over the message).
 * It is the last write of an epoch: nothing starts or commits after it was sent. Tests: `test/schedules/outages.test.ts`.
 */
import { checkedCommit } from "../../codec/checksum.ts";
import { startsOnce } from "../../core/calls/ledger.ts";
import type { Commit, CommitOutcome, StoreOutage, Row } from "../../protocol/row.ts";
import { type StoreUnreachable, type World } from "../../ports/world.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { Fenced } from "../context/fenced.ts";
import { alarm } from "../../history/alarm.ts";
import { certainly, unitFrom } from "../../history/resolve-ambiguous-write.ts";

/** What every release in an outage says. */
interface Waiting {
  readonly storeOutage: StoreOutage;
  readonly wakeAt: number;
}

/** The run as it was released. Rejects with `StoreUnreachable` where the table does not answer either. */
export async function letGo(run: ActiveRun, error: StoreUnreachable): Promise<Row> {
  const { world, row } = run;
  const waiting = waitingFor(world, row, error);
  if (row.owner === null) return row;
  // What was to be committed only if no message had come is decided again, from the inbox on (schedule 93).
  if (run.pending.isConditional) run.rewind("no store took it");
  try {
    permitAgain(run);
    return (await released(run, waiting)) ?? (await giveBack(world, row, { ...waiting, ...leftBy(run) }));
  } catch (refused) {
    const found = refused instanceof Fenced ? await world.table.read(row.run, run.now) : null;
    // Only under its own epoch: the row of the next one may still name a commit of this invocation.
    const hasLanded = found?.epoch === row.epoch && found.version > row.version && run.noticed.hasSent(found.commitId);
    if (found === null || !hasLanded) throw refused;
    // Schedule 92. What it settled is settled, and a mark that it made ahead is not used any more.
    return found.owner === null ? found : giveBack(world, found, { ...waiting, asks: 0, raiseQuiet: false });
  }
}

/** The same for an invocation that could not even load its run: its own mark was not used. */
export function letGoUnloaded(world: World, row: Row, error: StoreUnreachable): Promise<Row> {
  return giveBack(world, row, { ...waitingFor(world, row, error), asks: row.asks - row.will, raiseQuiet: false });
}

/** Null where the journal has no room even for what was spent. */
async function released(run: ActiveRun, waiting: Waiting): Promise<Row | null> {
  const options = { ...waiting, release: true, deadline: run.row.deadline };
  if (run.hasPending || run.pending.modelCalls.others > 0) {
    if ((await run.commit(options)) === "committed") return run.row;
    run.rewind("no store took it");
    if (run.hasPending && (await run.commit(options)) === "committed") return run.row;
  }
  return null;
}

/**
 * Of the row's model calls an unused mark is taken back; a call that left under it stays counted, since what would have
 * debited it is dropped.
 */
const leftBy = ({ row, pending, noticed }: ActiveRun): Pick<Commit, "asks" | "raiseQuiet"> => ({
  asks: row.asks - (pending.modelCalls.own === "marked" ? 1 : 0),
  raiseQuiet: noticed.outlived === "tool",
});

/** A commit without events: snapshot, journal, what was read of the inbox, mark and deadline stay as they are. */
async function giveBack(world: World, row: Row, of: Waiting & Pick<Commit, "asks" | "raiseQuiet">): Promise<Row> {
  const { agentVersion, journal, snapshot, spent, status, phase, stirsSeen, deadline, will, lastCheckpointAt } = row;
  const commit = {
    run: row.run,
    born: row.born,
    now: world.clock.now(),
    epoch: row.epoch,
    version: row.version,
    agentVersion,
    journal,
    snapshot,
    spent,
    status,
    phase,
    stirsSeen,
    deadline,
    will,
    lastCheckpointAt,
    release: true,
    nextChain: false,
    expiresAtSec: null,
    unlessStirred: false,
    isProgress: false,
    ...of,
    commitId: world.random.hex().slice(0, 16),
  };
  const outcome = await certainly<CommitOutcome>(
    () => world.table.commit(checkedCommit(row, commit)),
    (found) => (found.commitId === commit.commitId ? { kind: "committed", row: found } : null),
  );
  if (outcome.kind !== "committed") throw new Fenced(`epoch ${row.epoch} is over, or a commit of it landed`);
  return outcome.row;
}

/**
 * Calls that this invocation released and did not begin are known not to have happened: the next one may release them anew,
 * and no person has to be asked about them.
 */
function permitAgain(run: ActiveRun): void {
  for (const open of run.state.open) {
    const { call, status, releasedBy, probeAt } = open;
    const isMine = status === "started" && releasedBy === run.row.epoch && probeAt === null;
    if (!isMine || !startsOnce(open) || run.noticed.hasBegun(call)) continue;
    const answer = {
      as: "retry",
      value: null,
      by: "cairn",
      note: "a store did not answer before it was started",
    } as const;
    run.record({ kind: "ToolResultReconciled", at: run.now, call, answer, evidence: "it was never started" });
  }
}

/** The longer the store has been away, the longer the run waits, with jitter: many runs wait for the same store. */
function waitingFor({ clock, random, limits, ...world }: World, row: Row, error: StoreUnreachable): Waiting {
  const now = clock.now();
  const storeOutage = { store: error.store, since: row.storeOutage?.since ?? now };
  alarm({ ...world, clock }, row.run, { what: "StoreUnavailable", why: error.message });
  const most = Math.min(limits.backoffMsMax, Math.max(WAIT_MS_MIN, (now - storeOutage.since) / 2));
  return { storeOutage, wakeAt: now + Math.ceil((most * (1 + unitFrom(random.hex()))) / 2) };
}

const WAIT_MS_MIN = 2_000;
