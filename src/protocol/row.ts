/**
 * The run row: the one mutable object of a run. Every operation on it is a pure decision, `(row, request) → outcome`,
 * which a world applies in one atomic conditional write. SQLite and memory run these functions inside a transaction.
 * DynamoDB writes their result by compare-and-swap. The conformance suite holds all worlds to one behaviour. Claims are
 * in `row-claim.ts`, hand-overs in `row-hand-over.ts`. Times are epoch milliseconds except `expiresAtSec`.
 */
import type { Durable } from "../core/policy/durability.ts";
import { type Spent, NOTHING_SPENT } from "../core/policy/budget.ts";
import { LOWEST_LEVEL, levelIn } from "../core/levels.ts";
import { type Phase, type Status, PHASES, isTerminal } from "../core/phases.ts";
import type { Entry } from "./entry.ts";
import { BEFORE_RELEASE } from "./foreign.ts";
import { type Newer, newerFormat } from "./newer.ts";
import type { RestoredMark } from "./restored.ts";
import type { RowBrief } from "./row-brief.ts";

/** The version of row, journal and snapshot that this code reads and writes. */
export const FORMAT = 2;

export interface SnapshotPointer {
  readonly version: number;
  readonly key: string;
  /** SHA-256 of the uncompressed bytes. */
  readonly digest: string;
}

/** One incarnation of a run. Once a key is free again, it makes the same run ID under another `born`. */
export interface Incarnation {
  readonly run: string;
  readonly born: string;
}

export interface Row extends Incarnation {
  /** The run that started this one and waits for its end; null without one. */
  readonly parent: Incarnation | null;
  readonly tenant: string;
  readonly agent: string;
  readonly agentVersion: string;
  readonly createdAt: number;
  readonly inputDigest: string;
  readonly format: number;
  /** The fencing token: rises at every claim and hand-over, and never falls. */
  readonly epoch: number;
  readonly owner: string | null;
  readonly leaseUntil: number | null;
  /** Until when an invocation that lost the run may still be alive; never lowered. */
  readonly effectsSettleAt: number;
  /** The one execution that may drive this run. */
  readonly chain: number;
  readonly entry: Entry | null;
  readonly chainClaims: number;
  /** When the run was last claimed, or moved to another execution; absent before the first claim. */
  readonly claimedAt?: number;
  readonly version: number;
  readonly commitId: string;
  readonly snapshot: SnapshotPointer;
  /** Commits since that snapshot, encoded; null without any. */
  readonly journal: Uint8Array | null;
  /** Invocations that own the run, or died with it, since its last release. No commit has debited their time. */
  readonly claims: number;
  /** Claims and hand-overs that ever found an owner. It is a statistic: store outages add to it as deaths do. */
  readonly takeovers: number;
  /** Processes that are known to have died with this run since its last commit that held progress. */
  readonly deaths: number;
  /**
   * Model calls that may have left and are in no debit, and marks under which a call may leave. A model call leaves
   * only under a mark of its own epoch. A commit lowers this only by calls that it debits itself or knows never left.
   */
  readonly unaccountedModelCalls: number;
  /** 1 if the next invocation to claim the run may call its model before it commits. Its claim is then its mark. */
  readonly marksAtClaim: 0 | 1;
  /** The store that did not answer when the run was last released, and since when; null after the next commit. */
  readonly storeOutage: StoreOutage | null;
  /** The wake-up counter: every message and request raises it. `wakeCountSeen` is its value at the last commit. */
  readonly wakeCount: number;
  readonly wakeCountSeen: number;
  /** Requested, not necessarily done. */
  readonly cancel: boolean;
  readonly pause: boolean;
  readonly status: Status;
  readonly phase: Phase;
  readonly statusSince: number;
  readonly lastCheckpointAt: number;
  readonly wakeAt: number | null;
  readonly park: { readonly token: string; readonly entry: Entry } | null;
  /** The end of the run has been delivered to parent, webhook and archive. */
  readonly endNotified: boolean;
  readonly deadline: number;
  readonly spent: Spent;
  readonly expiresAtSec: number | null;
  /** The level that a process must know to go on with the run (`core/levels.ts`); absent: the lowest. */
  readonly level?: number;
  /** The checksum of the fields that only commits write (`codec/checksum.ts`); absent if none was written. */
  readonly checksum?: string;
  /** The redrive that no invocation has recorded yet; absent without one. */
  readonly redrive?: RedriveNote;
  /** What lists tell besides; absent if no commit has written it. */
  readonly brief?: RowBrief;
  /** Absent: its store was not restored since the run began. */
  readonly restored?: RestoredMark;
  /** How often its parent has asked for this run, the creation included (`row-fence.ts`); absent: once. */
  readonly dispatch?: number;
}

