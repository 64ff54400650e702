/**
 * RunTable: where the run rows and inboxes live. The contract:
 *
 * - Every operation is one atomic conditional write, decided as `protocol/row.ts` decides it. Expected outcomes are
 *   values. After `granted`, `committed`, `parked`, `handed` and `delivered` the write is durable.
 * - `ambiguous` means that nobody knows whether the write happened (a timeout, a 5xx, throttling). Only
 *   `runner/certain.ts` handles it. A world whose writes cannot be ambiguous never returns it.
 * - Reads are consistent. A row past its expiry is absent for every operation, deleted or not.
 * - A row of a format above the one that this code knows is `newer` for every operation, and nothing touches it; of one
 *   below it is `unreadable`. A row of a level above that of a claim is `newer` for that claim. The other operations change
 *   only what every level of a format has, and keep every field that they do not know.
 * - A damaged row is one that cannot be decoded. Every operation on its run answers `unreadable`, whichever incarnation it
 *   names; `read` rejects with `RowDamaged` (`codec/row.ts`), or with `RowNewer` where a newer version wrote it; pages name it and go on. No operation takes it for
 *   expired; the store's own time to live may remove it where that still tells which incarnation it was.
 * - Whenever a row is removed, by expiry, by `purge` or by `create` over an expired one, the world tells that its
 *   incarnation is to be cleaned up (`cleanUp` of `protocol/chain.ts`): at least once, perhaps late, never before the
 *   row is gone. Its inbox, seen and audit items stay until then.
 * - A tombstone keeps the key of an ended run after its row is gone. It is no part of an incarnation's remains: neither
 *   the removal of the row nor `forget` touches it. A world removes it some time after its own expiry and tells nobody.
 * - Otherwise an operation rejects only with `StoreUnreachable`; `inbox` also as it says.
 */
import type { MessageBody } from "../core/event.ts";
import type { Status } from "../core/phases.ts";
import type {
  Changed,
  Commit,
  CommitOutcome,
  Creation,
  Incarnation,
  Of,
  Refused,
  Request,
  RequestOutcome,
  Row,
} from "../protocol/row.ts";
import type { Park, ParkOutcome } from "../protocol/row-park.ts";
import type { Claim, ClaimOutcome } from "../protocol/row-claim.ts";
import type { HandOver, HandOverOutcome } from "../protocol/row-hand-over.ts";
import type { Redrive, RedriveOutcome } from "../protocol/row-redrive.ts";
import type { Tell } from "../protocol/row-tell.ts";
import type { Turn, TurnOutcome } from "../protocol/mutex-lease.ts";
import type { Ended, PurgeOutcome } from "../protocol/row-removal.ts";
import type { Tombstone } from "../protocol/tombstone.ts";

export interface Ambiguous {
  readonly kind: "ambiguous";
  readonly why: string;
  /** The store has too much to do and asks for patience: sending the write again makes sense after a pause. */
  readonly isBusy?: true;
}

export interface Message {
  /** Put-once per incarnation: the first message of an id counts; see `Delivery.digest`. */
  readonly id: string;
  /** Absorbed in this order, then by id. */
  readonly sentAt: number;
  readonly body: MessageBody;
}

export interface Delivery extends Of {
  readonly message: Message;
  /** The run's new deadline: a message is a sign of life. */
  readonly deadline: number;
  /** Of the text as its sender gave it. Kept with the id for as long as the run exists; null or absent keeps none. */
  readonly digest?: string | null;
}

export type CreateOutcome =
  | Changed<"created">
  | Changed<"exists">
  | Changed<"conflict">
  | Ended
  | Exclude<Refused, { readonly kind: "missing" }>
  | Ambiguous;
export type DeliverOutcome =
  | Changed<"delivered">
  /** It was counted before. */
  | Changed<"duplicate">
  /** Another message was counted under its id (`protocol/repetition.ts`). */
  | Changed<"conflict">
  /** The run has ended. */
  | Changed<"late">
  | Refused
  | Ambiguous;

