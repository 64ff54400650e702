/** A world with webhooks, whose endpoints the test plays: what they received, and what they answer next. */
import { memorySecrets } from "../../../src/adapters/memory/secrets.ts";
import { type StoredRecord, isRecordExpired } from "../../../src/ports/records.ts";
import type { MemoryWorld } from "../../../src/adapters/memory/world.ts";
import { NOTIFICATION_KINDS } from "../../../src/core/notifications.ts";
import { OUTBOX } from "../../../src/features/webhooks/outbox.ts";
import type { Posted, Webhook, WebhookPost } from "../../../src/ports/webhooks.ts";
import type { Harness } from "../harness/harness.ts";

export const HOOK: Webhook = { url: "https://hooks.example/cairn", events: NOTIFICATION_KINDS, secret: "HOOK_KEY" };
export const HOOK_KEY = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

export interface Receiver<H extends Harness> {
  readonly harness: H;
  /** The requests that an endpoint got, in order. */
  readonly received: readonly WebhookPost[];
  /** Decides each answer; 200 by default. */
  answers: (post: WebhookPost) => Posted | Promise<Posted>;
}

export function withReceiver<H extends Harness>(harness: H, endpoints: readonly Webhook[] = [HOOK]): Receiver<H> {
  const received: WebhookPost[] = [];
  const receiver: Receiver<H> = {
    harness: {
      ...harness,
      world: {
        ...harness.world,
        secrets: memorySecrets({ HOOK_KEY }),
        webhooks: {
          endpoints,
          noted: () => undefined,
          post: async (of) => {
            received.push(of);
            return receiver.answers(of);
          },
        },
      },
    },
    received,
    answers: () => ({ kind: "answered", status: 200 }),
  };
  return receiver;
}

interface Told {
  readonly id: string | undefined;
  readonly type: string;
  /** The field `data` of the body. */
  readonly said: Readonly<Record<string, unknown>>;
}

/** What the requests say. */
export const toldBy = (posts: readonly WebhookPost[]): readonly Told[] =>
  posts.map(({ headers, body }) => {
    const sent = JSON.parse(body) as Readonly<Record<string, Told["said"] | string>>;
    return { id: headers["webhook-id"], type: String(sent["type"]), said: sent["data"] as Told["said"] };
  });

/** The entries of the outbox that are still to be delivered. */
export const outboxOf = ({ world }: { readonly world: MemoryWorld }): Promise<readonly StoredRecord[]> =>
  Promise.resolve(
    [...world.store.records.values()].filter(
      (each) => each.kind === "webhook" && each.about.startsWith(OUTBOX) && !isRecordExpired(each, world.clock.now()),
    ),
  );