/** A row of a list. It may lack its journal, so nothing loads a run from it: the row is read first. */
export type ListedRow = Omit<Row, "journal">;

export interface StoreOutage {
  /** The store in words, such as `the objects`. */
  readonly store: string;
  /** Epoch milliseconds. */
  readonly since: number;
}

/** What every operation on an existing run names: the incarnation, and the time by the caller's clock. */
export interface RunRef extends Incarnation {
  readonly now: number;
}

export type Changed<K extends string> = { readonly kind: K; readonly row: Row };
/** Why an operation cannot apply to a row. `unreadable`: the row is damaged, and `why` says how. */
export type Refused = { readonly kind: "missing" } | { readonly kind: "unreadable"; readonly why: string } | Newer;

export interface Creation extends Incarnation {
  readonly parent: Incarnation | null;
  readonly tenant: string;
  readonly agent: string;
  readonly agentVersion: string;
  readonly inputDigest: string;
  readonly snapshot: SnapshotPointer;
  readonly now: number;
  /** A row that expired before this time makes room; `now` if absent. */
  readonly earliest?: number;
  readonly deadline: number;
  /** The level that the new run needs; absent: the lowest. */
  readonly level?: number;
  readonly brief?: RowBrief;
  /** The checksum of the resulting row. */
  readonly checksum?: string;
  /** The mark that the run inherits. One that waits begins paused. */
  readonly restored?: RestoredMark;
}

export function newRow(creation: Creation): Row {
  const { now, earliest: _, ...identity } = creation;
  const waits = creation.restored?.waits === true;
  return {
    ...identity,
    createdAt: now,
    format: FORMAT,
    epoch: 0,
    owner: null,
    leaseUntil: null,
    effectsSettleAt: 0,
    chain: 1,
    entry: null,
    chainClaims: 0,
    version: 0,
    commitId: creation.born,
    journal: null,
    claims: 0,
    takeovers: 0,
    deaths: 0,
    unaccountedModelCalls: 0,
    marksAtClaim: 1,
    storeOutage: null,
    wakeCount: 0,
    wakeCountSeen: 0,
    cancel: false,
    pause: waits,
    status: waits ? "paused" : "queued",
    phase: "Preparing",
    statusSince: now,
    lastCheckpointAt: now,
    wakeAt: null,
    park: null,
    endNotified: false,
    spent: NOTHING_SPENT,
    expiresAtSec: null,
  };
}

/** True if the row's retention is over. Such a row is absent for every reader, though it is deleted later. */
export const isExpired = (row: Row, now: number): boolean =>
  row.expiresAtSec !== null && row.expiresAtSec * 1_000 <= now;

export const hasEnded = (row: Pick<Row, "status">): boolean =>
  row.status === "completed" || row.status === "failed" || row.status === "cancelled";

/** The condition of every operation: the row exists, has this incarnation, is not expired, and has a known format. */
export function presentRow(row: Row | null, { born, now }: RunRef): Row | Refused {
  if (row === null || row.born !== born || isExpired(row, now)) return { kind: "missing" };
  if (row.format > FORMAT) return newerFormat(row.format, FORMAT);
  return row.format === FORMAT ? row : { kind: "unreadable", why: `it ${BEFORE_RELEASE.says}` };
}

/** What an invocation makes durable: a checkpoint, and perhaps the release of the run. */
export interface Commit extends RunRef {
  readonly epoch: number;
  /** The version that this commit follows. */
  readonly version: number;
  readonly commitId: string;
  readonly agentVersion: string;
  readonly journal: Uint8Array | null;
  readonly snapshot: SnapshotPointer;
  readonly spent: Spent;
  readonly status: Status;
  readonly phase: Phase;
  readonly wakeCountSeen: number;
  readonly wakeAt: number | null;
  readonly deadline: number;
  /** The next `Row.unaccountedModelCalls`: this epoch's mark for its next call, and calls that were not debited here. */
  readonly unaccountedModelCalls: number;
  readonly marksAtClaim: 0 | 1;
  /** True if the commit holds a reply, a settled call or a compensation, and the run is not in a crash loop. */
  readonly isProgress: boolean;
  readonly storeOutage: StoreOutage | null;
  /** When the run last made something durable. A commit that only releases the run keeps the row's value. */
  readonly lastCheckpointAt: number;
  /** The invocation is over, and the run has no owner afterwards. */
  readonly release: boolean;
  /** A call outlived its timeout: it may still take effect until this owner's lease is over. */
  readonly raiseEffectsSettleAt: boolean;
  /** Absent: it stays. */
  readonly brief?: RowBrief;
  /** The execution is over too: the run moves to the next execution of its chain, under the next epoch. */
  readonly nextChain: boolean;
  /** Set for an end that needs no delivery: this commit marks it delivered and starts the retention. Otherwise null. */
  readonly expiresAtSec: number | null;
  /** The level needed to read what this commit writes, and what the row needed before; absent: the row's level. */
  readonly level?: number;
  /** The checksum of the resulting row. */
  readonly checksum?: string;
  /** Whether it has to survive a power loss before it returns; absent: it has to. Stores that always do ignore it. */
  readonly durable?: Durable;
  /** Commit only if the wake-up counter is still `wakeCountSeen` (schedules 12 and 13); set by every terminal commit. */
  readonly unlessWoken: boolean;
}

