import * as z from "zod";
import { type OutcomeReport, operation, reason, respond } from "./operation.ts";
import { type Syntaxes, WHY } from "./syntax.ts";
import { type Redelivered, redeliver } from "./webhooks.ts";

const unknown = (code: string, says: string): OutcomeReport => ({ exit: "notFound", status: 404, code, says });

export const redeliverOperation = operation({
  scope: "admin",
  writes: true,
  typed: [{ command: "webhooks redeliver" }],
  help: "send a webhook endpoint again what it refused, or give that to another endpoint",
  input: z.strictObject({
    endpoint: z.string(),
    notification: z.string().nullable().default(null),
    to: z.string().nullable().default(null),
    why: reason,
  }),
  run: (context, input): Promise<Redelivered> => redeliver(context, input),
  outcomes: {
    redelivered: respond.done("It is due now, and the next sweep sends it.", 202),
    endpointUnknown: unknown("EndpointUnknown", "There is no such endpoint: list the webhooks for their IDs."),
    notificationUnknown: unknown("NotificationUnknown", "No such notification is kept for the endpoint."),
    endpointRemoved: respond.refused(
      "EndpointRemoved",
      "The config names this endpoint no longer: name another one that gets its notifications.",
    ),
  },
  over: ["store", "http"],
  http: { method: "post", path: "/webhooks/{endpoint}/redeliver", repeatable: true },
});

export const redeliverSyntax = (): Syntaxes => ({
  "webhooks redeliver": {
    group: "Webhooks",
    words: "<endpoint> [notification]",
    flags: [{ flag: "--to <endpoint>", help: "another endpoint, which gets them instead" }, WHY],
    examples: ["webhooks redeliver 3f9c2b7a51d0e846", "webhooks redeliver 3f9c2b7a51d0e846 --to 0b4d97c1aa52e3f8"],
  },
});
