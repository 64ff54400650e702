/**
 * Stores an entry in the outbox of webhooks before a commit whose events someone wants to hear of.
 *
 * Schedule 190: a process commits that its run has failed, and dies before it tells anyone. If the entry were stored
 * after the commit, nothing would know of it: the run has ended, and no process looks at it again.
 */
import { isOfEnd, isUrgent, notificationsIn } from "../../core/notifications.ts";
import type { Event } from "../../core/event.ts";
import { patient, resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";
import { notedRecord } from "./outbox.ts";
import type { AddOutcome } from "../../ports/records.ts";
import type { Commit } from "../../protocol/row.ts";
import type { RunParts } from "../../engine/context/run-parts.ts";
import { traceOfRun } from "../../engine/context/trace.ts";

/** Returns whether the commit has an entry. */
export async function noteNotifications(
  { world, row, invocation }: Pick<RunParts, "world" | "row" | "invocation">,
  { events, commit }: { readonly events: readonly Event[]; readonly commit: Commit },
): Promise<boolean> {
  const { webhooks, records, clock, random, limits } = world;
  if (webhooks === undefined) return false;
  const { run, born, agent, tenant, epoch } = row;
  const notifications = notificationsIn({ events, from: row.status, to: commit.status });
  const isWanted = notifications.some(({ kind }) =>
    webhooks.endpoints.some(
      ({ events: kinds, agents }) => kinds.includes(kind) && (agents === undefined || agents.includes(agent)),
    ),
  );
  if (!isWanted) return false;
  const end = notifications.find(isOfEnd) ?? null;
  const { traceparent } = traceOfRun(world, row);
  const noted = { stage: "noted", run, born, agent, epoch, version: row.version + 1, traceparent, end } as const;
  const record = notedRecord(noted, { tenant, now: clock.now(), isUrgent: notifications.some(isUrgent) });
  await resolveAmbiguousWrite<AddOutcome>(
    () => records.add(record, record.at),
    () => null,
    patient({ clock, random, until: invocation.deadline - limits.drainMs / 4 }),
  );
  return true;
}
