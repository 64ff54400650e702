/**
 * Webhooks: the endpoints of a deployment that hear of its runs, and how a request reaches them. The contract of `post`:
 *
 * - It follows no redirect, reads no more of the answer than its status, and ends after `timeoutMs`.
 * - It never rejects. `unreachable` means that no answer came: the endpoint may have got the request.
 */
import type { NotificationKind } from "../core/notifications.ts";

/** One endpoint, as `cairn.config.ts` names it. */
export interface Webhook {
  /** HTTPS, or HTTP to this machine. */
  readonly url: string;
  readonly events: readonly NotificationKind[];
  /** The agents whose runs it hears of; absent: all. */
  readonly agents?: readonly string[];
  /** The name of the secret that signs its requests. */
  readonly secret: string;
  /** A link for humans, with `{run}` in place of the run's ID. */
  readonly link?: string;
}

export interface WebhookPost {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
}

export type Posted =
  | { readonly kind: "answered"; readonly status: number }
  | { readonly kind: "unreachable"; readonly why: string };

export interface Webhooks {
  readonly endpoints: readonly Webhook[];
  post(post: WebhookPost): Promise<Posted>;
  /** Called after a commit with notifications. It may deliver them soon; the sweep delivers them in any case. */
  noted(): void;
}
