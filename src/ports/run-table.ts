/**
 * RunTable: stores the run rows. Their messages are in `inbox.ts`. The contract:
 *
 * - Every operation is one atomic conditional write, decided as `protocol/row.ts` decides it. Expected outcomes are
 *   values. After `granted`, `committed`, `parked` and `handed` the write is durable.
 * - `ambiguous` means that the store gave no answer from which to tell whether the write happened (a timeout, a 5xx,
 *   throttling). Only `history/resolve-ambiguous-write.ts` handles it. A world whose writes cannot be ambiguous never
 *   returns it.
 * - Reads are consistent. An expired row is absent for every operation, deleted or not.
 * - A row whose format is above this code's is `newer` for every operation, and no operation changes it; below it, the
 *   row is `unreadable`. A row whose level is above that of a claim is `newer` for that claim. The other operations
 *   change only what every level of a format has, and keep every field that they do not know.
 * - A damaged row is one that cannot be decoded. Every operation on its run returns `unreadable`, whichever incarnation
 *   it names. `read` rejects with `RowDamaged` (`codec/row.ts`), or with `RowNewer` for a row of a newer version. Pages
 *   list it and go on. No operation treats it as expired. The store's own time to live may remove it, if the item still
 *   says which incarnation it was.
 * - Whenever a row is removed, by expiry, by `purge` or by `create` over an expired one, the world requests the
 *   clean-up of its incarnation (`cleanUp` of `protocol/chain.ts`): at least once, perhaps late, never before the row
 *   is gone. Its inbox, seen and audit items stay until then.
 * - A tombstone keeps the key of an ended run after its row is gone. It does not belong to what an incarnation leaves
 *   behind: neither the removal of the row nor `forget` of the inbox touches it. A world removes it some time after its expiry, and
 *   requests no clean-up.
 * - Otherwise an operation rejects only with `StoreUnreachable`.
 */
import type { Status } from "../core/phases.ts";
import type {
  ListedRow,
  Changed,
  Commit,
  CommitOutcome,
  Creation,
  Incarnation,
  RunRef,
  Refused,
  Request,
  RequestOutcome,
  Row,
} from "../protocol/row.ts";
import type { ChildrenCreation, ChildrenOutcome } from "../protocol/row-children.ts";
import type { Park, ParkOutcome } from "../protocol/row-park.ts";
import type { Claim, ClaimOutcome } from "../protocol/row-claim.ts";
import type { HandOver, HandOverOutcome } from "../protocol/row-hand-over.ts";
import type { RestoredCheck, RestoredCheckOutcome } from "../protocol/row-restored.ts";
import type { Redrive, RedriveOutcome } from "../protocol/row-redrive.ts";
import type { EndNotification } from "../protocol/row-end-notification.ts";
import type { KeyKept, PurgeOutcome } from "../protocol/row-removal.ts";
import type { Tombstone } from "../protocol/tombstone.ts";

/** The write may or may not have happened. */
export interface Ambiguous {
  readonly kind: "ambiguous";
  readonly why: string;
  /** The store is throttling: send the write again after a pause. */
  readonly isBusy?: true;
}

export type CreateOutcome =
  | Changed<"created">
  | Changed<"exists">
  | Changed<"conflict">
  | KeyKept
  | Exclude<Refused, { readonly kind: "missing" }>
  | Ambiguous;
/** A row that cannot be decoded. `why` never quotes what is stored. */
export interface Damaged {
  readonly run: string;
  readonly why: string;
}

/** One page, newest first. `next` is the cursor of the following page, or null. */
export interface Page {
  readonly rows: readonly ListedRow[];
  /** For each of `rows` the cursor after it, for a reader that stops in the middle. */
  readonly behind: readonly string[];
  /** Rows that belong on this page and cannot be decoded. */
  readonly damaged: readonly Damaged[];
  readonly next: string | null;
}

export interface RunTable {
  /**
   * `exists`: the same run with the same input. `conflict`: the same run with another input or agent. `ended`: there is
   * no unexpired row, but an unexpired tombstone. It judges both atomically, and deletes an expired row first.
   */
  create(creation: Creation): Promise<CreateOutcome>;
  /**
   * One transaction. Condition: the parent has not ended, and the named epoch holds it. Each child is created unless
   * its row or the ID of its report is there. A child that is left alone takes the ID of its report.
   */
  createChildren(creation: ChildrenCreation): Promise<ChildrenOutcome | Ambiguous>;
  claim(claim: Claim): Promise<ClaimOutcome | Ambiguous>;
  commit(commit: Commit): Promise<CommitOutcome | Ambiguous>;
  park(park: Park): Promise<ParkOutcome | Ambiguous>;
  /** Cancel, pause or resume; the caller wakes the run. */
  request(request: Request): Promise<RequestOutcome | Ambiguous>;
  handOver(handOver: HandOver): Promise<HandOverOutcome | Ambiguous>;
  recordEndNotified(of: EndNotification): Promise<Changed<"notified"> | Refused | Ambiguous>;
  /** A failed run goes on under the next epoch, in the next execution of its chain. */
  redrive(redrive: Redrive): Promise<RedriveOutcome | Ambiguous>;
  /** An operator says that what a restored run may have done outside was checked; the caller wakes the run. */
  checkRestored(check: RestoredCheck): Promise<RestoredCheckOutcome | Ambiguous>;
  /**
   * Removes the row of a run that has ended and whose end has been delivered. `missing` may be the effect of this
   * request's own first copy.
   */
  purge(of: RunRef): Promise<PurgeOutcome | Ambiguous>;
  /**
   * Stores the tombstone, unless a newer one is stored (`protocol/tombstone.ts`). Call it before the write that starts
   * the row's retention, since the row may be removed at any moment after that.
   */
  keepKey(tombstone: Tombstone): Promise<{ readonly kind: "kept" } | Ambiguous>;
  /** Removes the tombstone of that incarnation; succeeds if there is none. */
  forgetKey(of: Incarnation): Promise<{ readonly kind: "forgotten" } | Ambiguous>;
  /** The tombstone of a run; null if there is none, or if it has expired at `now`, deleted or not. */
  readKey(run: string, now: number): Promise<Tombstone | null>;
  /** The row, if it has not expired at `now`. At 0 no row has expired, so every row that is not deleted is returned. */
  read(run: string, now: number): Promise<Row | null>;
  list(query: {
    readonly tenant: string;
    readonly status: Status | null;
    readonly limit: number;
    readonly after: string | null;
    readonly now: number;
  }): Promise<Page>;
  /**
   * Runs that have not ended, or whose end has not been delivered. With `dueBy` (epoch milliseconds) a world may leave
   * out those that a sweep has to judge only later (`protocol/due.ts`). A cursor goes on with the query that it is from.
   */
  alive(query: {
    readonly limit: number;
    readonly after: string | null;
    readonly now: number;
    readonly dueBy?: number;
  }): Promise<Page>;
  /** The permanent ID of this store. A table and an object store that are used together have the same one. */
  storeId(): Promise<string>;
}