/** A row that cannot be decoded. `why` never quotes what is stored. */
export interface Damaged {
  readonly run: string;
  readonly why: string;
}

/** One page, newest first; `next` is the cursor of the following page or null. */
export interface Page {
  readonly rows: readonly Row[];
  /** For each of `rows` the cursor behind it, for a reader that stops in the middle. */
  readonly behind: readonly string[];
  /** Rows that have their place on this page and cannot be decoded. */
  readonly damaged: readonly Damaged[];
  readonly next: string | null;
}

export interface RunTable {
  /**
   * `exists`: same run, same input. `conflict`: same run, another input or agent. `ended`: no row that has not expired,
   * and a tombstone that has not. Atomic over both. An expired row is deleted first.
   */
  create(creation: Creation): Promise<CreateOutcome>;
  claim(claim: Claim): Promise<ClaimOutcome | Ambiguous>;
  commit(commit: Commit): Promise<CommitOutcome | Ambiguous>;
  park(park: Park): Promise<ParkOutcome | Ambiguous>;
  /** One transaction: `seen` item absent, row not terminal; then `seen` item, inbox item and `stirs + 1`. */
  deliver(delivery: Delivery): Promise<DeliverOutcome>;
  /** Cancel, pause or resume; the caller wakes the run. */
  request(request: Request): Promise<RequestOutcome | Ambiguous>;
  handOver(handOver: HandOver): Promise<HandOverOutcome | Ambiguous>;
  tell(of: Tell): Promise<Changed<"told"> | Refused | Ambiguous>;
  /** A failed run goes on under the next epoch, in the next execution of its chain. */
  redrive(redrive: Redrive): Promise<RedriveOutcome | Ambiguous>;
  /** Removes the row of a run that has ended and whose end is told; `missing` may be its own first copy's doing. */
  purge(of: Of): Promise<PurgeOutcome | Ambiguous>;
  /**
   * Stores the tombstone, unless one stands that is newer (`protocol/tombstone.ts`). Before the write that starts the
   * row's time to live: the row may go at any moment after that.
   */
  keepKey(tombstone: Tombstone): Promise<{ readonly kind: "kept" } | Ambiguous>;
  /** Removes the tombstone of that incarnation; one that is not there is removed. */
  forgetKey(of: Incarnation): Promise<{ readonly kind: "forgotten" } | Ambiguous>;
  /** Null where there is none, or where its time is over at `now`, deleted or not. */
  readKey(run: string, now: number): Promise<Tombstone | null>;
  /** The row as it was left, judged at `now`: at 0 nothing has expired, and whatever is not deleted is there. */
  read(run: string, now: number): Promise<Row | null>;
  /**
   * The first `limit` messages that are not removed, in order of absorption. Rejects with `MessageDamaged` where one of them
   * cannot be decoded: nothing is committed over a message that was acknowledged and cannot be read.
   */
  inbox(of: Of & { readonly limit: number }): Promise<readonly Message[]>;
  /** Removes inbox items, not what was seen; resolves once that is durable. */
  clearInbox(of: Of & { readonly ids: readonly string[] }): Promise<void>;
  list(query: {
    readonly tenant: string;
    readonly status: Status | null;
    readonly limit: number;
    readonly after: string | null;
    readonly now: number;
  }): Promise<Page>;
  /** Free, lapsed or one's own: taken. Nothing is safe because of it; it keeps two from working against each other. */
  takeTurn(turn: Turn): Promise<TurnOutcome | Ambiguous>;
  /** What was left in the turn of that name, whosever it is; null where nothing was. */
  cursorOf(name: string): Promise<string | null>;
  /** Runs that have not ended or whose end is not told. */
  alive(query: { readonly limit: number; readonly after: string | null; readonly now: number }): Promise<Page>;
  /** Removes the inbox, seen and audit items of that incarnation, never a row; resolves once that is durable. */
  forget(of: Incarnation): Promise<void>;
  /** Names this store, for ever: tables and objects that are used together carry the same one. */
  storeId(): Promise<string>;
}
