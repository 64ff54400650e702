import * as z from "zod";
import { agentOfRun } from "./agents.ts";
import { RESPONSES, operation, respond, runInput } from "./operation.ts";
import { signal } from "./signal.ts";
import { json } from "./values.ts";
import type { Syntaxes } from "./syntax.ts";

export const signalOperation = operation({
  scope: "runs:write",
  writes: true,
  typed: [{ command: "signal" }],
  help: "signal an event that a run waits for, or will wait for (waitFor)",
  // Without an ID each event is a new one.
  input: runInput.extend({
    event: z.string(),
    detail: json.default(null),
    id: z.string().nullable().default(null),
  }),
  run: async (context, { id, ...said }) =>
    signal(context.world, {
      ...said,
      id: id ?? context.world.random.hex().slice(0, 32),
      by: context.by,
      agent: await agentOfRun(context, said.run),
    }),
  outcomes: {
    accepted: RESPONSES.accepted,
    duplicate: respond.done("It was signalled before."),
    conflict: respond.refused("SignalConflict", "The ID belongs to another event, or to one with another detail."),
    refused: respond.refused("Refused", "The run does not take this event."),
    interim: respond.done("It is an interim report: the wait goes on, and the run does not see it.", 202),
    detailInvalid: respond.invalid("DetailInvalid", "The detail does not fit what the call asks for."),
    late: RESPONSES.late,
    missing: RESPONSES.missing,
  },
  over: ["store", "http"],
  http: { method: "post", path: "/runs/{run}/signals/{event}" },
});

export const signalSyntax = (): Syntaxes => ({
  signal: {
    group: "Steering",
    words: "<run> <event>",
    flags: [
      { flag: "--detail <json>", help: "what the event carries; JSON or @file" },
      {
        flag: "--key <key>",
        help: "idempotency key: the same key signals one event, however often it is sent",
        fills: "id",
      },
    ],
  },
});
