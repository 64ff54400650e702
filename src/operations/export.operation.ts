import { type Exported, exportRun } from "../features/archive/export.ts";
import { type RunMissing, RESPONSES, operation, respond, runInput } from "./operation.ts";
import type { Syntaxes } from "./syntax.ts";

export const exportOperation = operation({
  scope: "runs:read",
  writes: false,
  typed: [
    { command: "export" },
    {
      command: "pin",
      help: "write an ended run as a regression test of its agent, with its ledger as the expectation",
    },
  ],
  help: "write a run to one file that needs no store, for replay and for the record; a live run as it is now",
  input: runInput,
  run: async (
    { world, onStep, write = () => undefined },
    input,
  ): Promise<RunMissing | { readonly kind: "exported"; readonly exported: Exported }> => {
    const exported = await exportRun(world, { run: input.run, write, ...(onStep && { onStep }) });
    return exported === null ? { kind: "missing" } : { kind: "exported", exported };
  },
  outcomes: { exported: respond.done("It is exported."), missing: RESPONSES.missing },
  over: ["store", "http"],
  http: { method: "get", path: "/runs/{run}/export" },
});

export const exportSyntax = (): Syntaxes => ({
  export: {
    group: "Recordings",
    words: "<run>",
    flags: [
      {
        flag: "--out <file>",
        help: "the file to write: gzipped if it ends in .gz, - for stdout (default: RUN.jsonl.gz)",
      },
    ],
  },
  pin: {
    group: "Recordings",
    words: "<run>",
    flags: [
      { flag: "--out <folder>", help: "the folder of the test and of the recording that it reads", default: "pinned" },
    ],
  },
});
