/** Who hears of the runs: the part `webhooks` of `cairn.config.ts`. */
import * as z from "zod";
import { NOTIFICATION_KINDS } from "../core/notifications.ts";
import type { Webhook } from "../ports/webhooks.ts";
import { secretNames } from "./secrets.ts";

const WEBHOOKS_MAX = 10;

const URL_CHARACTERS_MAX = 1_000;
const LOOPBACK = /^(127\.0\.0\.1|localhost|\[::1\])$/;

/** HTTPS, or this machine; without credentials, which end up in logs. */
function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, hash } = new URL(text);
  const isBare = username === "" && password === "" && hash === "";
  return isBare && (protocol === "https:" || (protocol === "http:" && LOOPBACK.test(hostname)));
}

/** True if only this machine can be reached so: no deployment has such an endpoint. */
export const isOfThisMachine = ({ url }: Pick<Webhook, "url">): boolean => LOOPBACK.test(new URL(url).hostname);

const webhook: z.ZodType<Webhook> = z.strictObject({
  url: z
    .string()
    .max(URL_CHARACTERS_MAX)
    .refine(isSafeUrl, "write a URL that begins with https://, without a password"),
  events: z.array(z.enum(NOTIFICATION_KINDS)).min(1),
  agents: z.array(z.string().min(1)).min(1).max(100).exactOptional(),
  secret: secretNames.element,
  link: z
    .string()
    .max(URL_CHARACTERS_MAX)
    .refine((text) => isSafeUrl(text.replaceAll("{run}", "run")), "write a URL that begins with https://")
    .exactOptional(),
});

export const webhooksSchema = z
  .array(webhook)
  .max(WEBHOOKS_MAX)
  .refine((all) => new Set(all.map(({ url }) => url)).size === all.length, "a URL is listed twice");
