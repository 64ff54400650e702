/**
 * Messages: absorbed by id in the commit that takes them in, deleted right after it, then forgotten; in that order, so that a
 * crash between any two neither loses nor doubles one (schedules 10, 27, 43). An item holds a message as its sender could
 * write it, perhaps with a secret; the commit holds it redacted. So the item goes as soon as the commit is there, by the commit's
 * own process, by the next invocation, or with the telling of the end (schedule 108).
 */
import { RowNewer } from "../../codec/row.ts";
import { bounded } from "../../codec/value.ts";
import { SIZES } from "../../codec/limits.ts";
import type { MessageBody } from "../../core/event.ts";
import type { Message } from "../../ports/run-table.ts";
import type { World } from "../../ports/world.ts";
import type { ActiveRun } from "./active-run.ts";
import { certainly } from "../../history/resolve-ambiguous-write.ts";
import { noteIgnored } from "./ignored-decisions.ts";
import { knowSecrets, redactionIn } from "../../history/secrets.ts";

/** Reads the inbox if anybody stirred the run, and forgets what was absorbed by an earlier, committed beat. */
export async function openInbox(run: ActiveRun): Promise<void> {
  await clearAbsorbed(run);
  // While a run is paused its inbox stays unread; resuming stirs, so that it is read then.
  if (run.row.pause && !run.row.cancel) run.noticed.noteInboxRead(run.row.stirs);
  else if (run.row.stirs !== run.noticed.wakeCountRead) await absorbInbox(run);
}

/**
 * Takes in what came, as much as one commit may hold. False if there may be more: then the stirs stay unseen, so that
 * the run neither parks nor ends before all of it is taken.
 */
export async function absorbInbox(run: ActiveRun): Promise<boolean> {
  if (run.state.absorbed.length >= SIZES.absorbMax) {
    await run.commitPending();
    await clearAbsorbed(run);
  }
  const { run: id, born, stirs } = run.row;
  const limit = run.state.absorbed.length + SIZES.absorbMax;
  const found = await run.world.table.inbox({ run: id, born, now: run.now, limit });
  // Where the secrets cannot be read now this rejects, and the messages wait: what is taken in is written.
  if (found.length > 0) await knowSecrets(run.world);
  for (const { id: message, body } of found) {
    if (run.state.absorbed.includes(message)) continue;
    run.record({ kind: "MessageAbsorbed", at: run.now, stage: "taken", message, body });
    noteIgnored(run, body);
  }
  if (found.length === limit) return false;
  // The count as it was before the inbox was read: whatever came since will stir again.
  run.noticed.noteInboxRead(stirs);
  return true;
}

/** Deletes what is taken in and committed, and forgets it then. */
async function clearAbsorbed(run: ActiveRun): Promise<void> {
  const { absorbed } = run.state;
  if (absorbed.length === 0) return;
  const { run: id, born } = run.row;
  const ids = absorbed.filter((each) => !run.noticed.hasRemoved(each));
  if (ids.length > 0) await run.world.table.clearInbox({ run: id, born, now: run.now, ids });
  for (const message of absorbed) run.record({ kind: "MessageAbsorbed", at: run.now, stage: "cleared", message });
}

export type Delivered = "delivered" | "duplicate" | "conflict" | "late" | "missing" | "unreadable";

/**
 * Hands a message to a run and wakes it. A duplicate wakes too: its first sender may have died before it did. What is a
 * secret in it is replaced before it is written. `conflict`: its id belongs to other words, and it was not taken.
 */
export async function deliver(
  world: World,
  to: { readonly run: string; readonly born: string; readonly message: Message },
): Promise<Delivered> {
  const now = world.clock.now();
  await knowSecrets(world);
  const body = redactionIn(world).words(to.message.body);
  const message = { ...to.message, body };
  const digest = body === to.message.body ? digestOf(world, body) : null;
  const delivery = { ...to, message, digest, now, deadline: now + world.limits.idleRunMs };
  const outcome = await certainly(
    () => world.table.deliver(delivery),
    () => null,
  );
  if (outcome.kind === "newer") throw new RowNewer(to.run, outcome);
  if (outcome.kind === "delivered" || outcome.kind === "duplicate") {
    const row = await world.table.read(to.run, world.clock.now());
    if (row?.park) await world.chain.wake(row.park.token);
  }
  return outcome.kind;
}

/**
 * Of the words as they were given: a later process may know more secrets, and would replace more of the same words. Where
 * something was replaced there is none, since a weak secret could be guessed from it. What is no words is told from what
 * was said before by its own rules (`decision-fate.ts`).
 */
const digestOf = (world: World, body: MessageBody): string | null =>
  body.kind === "user" ? world.hash(body.text) : null;

/** How a message names whoever sent it. */
export const senderOf = (by: string): string => bounded(by, SIZES.nameCharactersMax) || "unknown";
