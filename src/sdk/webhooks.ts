/** Who hears of the runs: the part `webhooks` of `cairn.config.ts`. */
import { hostname as nameOfThisMachine, networkInterfaces } from "node:os";
import * as z from "zod";
import { builtOnUse } from "../codec/fit.ts";
import { NOTIFICATION_KINDS } from "../core/notifications.ts";
import type { Webhook } from "../ports/webhooks.ts";
import { secretNames } from "./secrets.ts";

const WEBHOOKS_MAX = 10;

const URL_CHARACTERS_MAX = 1_000;
const LOOPBACK = /^(127(\.\d{1,3}){3}|([\w-]+\.)*localhost|\[::1\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\])$/;
const WRITE = "write a URL that begins with https://, or with http:// for a program on this machine";

/** A request to this host never leaves this machine: its loopback addresses, its own name and its own addresses. */
function isHere(hostname: string): boolean {
  if (LOOPBACK.test(hostname) || hostname === nameOfThisMachine().toLowerCase()) return true;
  const bare = hostname.replace(/^\[(.*)\]$/, "$1");
  return Object.values(networkInterfaces()).some((each) => each?.some(({ address }) => address === bare) === true);
}

/** HTTPS, or this machine; without credentials, which end up in logs. */
function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, hash } = new URL(text);
  const isBare = username === "" && password === "" && hash === "";
  return isBare && (protocol === "https:" || (protocol === "http:" && isHere(hostname)));
}

/** True if only this machine can be reached so: no deployment has such an endpoint. */
export const isOfThisMachine = ({ url }: Pick<Webhook, "url">): boolean => isHere(new URL(url).hostname);

const webhook = builtOnUse((): z.ZodType<Webhook> =>
  z.strictObject({
    url: z.string().max(URL_CHARACTERS_MAX).refine(isSafeUrl, `${WRITE}; without a password`),
    events: z.array(z.enum(NOTIFICATION_KINDS)).min(1),
    agents: z.array(z.string().min(1)).min(1).max(100).exactOptional(),
    secret: secretNames().element,
    link: z
      .string()
      .max(URL_CHARACTERS_MAX)
      .refine((text) => isSafeUrl(text.replaceAll("{run}", "run")), WRITE)
      .exactOptional(),
  }),
);

export const webhooksSchema = builtOnUse(() =>
  z
    .array(webhook())
    .max(WEBHOOKS_MAX)
    .refine((all) => new Set(all.map(({ url }) => url)).size === all.length, "a URL is listed twice"),
);
