/**
 * The run row: the one mutable object of a run. Every operation on it is a pure decision, `(row, request) → outcome`,
 * which a world applies in one atomic conditional write. The embedded and in-memory worlds run these functions inside
 * a transaction; DynamoDB has the same conditions as expressions, and the conformance suite holds all of them to one
 * behaviour. Claims are in `row-claim.ts`, hand-overs in `row-hand-over.ts`. Times are epoch milliseconds except `expiresAtSec`.
 */
import { type Spent, NOTHING_SPENT } from "../core/policy/budget.ts";
import { LOWEST_LEVEL, levelIn } from "../core/levels.ts";
import { type Phase, type Status, PHASES, isTerminal } from "../core/phases.ts";
import type { Entry } from "./entry.ts";
import { type Newer, newerFormat } from "./newer.ts";

/** The version of row, journal and snapshot that this code reads and writes. */
export const FORMAT = 1;

export interface SnapshotPointer {
  readonly version: number;
  readonly key: string;
  /** SHA-256 of the uncompressed bytes. */
  readonly digest: string;
}

/** One life of a run: the same idempotency key may make the same run again after its time, under another `born`. */
export interface Incarnation {
  readonly run: string;
  readonly born: string;
}

export interface Row extends Incarnation {
  /** Who started this run and waits for its end; null for a run of its own. */
  readonly parent: Incarnation | null;
  readonly tenant: string;
  readonly agent: string;
  readonly agentVersion: string;
  readonly createdAt: number;
  readonly inputDigest: string;
  readonly format: number;
  /** Fencing token: +1 at every claim and hand-over, never down. */
  readonly epoch: number;
  readonly owner: string | null;
  readonly leaseUntil: number | null;
  /** Until when an invocation that lost the run may still be alive; nothing lowers it. */
  readonly quietUntil: number;
  /** The one execution that may drive this run. */
  readonly chain: number;
  readonly entry: Entry | null;
  readonly chainClaims: number;
  readonly version: number;
  readonly commitId: string;
  readonly snapshot: SnapshotPointer;
  /** Commits since that snapshot, encoded; null when there are none. */
  readonly journal: Uint8Array | null;
  /** Invocations that hold the run or died with it since it was last released: whose time at work no commit has debited. */
  readonly claims: number;
  /** Claims and hand-overs that found an owner, ever. A statistic: a store that was away adds to it as a death does. */
  readonly takeovers: number;
  /** Processes that are known to have died with this run since its last commit that held progress. */
  readonly deaths: number;
  /**
   * Model calls that may have left and are in no debit, and marks under which one may leave. A model call leaves only under
   * a mark of its own epoch, and a commit lowers this only by what it debits itself or knows never left.
   */
  readonly asks: number;
  /** 1 if the invocation that claims the run next may call its model before it commits: its claim is its mark. */
  readonly will: 0 | 1;
  /** The store that did not answer when the run was last released, and since when; null once a commit followed. */
  readonly storeOutage: StoreOutage | null;
  readonly stirs: number;
  readonly stirsSeen: number;
  /** Asked for, not necessarily done. */
  readonly cancel: boolean;
  readonly pause: boolean;
  readonly status: Status;
  readonly phase: Phase;
  readonly statusSince: number;
  readonly lastCheckpointAt: number;
  readonly wakeAt: number | null;
  readonly park: { readonly token: string; readonly entry: Entry } | null;
  /** The end of the run is known to everyone who waits for it. */
  readonly told: boolean;
  readonly deadline: number;
  readonly spent: Spent;
  readonly expiresAtSec: number | null;
  /** What a process must know to go on with the run (`core/levels.ts`); absent where every process does. */
  readonly level?: number;
  /** Of what only commits write (`codec/checksum.ts`); absent where none was written. */
  readonly checksum?: string;
  /** Somebody redrove the run, and no invocation has recorded it yet; absent where nobody did. */
  readonly redrive?: RedriveNote;
}

export interface StoreOutage {
  /** Such as `the objects`. */
  readonly store: string;
  /** Epoch milliseconds. */
  readonly since: number;
}

/** What the caller of any operation on an existing run names: this incarnation and the time by its own clock. */
export interface Of extends Incarnation {
  readonly now: number;
}

export type Changed<K extends string> = { readonly kind: K; readonly row: Row };
/** `unreadable`: the row is damaged; `why` says how. */
export type Refused = { readonly kind: "missing" } | { readonly kind: "unreadable"; readonly why: string } | Newer;

export interface Creation extends Incarnation {
  readonly parent: Incarnation | null;
  readonly tenant: string;
  readonly agent: string;
  readonly agentVersion: string;
  readonly inputDigest: string;
  readonly snapshot: SnapshotPointer;
  readonly now: number;
  /** What is over by then makes room; `now` unless told. */
  readonly earliest?: number;
  readonly deadline: number;
  /** Of the row that it makes. */
  readonly checksum?: string;
}

export function created(creation: Creation): Row {
  const { now, earliest: _, ...identity } = creation;
  return {
    ...identity,
    createdAt: now,
    format: FORMAT,
    epoch: 0,
    owner: null,
    leaseUntil: null,
    quietUntil: 0,
    chain: 1,
    entry: null,
    chainClaims: 0,
    version: 0,
    commitId: creation.born,
    journal: null,
    claims: 0,
    takeovers: 0,
    deaths: 0,
    asks: 0,
    will: 1,
    storeOutage: null,
    stirs: 0,
    stirsSeen: 0,
    cancel: false,
    pause: false,
    status: "queued",
    phase: "Preparing",
    statusSince: now,
    lastCheckpointAt: now,
    wakeAt: null,
    park: null,
    told: false,
    spent: NOTHING_SPENT,
    expiresAtSec: null,
  };
}

