/**
 * What a commit holds that someone outside of the run may want to hear of. The events and the two statuses decide it, so
 * the same commit always gives the same notifications in the same order.
 */
import type { Crack } from "./crack.ts";
import type { Event } from "./event.ts";
import type { Status } from "./phases.ts";

/** The kinds, as a webhook names them. */
export const NOTIFICATION_KINDS = [
  "run.completed",
  "run.failed",
  "run.cancelled",
  "run.blocked",
  "run.expiring",
  "approval.requested",
  "question.asked",
  "crack.signalled",
] as const;
export type NotificationKind = (typeof NOTIFICATION_KINDS)[number];

/** One notification. It holds IDs and codes, and nothing that a human, a model or a tool wrote. */
export interface RunNotification {
  readonly kind: NotificationKind;
  /** When it happened, epoch milliseconds. */
  readonly at: number;
  /** The code of the failure. */
  readonly code?: string;
  readonly call?: string;
  readonly gate?: string;
  readonly crack?: Crack;
  /** When a run that nobody answers ends, epoch milliseconds; null: it goes on waiting. */
  readonly expiresAt?: number | null;
}

/** The notifications of a commit that takes the run from one status to another. */
export function notificationsIn({
  events,
  from,
  to,
}: {
  readonly events: readonly Event[];
  readonly from: Status;
  readonly to: Status;
}): readonly RunNotification[] {
  const said = events.flatMap(notificationOf);
  const last = events.at(-1);
  // The status says it, since several events lead there: a lost outcome, a missing tool, an agent that is gone.
  const isBlocked = to === "blocked" && from !== "blocked" && last !== undefined;
  return isBlocked ? [...said, { kind: "run.blocked", at: last.at }] : said;
}

function notificationOf(event: Event): readonly RunNotification[] {
  const { at } = event;
  switch (event.kind) {
    case "RunEnded":
      if (event.status !== "failed") return [{ kind: `run.${event.status}`, at }];
      return [{ kind: "run.failed", at, code: event.failure.code }];
    case "ApprovalRequested":
      return [{ kind: "approval.requested", at, call: event.call, gate: event.gate }];
    case "WaitBegun":
      return event.wait.for === "answer" ? [{ kind: "question.asked", at, call: event.call }] : [];
    case "RecoveryDecided":
      return event.action.kind === "warn" ? [{ kind: "run.expiring", at, expiresAt: event.action.expiresAt }] : [];
    case "CrackSignalled":
      return [{ kind: "crack.signalled", at, crack: event.crack }];
    default:
      return [];
  }
}

/** True if the notification says that the run has ended. */
export const isOfEnd = ({ kind }: Pick<RunNotification, "kind">): boolean =>
  kind === "run.completed" || kind === "run.failed" || kind === "run.cancelled";

/** A human has to act, so these go before the others to each endpoint. */
const URGENT: ReadonlySet<NotificationKind> = new Set([
  "approval.requested",
  "question.asked",
  "run.blocked",
  "run.expiring",
]);
export const isUrgent = ({ kind }: Pick<RunNotification, "kind">): boolean => URGENT.has(kind);
