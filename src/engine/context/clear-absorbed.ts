/**
 * Removes the inbox items of absorbed and committed messages. An item holds the text as its sender wrote it, and the
 * sender may not know every secret. The commit holds the redacted text. So the item is deleted as soon as the commit is
 * durable.
 */
import type { Event } from "../../core/event.ts";
import type { Incarnation } from "../../protocol/row.ts";
import { StoreUnreachable, type World } from "../../ports/world.ts";

/** The IDs of the messages that these events absorb. */
export const absorbedIn = (events: readonly Event[]): readonly string[] =>
  events.flatMap((event) => (event.kind === "MessageAbsorbed" && event.stage === "taken" ? [event.message] : []));

/**
 * Removes the items and returns the IDs of those removed. If the store does not answer, the next invocation removes
 * them.
 */
export async function clearAbsorbed(
  world: World,
  { run, born }: Incarnation,
  ids: readonly string[],
): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  try {
    await world.inbox.clear({ run, born, now: world.clock.now(), ids });
    return ids;
  } catch (error) {
    if (!(error instanceof StoreUnreachable)) throw error;
    return [];
  }
}
