import * as z from "zod";
import { hasText } from "../core/message.ts";
import { FILE_INVALID, type FileInvalid, contentsOf, sentFiles } from "./files.ts";
import { RESPONSES, operation, respond, runInput } from "./operation.ts";
import { type Sent, send } from "./steer.ts";
import type { Syntaxes } from "./syntax.ts";

export const sendOperation = operation({
  scope: "runs:write",
  writes: true,
  typed: [{ command: "send" }],
  help: "send a message to the model of a run",
  // Without an ID each message is a new one.
  input: runInput.extend({
    text: z.string().refine(hasText, "it has no text"),
    files: sentFiles,
    id: z.string().nullable().default(null),
    stop: z.boolean().default(false),
  }),
  run: async (
    context,
    { run: to, text, files, id, stop },
  ): Promise<(Sent | FileInvalid) & { readonly message: string }> => {
    const message = id ?? context.world.random.hex().slice(0, 32);
    const sent = contentsOf(files);
    if (!sent.ok) return { kind: "fileInvalid", why: sent.why, message };
    const said = { run: to, text, files: sent.contents, by: context.by, id: message, stop };
    return { ...(await send(context.world, { ...said, ...(context.row && { row: context.row }) })), message };
  },
  outcomes: {
    delivered: RESPONSES.accepted,
    duplicate: respond.done("It was delivered before."),
    conflict: respond.refused("MessageConflict", "The ID belongs to a message with another text."),
    tooLarge: { exit: "usage", status: 413, code: "TooLarge", says: "The text is too large." },
    fileInvalid: FILE_INVALID,
    late: RESPONSES.late,
    missing: RESPONSES.missing,
    unreadable: RESPONSES.unreadable,
  },
  over: ["store", "http"],
  http: { method: "post", path: "/runs/{run}/messages" },
});

export const sendSyntax = (): Syntaxes => ({
  send: {
    group: "Steering",
    words: "<run> <text>",
    flags: [
      {
        flag: "--file <path>",
        help: "a file of the message; may be repeated",
        takes: { kind: "repeated" },
        fills: "files",
      },
      {
        flag: "--key <key>",
        help: "idempotency key: the same key sends one message, however often it is sent",
        fills: "id",
      },
      {
        flag: "--stop",
        help: "end the answer under way: calls that did not begin are dropped",
      },
    ],
  },
});
