/**
 * Inbox: the messages of runs, beside their rows. The contract:
 *
 * - A delivery is one atomic write. After `delivered` it is durable.
 * - A message keeps its ID for as long as its run exists, also after its removal from the inbox (schedule 27).
 * - Messages, rows and their expiry belong together, as `run-table.ts` says. `ambiguous`, `StoreUnreachable` and damaged
 *   rows are as there.
 */
import type { MessageBody } from "../core/event.ts";
import type { Changed, Incarnation, RunRef, Refused } from "../protocol/row.ts";
import type { Ambiguous } from "./run-table.ts";

/** A message to a run. */
export interface InboxMessage {
  /** Unique per incarnation: the first message with an ID counts; see `Delivery.digest`. */
  readonly id: string;
  /** Messages are absorbed in this order, then by ID. Epoch milliseconds. */
  readonly sentAt: number;
  readonly body: MessageBody;
}

/** A request to deliver a message. */
export interface Delivery extends RunRef {
  readonly message: InboxMessage;
  /** The run's new deadline: a message extends it. */
  readonly deadline: number;
  /**
   * The digest of the text as its sender gave it, kept with the ID for as long as the run exists; null or absent keeps
   * none.
   */
  readonly digest?: string | null;
}

export type DeliverOutcome =
  | Changed<"delivered">
  /** This message was delivered before. */
  | Changed<"duplicate">
  /** Another message was delivered under its ID (`protocol/repetition.ts`). */
  | Changed<"conflict">
  /** The run has ended. */
  | Changed<"late">
  | Refused
  | Ambiguous;

export interface Inbox {
  /** One transaction. Condition: no `seen` item, row not terminal. Writes: `seen` item, inbox item and `wakeCount + 1`. */
  deliver(delivery: Delivery): Promise<DeliverOutcome>;
  /**
   * The first `limit` messages that are not removed, in the order of absorption. Rejects with `MessageDamaged` if one
   * of them cannot be decoded: an acknowledged message must not be lost, so no commit may pass over it.
   */
  unread(query: RunRef & { readonly limit: number }): Promise<readonly InboxMessage[]>;
  /** Removes inbox items but keeps their `seen` items. Resolves once that is durable. */
  clear(read: RunRef & { readonly ids: readonly string[] }): Promise<void>;
  /** Removes the inbox, seen and audit items of that incarnation, never a row. Resolves once that is durable. */
  forget(incarnation: Incarnation): Promise<void>;
}