/** A row whose time is over is gone for every reader: deletion is lazy. */
export const isExpired = (row: Row, now: number): boolean =>
  row.expiresAtSec !== null && row.expiresAtSec * 1_000 <= now;

export const hasEnded = (row: Row): boolean =>
  row.status === "completed" || row.status === "failed" || row.status === "cancelled";

/** What every condition says besides its own: the row exists, is mine, is not expired, and I know its format. */
export function present(row: Row | null, of: Of): Row | Refused {
  if (row === null || row.born !== of.born || isExpired(row, of.now)) return { kind: "missing" };
  if (row.format > FORMAT) return newerFormat(row.format, FORMAT);
  return row.format === FORMAT ? row : { kind: "unreadable", why: `it has format ${row.format}` };
}

export interface Commit extends Of {
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
  readonly stirsSeen: number;
  readonly wakeAt: number | null;
  readonly deadline: number;
  /** What is left of `Row.asks` after this commit: a mark of this epoch that is ahead, or a call that it could not debit. */
  readonly asks: number;
  readonly will: 0 | 1;
  /** It holds a reply, a settled call or a compensation, and the run is not in a crash loop. */
  readonly isProgress: boolean;
  readonly storeOutage: StoreOutage | null;
  /** When the run last made something durable: now, or what the row says where this commit only gives the run back. */
  readonly lastCheckpointAt: number;
  /** The invocation is over: the run has no owner from here on. */
  readonly release: boolean;
  /** A call outlived its timeout: nobody may conclude anything before this invocation's own lease is over. */
  readonly raiseQuiet: boolean;
  /** Its execution is over as well: the run moves to the next one of its chain, under the next epoch. */
  readonly nextChain: boolean;
  /** An end that nobody waits for is told by its own commit, and the run's time to live starts; else null. */
  readonly expiresAtSec: number | null;
  /** What a process must know to read what this commit writes, and what the row says before it; absent: as the row says. */
  readonly level?: number;
  /** Of the row that it makes. */
  readonly checksum?: string;
  /** Only while nobody stirred the run since `stirsSeen` (schedules 12 and 13); every terminal commit. */
  readonly unlessStirred: boolean;
}

export type CommitOutcome = Changed<"committed"> | Changed<"stirred"> | Changed<"fenced"> | Refused;

export function committed(row: Row, commit: Commit): CommitOutcome {
  if (row.epoch !== commit.epoch || row.version !== commit.version) return { kind: "fenced", row };
  if (commit.unlessStirred && row.stirs !== commit.stirsSeen) return { kind: "stirred", row };
  const { now, agentVersion, journal, snapshot, spent, status, phase, stirsSeen, wakeAt, deadline, commitId } = commit;
  const { asks, will, storeOutage, lastCheckpointAt } = commit;
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
      stirsSeen,
      wakeAt,
      deadline,
      commitId,
      asks,
      will,
      storeOutage,
      lastCheckpointAt,
      ...(commit.checksum === undefined ? {} : { checksum: commit.checksum }),
      ...(levelIn(commit) > LOWEST_LEVEL ? { level: levelIn(commit) } : {}),
      version: row.version + 1,
      claims: commit.release ? 0 : 1,
      deaths: commit.isProgress ? 0 : row.deaths,
      statusSince: status === row.status ? row.statusSince : now,
      ...(commit.release ? { owner: null, leaseUntil: null } : {}),
      ...(commit.nextChain ? { chain: row.chain + 1, epoch: row.epoch + 1, chainClaims: 0 } : {}),
      ...(commit.expiresAtSec === null ? {} : { told: true, expiresAtSec: commit.expiresAtSec }),
      ...(commit.raiseQuiet ? { quietUntil: Math.max(row.quietUntil, row.leaseUntil ?? 0) } : {}),
    },
  };
}

/** The row's part of a delivery; the caller stores the `seen` and `inbox` items in the same transaction. */
export function stirred(row: Row, deadline: number): Row {
  return { ...row, stirs: row.stirs + 1, deadline: Math.max(row.deadline, deadline) };
}

export interface Request extends Of {
  readonly want: "cancel" | "pause" | "resume";
}

export type RequestOutcome = Changed<"requested"> | Changed<"late"> | Refused;

/** Schedule 14: resuming clears the pause and stirs, so that a parked run goes round and sees it. */
export function requested(row: Row, { want }: Request): RequestOutcome {
  if (hasEnded(row)) return { kind: "late", row };
  const cancel = row.cancel || want === "cancel";
  const pause = want === "cancel" ? row.pause : want === "pause";
  return { kind: "requested", row: { ...row, cancel, pause, stirs: row.stirs + 1 } };
}

/** Who wants a run redriven, under a name that tells this wish from another one. */
export interface RedriveNote {
  readonly id: string;
  readonly by: string;
  readonly why: string;
}

/**
 * A commit that keeps the phase of an end although the run goes on is one that gave the run back in an outage, before the
 * redrive could be recorded: its note stays.
 */
export const recordsRedrive = ({ phase, status }: { readonly phase: Phase; readonly status: Status }): boolean =>
  !isTerminal(phase) || status === PHASES[phase].status;
