/**
 * What an operator says to a run, in one message: the run is looked at, what is said is judged by what was seen, and the
 * message is delivered to the very incarnation that was seen. Assignments, upgrades, answers and decisions all go this way.
 *
 * Whatever names no open question is refused before any write, so that it cannot take the place of a good message. Between
 * the look and the delivery the run may move on, end, or hear the same from another sender: each of these is told apart.
 */
import type { MessageBody } from "../core/event.ts";
import type { World } from "../ports/world.ts";
import type { Row } from "../protocol/row.ts";
import { deliver } from "../engine/context/inbox.ts";

/** The message to send, and what became of it. */
export interface Sending<Outcome> {
  readonly kind: "send";
  /** The same ID is the same message, from whatever sender. */
  readonly id: string;
  readonly body: MessageBody;
  /** It lies in the inbox now; the run may have moved on since it was looked at. */
  readonly onDelivered: () => Outcome | Promise<Outcome>;
  /** A message of that ID was delivered before, perhaps by this very sender. */
  readonly onDuplicate: () => Outcome | Promise<Outcome>;
}

/** `late`: the run has ended, and takes nothing more. `missing`: there is no such run. */
export type Gone = { readonly kind: "late" } | { readonly kind: "missing" };

/** `judge` gets the row that was read: it says what to send, or the refusal. */
export async function lookThenDeliver<Outcome extends { readonly kind: string }>(
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
  return { kind: delivered === "late" ? "late" : "missing" };
}

const isSending = <Outcome extends { readonly kind: string }>(
  judged: Outcome | Sending<Outcome>,
): judged is Sending<Outcome> => judged.kind === "send";
