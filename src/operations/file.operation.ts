import * as z from "zod";
import { type FileFound, findFile } from "./files.ts";
import { RESPONSES, operation, respond, runInput } from "./operation.ts";
import type { Syntaxes } from "./syntax.ts";

export const fileOperation = operation({
  scope: "runs:read",
  writes: false,
  typed: [{ command: "file" }],
  help: "write a file of a run to disk: one of its task, of a message, or one that a call or the model made",
  input: runInput.extend({ file: z.string() }),
  run: ({ world, row }, input): Promise<FileFound> => findFile(world, { ...input, row }),
  outcomes: {
    found: respond.done("The file."),
    missing: RESPONSES.missing,
    fileUnknown: { exit: "notFound", status: 404, code: "FileUnknown", says: "The run has no such file." },
  },
  over: ["store", "http"],
  http: { method: "get", path: "/runs/{run}/files/{file}" },
});

export const fileSyntax = (): Syntaxes => ({
  file: {
    group: "Recordings",
    words: "<run> <file>",
    flags: [{ flag: "--out <path>", help: "where to write it (default: the name of the file)" }],
  },
});
