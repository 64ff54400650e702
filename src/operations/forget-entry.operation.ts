import { type EntryForgotten, forgetEntry } from "./memory.ts";
import { operation, reason, respond } from "./operation.ts";
import { MEMORY_ENTRY_UNKNOWN } from "./outcomes.ts";
import { entryInput } from "./values.ts";
import { type Syntaxes, WHY, MEMORY_FLAGS, MEMORY_AFTER } from "./syntax.ts";

export const forgetEntryOperation = operation({
  scope: "admin",
  writes: true,
  typed: [{ command: "memory forget" }],
  help: "remove an entry of a memory, so that no later run recalls it",
  input: entryInput.extend({ why: reason }),
  run: ({ world, tenant }, input): Promise<EntryForgotten> => forgetEntry(world, { ...input, tenant }),
  outcomes: { forgotten: respond.done("It is forgotten: no later run recalls it."), missing: MEMORY_ENTRY_UNKNOWN },
  over: ["store", "http"],
  http: { method: "delete", path: "/memory/{scope}/{id}" },
});

export const forgetEntrySyntax = (): Syntaxes => ({
  "memory forget": {
    group: "Memory",
    words: "[id]",
    flags: [...MEMORY_FLAGS, { flagsOf: "forgetMemory" }, WHY],
    after: MEMORY_AFTER,
  },
});
