/**
 * Asks the log of a run what a noted commit really holds. The log is the authority: the process that noted it may have
 * died before its commit, or may have been fenced.
 */
import { statusOf } from "../../core/calls/open-calls.ts";
import { type RunNotification, notificationsIn } from "../../core/notifications.ts";
import type { NotedCommit } from "./outbox.ts";
import { stateAt } from "../../history/state-at.ts";
import type { World } from "../../ports/world.ts";

/** `waits`: the commit may still come. `void`: it never will. */
export type Confirmed =
  | { readonly kind: "waits" }
  | { readonly kind: "void" }
  | { readonly kind: "confirmed"; readonly notifications: readonly RunNotification[] };

/** Throws `Unreadable` if the history cannot be read. */
export async function confirmNoted(world: World, noted: NotedCommit): Promise<Confirmed> {
  const { run, born, epoch, version } = noted;
  // At 0 no row has expired: a row that is not deleted yet still has its log.
  const row = await world.table.read(run, 0);
  if (row === null || row.born !== born) return confirmRemoved(world, noted);
  if (row.version < version) return row.epoch > epoch ? { kind: "void" } : { kind: "waits" };
  const before = await stateAt(world, row, version - 1);
  const commit = before?.later.find((each) => each.version === version);
  if (before === null || commit?.epoch !== epoch) return { kind: "void" };
  const { events } = commit;
  const from = statusOf(before.state);
  return {
    kind: "confirmed",
    notifications: notificationsIn({ events, from, to: statusOf(world.kernel.foldAll(before.state, events)) }),
  };
}

/** The run is removed, and its log with it. Its tombstone still says whether this very epoch ended it. */
async function confirmRemoved({ table }: World, { run, born, epoch, end }: NotedCommit): Promise<Confirmed> {
  const tombstone = await table.readKey(run, 0);
  const isMine = tombstone?.born === born && tombstone.epoch === epoch;
  return isMine && end?.kind === `run.${tombstone.status}`
    ? { kind: "confirmed", notifications: [end] }
    : { kind: "void" };
}
