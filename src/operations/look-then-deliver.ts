/**
 * Delivers an operator's message to a run. It reads the run, judges the message by what it read, and delivers it to
 * that very incarnation. Assignments, upgrades, reconciliations and decisions all use it.
 *
 * A message that names no open question is refused before any write, so that it cannot replace a valid message. Between
 * the read and the delivery the run may move on or end, or another sender may be first. Each case has its own outcome.
 */
import type { MessageBody } from "../core/event.ts";
import type { World } from "../ports/world.ts";
import type { Row } from "../protocol/row.ts";
import { deliver } from "../engine/context/inbox.ts";

/** A message to send, and the outcome for each result of its delivery. */
export interface Sending<Outcome> {
  readonly kind: "send";
  /** Messages with the same ID are the same message, even from different senders. */
  readonly id: string;
  readonly body: MessageBody;
  /** The message is in the inbox. The run may have moved on since it was read. */
  readonly onDelivered: () => Outcome | Promise<Outcome>;
  /** A message with that ID was delivered before, perhaps by this very sender. */
  readonly onDuplicate: () => Outcome | Promise<Outcome>;
  /** Another message was delivered under that ID. Only for messages whose sender chooses the ID. */
  readonly onConflict?: () => Outcome;
}

/** `late`: the run has ended and accepts no messages. `missing`: there is no such run. */
export type Gone = { readonly kind: "late" } | { readonly kind: "missing" };

/** `judge` receives the row that was read, and returns the message to send or the refusal. */
export async function checkThenDeliver<Outcome extends { readonly kind: string }>(
  world: World,
  run: string,
  judge: (row: Row) => Promise<Outcome | Sending<Outcome>>,
): Promise<Outcome | Gone> {
  const row = await world.table.read(run, world.clock.now());
  if (row === null) return { kind: "missing" };
  const judged = await judge(row);
  if (!isSending(judged)) return judged;
  const message = { id: judged.id, sentAt: world.clock.now(), body: judged.body };
  const delivered = await deliver(world, { run: row.run, born: row.born, message });
  if (delivered === "delivered") return judged.onDelivered();
  if (delivered === "duplicate") return judged.onDuplicate();
  if (delivered === "conflict" && judged.onConflict !== undefined) return judged.onConflict();
  return { kind: delivered === "late" ? "late" : "missing" };
}

const isSending = <Outcome extends { readonly kind: string }>(
  judged: Outcome | Sending<Outcome>,
): judged is Sending<Outcome> => judged.kind === "send";
