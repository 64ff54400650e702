import * as z from "zod";
import { operation, respond } from "./operation.ts";
import type { Syntaxes } from "./syntax.ts";
import { type WebhooksListed, listWebhooks } from "./webhooks.ts";

export const webhooksOperation = operation({
  scope: "admin",
  writes: false,
  typed: [{ command: "webhooks list" }],
  help: "list the webhook endpoints: what waits for each, and why it refuses requests",
  input: z.strictObject({}),
  run: (context): Promise<WebhooksListed> => listWebhooks(context),
  outcomes: { listed: respond.done("The endpoints are listed.") },
  over: ["store", "http"],
  http: { method: "get", path: "/webhooks" },
});

export const webhooksSyntax = (): Syntaxes => ({ "webhooks list": { group: "Webhooks" } });
