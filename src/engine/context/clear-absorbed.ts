/**
 * Removes the inbox items of messages that are taken in and committed. An item holds a message as its sender could write it,
 * perhaps with a secret, and the commit holds it redacted; so the item goes as soon as the commit is there.
 */
import type { Event } from "../../core/event.ts";
import type { Incarnation } from "../../protocol/row.ts";
import { StoreUnreachable, type World } from "../../ports/world.ts";

/** The messages that these events take in. */
export const takenIn = (events: readonly Event[]): readonly string[] =>
  events.flatMap((event) => (event.kind === "MessageAbsorbed" && event.stage === "taken" ? [event.message] : []));

/** Those that were removed. What is left because the store does not answer, the next invocation removes. */
export async function clearTaken(
  world: World,
  { run, born }: Incarnation,
  ids: readonly string[],
): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  try {
    await world.table.clearInbox({ run, born, now: world.clock.now(), ids });
    return ids;
  } catch (error) {
    if (!(error instanceof StoreUnreachable)) throw error;
    return [];
  }
}
