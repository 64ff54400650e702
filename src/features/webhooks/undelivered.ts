/** Records a notification that no further attempt will deliver: in the audit log of its run, and as an alarm. */
import { alarm } from "../../history/alarm.ts";
import { resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";
import type { NotificationKind } from "../../core/notifications.ts";
import type { AddOutcome, NewRecord } from "../../ports/records.ts";
import type { World } from "../../ports/world.ts";
import { timeText } from "../../protocol/ids.ts";

export interface Undelivered {
  /** The ID of the notification. */
  readonly id: string;
  readonly run: string;
  readonly tenant: string;
  readonly url: string;
  readonly kind: NotificationKind;
  /** When it happened, epoch milliseconds. */
  readonly at: number;
  readonly attempts: number;
  readonly why: string;
}

/** IDs in the audit log sort by time. The rest derives from the notification, so a repeated call adds nothing. */
export async function recordUndelivered(
  world: World,
  { id, run, tenant, url, kind, at, attempts, why }: Undelivered,
): Promise<void> {
  // A path may hold a token of the receiver.
  const to = new URL(url).origin;
  const record: NewRecord = {
    ...({ kind: "audit", about: run, tenant, at } as const),
    id: `${timeText(at)}-${world.hash(`${id} ${url}`).slice(0, 16)}`,
    expiresAtSec: Math.ceil((world.clock.now() + world.limits.auditMs) / 1_000),
    body: {
      operation: "webhook",
      actor: "cairn",
      token: null,
      from: null,
      run,
      details: { event: kind, id, to, attempts },
      why,
      outcome: "undelivered",
    },
  };
  await resolveAmbiguousWrite<AddOutcome>(
    () => world.records.add(record, world.clock.now()),
    () => null,
  );
  const what = `the notification ${kind} (${id}) did not reach ${to} with attempt ${attempts}, its last: ${why}`;
  alarm(world, run, { what: "WebhookUndelivered", why: what });
}
