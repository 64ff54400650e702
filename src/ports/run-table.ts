/**
 * RunTable: stores the run rows. Their messages are in `inbox.ts`. The contract:
 *
 * - Every operation is one atomic conditional write, decided as `protocol/` decides it. Expected outcomes are values.
 *   After an outcome the write is durable, if the decision does not say otherwise.
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
 * - Whenever a row is removed, by expiry, by a decision or by `create` over an expired one, the world requests the
 *   clean-up of its incarnation (`cleanUp` of `protocol/chain.ts`): at least once, perhaps late, never before the row
 *   is gone. Its inbox, seen and audit items stay until then.
 * - A tombstone keeps the key of an ended run after its row is gone. It does not belong to what an incarnation leaves
 *   behind: neither the removal of the row nor `forget` of the inbox touches it. A world removes it some time after its expiry, and
 *   requests no clean-up.
 * - Otherwise an operation rejects only with `StoreUnreachable`.
 */
import type { Status } from "../core/phases.ts";
import type {
  RunRef,
  ListedRow,
  Changed,
  Creation,
  Incarnation,
  Refused,
  Request,
  RequestOutcome,
  Row,
} from "../protocol/row.ts";
import type { ChildrenCreation, ChildrenOutcome } from "../protocol/row-children.ts";
import type { ChildFence, FenceOutcome } from "../protocol/row-fence.ts";
import type { DecisionOutcome, RowDecision } from "../protocol/row-decision.ts";
import type { KeyKept } from "../protocol/row-removal.ts";
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

/**
 * What the caller of a list goes on with. A world may leave out every other row and need not, so the caller looks at each. A
 * cursor goes on with the query that it is from.
 */
export interface ListedOnly {
  /** The runs of this agent. */
  readonly agent?: string;
  /** The runs whose ID begins so, with their tenant. */
  readonly beginsWith?: string;
  /** The runs whose key in their row begins so, and those whose whole key it is. */
  readonly keyBegins?: string;
  /** The runs that this run started. */
  readonly parent?: string;
  /** The runs that may ask a human (`mayAsk` of `protocol/row-brief.ts`). */
  readonly asking?: true;
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
  /**
   * One transaction. Condition: the parent has not ended, and the named epoch holds it. Then the child's row is decided
   * and written as `protocol/row-fence.ts` says. A copy of a request that was applied changes nothing.
   */
  fenceChild(fence: ChildFence): Promise<FenceOutcome | Ambiguous>;
  /**
   * Applies a decision to the stored row of the run that `asked` names: claims, commits and all others of
   * `protocol/row-*.ts`. One atomic conditional write or removal at most. The row has not changed between the decision and the
   * write, except for the changing fields that the decision does not name as read; these keep their newest values.
   */
  decide<Asked extends RunRef, Outcome extends DecisionOutcome>(
    asked: NoInfer<Asked>,
    decision: RowDecision<Asked, Outcome>,
  ): Promise<Outcome | Refused | Ambiguous>;
  /** Cancel, pause or resume; the caller wakes the run. */
  request(request: Request): Promise<RequestOutcome | Ambiguous>;
  /**
   * Stores the tombstone, unless a newer one is stored (`protocol/tombstone.ts`). Call it before the write that starts
   * the row's retention, since the row may be removed at any moment after that.
   */
  keepKey(tombstone: Tombstone): Promise<{ readonly kind: "kept" } | Ambiguous>;
  /** Removes the tombstone of that incarnation; succeeds if there is none. */
  forgetKey(incarnation: Incarnation): Promise<{ readonly kind: "forgotten" } | Ambiguous>;
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
    readonly only?: ListedOnly;
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
