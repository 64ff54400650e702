import * as z from "zod";
import { RESPONSES, operation, respond, runInput } from "./operation.ts";
import { type Purged, purge } from "./purge.ts";
import type { Syntaxes } from "./syntax.ts";

export const purgeOperation = operation({
  scope: "admin",
  writes: true,
  typed: [{ command: "purge" }],
  help: "remove an ended run with all its data, before its retention expires",
  input: runInput.extend({
    keepArchive: z.boolean().default(false),
    forgetKey: z.boolean().default(false),
  }),
  run: ({ world }, { run, ...options }): Promise<Purged> => purge(world, run, options),
  outcomes: {
    purged: respond.done("It is removed."),
    forgotten: respond.done("Its data was removed before, and its key is free."),
    live: respond.refused("NotEnded", "The run has not ended."),
    tooEarly: respond.refused("TooEarly", "Its archive may still be written."),
    missing: RESPONSES.missing,
    unreadable: RESPONSES.unreadable,
  },
  over: ["store", "http"],
  http: { method: "delete", path: "/runs/{run}" },
});

export const purgeSyntax = (): Syntaxes => ({
  purge: {
    group: "Steering",
    words: "<run>",
    flags: [
      { flag: "--keep-archive", help: "keep its archive, if it has one, until the archive's own retention expires" },
      { flag: "--yes", help: "skip the question; required if there is no terminal to ask at" },
      {
        flag: "--forget-key",
        help: "also free its idempotency key: the key may start the work again; needs the full run ID",
      },
    ],
  },
});
