/** Whether the requests of each webhook can be signed: its secret has a value here, and that is a key. */
import { webhookKey } from "../codec/webhook-message.ts";
import { sentenceOf } from "../codec/value.ts";
import type { Webhook } from "../ports/webhooks.ts";
import type { ConfiguredWorld } from "../ports/world-provider.ts";

/** An endpoint of the config whose requests cannot be signed here. */
interface UnsignedWebhook {
  /** Its origin: a path may hold a token of the receiver. */
  readonly to: string;
  /** `unread`: whether there is a value cannot be seen here. */
  readonly is: "absent" | "unread" | "malformed";
  readonly why: string;
  /** What to type. */
  readonly mend: string;
}

interface Configured {
  readonly webhooks: readonly Webhook[];
  readonly world: Pick<ConfiguredWorld, "findSecret">;
}

export async function unsignedWebhooks({ webhooks, world }: Configured): Promise<readonly UnsignedWebhook[]> {
  const all = await Promise.all(
    webhooks.map(async ({ url, secret }): Promise<UnsignedWebhook | null> => {
      const to = new URL(url).origin;
      try {
        const look = await world.findSecret(secret);
        if (look.kind === "found") {
          if (webhookKey(look.value) !== null) return null;
          const why = `the secret ${secret} is no key of the form whsec_BASE64`;
          return { to, is: "malformed", why, mend: `give ${secret} the value whsec_$(openssl rand -base64 32)` };
        }
        const why = `the secret ${secret}, which signs its requests, is not set in ${look.where}`;
        return { to, is: look.kind, why, mend: look.mend.replace("=...", "=whsec_BASE64") };
      } catch (error) {
        const why = `the secret ${secret}, which signs its requests, cannot be read: ${sentenceOf(error)}`;
        return { to, is: "unread", why, mend: "run this as a user who may read it" };
      }
    }),
  );
  return all.flatMap((each) => each ?? []);
}
