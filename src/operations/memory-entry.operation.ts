import { type EntryShown, showEntry } from "./memory.ts";
import { RESPONSES, operation } from "./operation.ts";
import { MEMORY_ENTRY_UNKNOWN } from "./outcomes.ts";
import { entryInput } from "./values.ts";
import { type Syntaxes, MEMORY_FLAGS, MEMORY_AFTER } from "./syntax.ts";

export const memoryEntryOperation = operation({
  scope: "runs:read",
  writes: false,
  typed: [{ command: "memory show" }],
  help: "show one entry of a memory: its whole text, its tags, and where it comes from",
  input: entryInput,
  run: ({ world, tenant }, input): Promise<EntryShown> => showEntry(world, { ...input, tenant }),
  outcomes: { shown: RESPONSES.shown, missing: MEMORY_ENTRY_UNKNOWN },
  over: ["store", "http"],
  http: { method: "get", path: "/memory/{scope}/{id}" },
});

export const memoryEntrySyntax = (): Syntaxes => ({
  "memory show": { group: "Memory", words: "<id>", flags: MEMORY_FLAGS, after: MEMORY_AFTER },
});