/** `woken`: the wake-up counter has risen. `fenced`: the row has another epoch or version, so the writer is stale. */
export type CommitOutcome = Changed<"committed"> | Changed<"woken"> | Changed<"fenced"> | Refused;

export function decideCommit(row: Row, commit: Commit): CommitOutcome {
  if (row.epoch !== commit.epoch || row.version !== commit.version) return { kind: "fenced", row };
  if (commit.unlessWoken && row.wakeCount !== commit.wakeCountSeen) return { kind: "woken", row };
  const { now, agentVersion, journal, snapshot, spent, status, phase, wakeCountSeen, wakeAt, deadline, commitId } =
    commit;
  const { unaccountedModelCalls, marksAtClaim, storeOutage, lastCheckpointAt } = commit;
  const { redrive, checksum: _, ...rest } = row;
  return {
    kind: "committed",
    row: {
      ...rest,
      ...(redrive === undefined || recordsRedrive(commit) ? {} : { redrive }),
      agentVersion,
      journal,
      snapshot,
      spent,
      status,
      phase,
      wakeCountSeen,
      wakeAt,
      deadline,
      commitId,
      unaccountedModelCalls,
      marksAtClaim,
      storeOutage,
      lastCheckpointAt,
      ...(commit.checksum === undefined ? {} : { checksum: commit.checksum }),
      ...(commit.brief === undefined ? {} : { brief: commit.brief }),
      ...(levelIn(commit) > LOWEST_LEVEL ? { level: levelIn(commit) } : {}),
      version: row.version + 1,
      claims: commit.release ? 0 : 1,
      deaths: commit.isProgress ? 0 : row.deaths,
      statusSince: status === row.status ? row.statusSince : now,
      ...(commit.release ? { owner: null, leaseUntil: null } : {}),
      ...(commit.nextChain ? { chain: row.chain + 1, epoch: row.epoch + 1, chainClaims: 0, claimedAt: now } : {}),
      ...(commit.expiresAtSec === null ? {} : { endNotified: true, expiresAtSec: commit.expiresAtSec }),
      ...(commit.raiseEffectsSettleAt ? { effectsSettleAt: Math.max(row.effectsSettleAt, row.leaseUntil ?? 0) } : {}),
    },
  };
}

/** The row after a delivery. The caller stores the `seen` and `inbox` items in the same transaction. */
export function wokenRow(row: Row, deadline: number): Row {
  return { ...row, wakeCount: row.wakeCount + 1, deadline: Math.max(row.deadline, deadline) };
}

export interface Request extends RunRef {
  readonly want: "cancel" | "pause" | "resume";
}

export type RequestOutcome = Changed<"requested"> | Changed<"late"> | Refused;

/** Decides a request. Schedule 14: a resume clears the pause and wakes the run, so that a parked run goes on. */
export function decideRequest(row: Row, { want }: Request): RequestOutcome {
  if (hasEnded(row)) return { kind: "late", row };
  const cancel = row.cancel || want === "cancel";
  const pause = want === "cancel" ? row.pause : want === "pause";
  return { kind: "requested", row: { ...row, cancel, pause, wakeCount: row.wakeCount + 1 } };
}

/** Who redrove a run and why. `id` tells this redrive from any other. */
export interface RedriveNote {
  readonly id: string;
  readonly by: string;
  readonly why: string;
}

/**
 * True if a commit records the redrive in the row. A commit may keep a terminal phase while the run goes on: it only
 * releases the run in an outage, and the note of the redrive stays.
 */
export const recordsRedrive = ({ phase, status }: { readonly phase: Phase; readonly status: Status }): boolean =>
  !isTerminal(phase) || status === PHASES[phase].status;
