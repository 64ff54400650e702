import * as z from "zod";
import { type MemoryPage, listMemory } from "./memory.ts";
import { operation, respond } from "./operation.ts";
import { memoryInput } from "./values.ts";
import { type Syntaxes, wholeNumbers, MEMORY_FLAGS, MEMORY_AFTER } from "./syntax.ts";

const LISTED_MAX = 500;
const QUERY_CHARACTERS_MAX = 1_000;

export const memoryOperation = operation({
  scope: "runs:read",
  writes: false,
  typed: [
    { command: "memory list" },
    { command: "memory search", help: "search a memory by words, as its agent does, best first" },
  ],
  help: "list what an agent keeps from one run to the next, newest first",
  input: memoryInput.extend({
    query: z.string().max(QUERY_CHARACTERS_MAX).nullable().default(null),
    limit: z.int().min(1).max(LISTED_MAX).default(50),
    after: z.string().nullable().default(null),
  }),
  run: ({ world, tenant }, input): Promise<MemoryPage> => listMemory(world, { ...input, tenant }),
  outcomes: { listed: respond.done("The entries are listed.") },
  over: ["store", "http"],
  http: { method: "get", path: "/memory/{scope}" },
});

export const memorySyntax = (): Syntaxes => ({
  "memory list": {
    group: "Memory",
    words: "[agent]",
    flags: [
      ...MEMORY_FLAGS,
      { flag: "--limit <n>", help: "at most this many", takes: wholeNumbers(1, LISTED_MAX), default: 50 },
    ],
    after: MEMORY_AFTER,
  },
  "memory search": {
    group: "Memory",
    words: "<words...>",
    fills: { words: "query" },
    flags: [
      ...MEMORY_FLAGS,
      { flag: "--limit <n>", help: "at most this many", takes: wholeNumbers(1, LISTED_MAX), default: 10 },
    ],
    after: MEMORY_AFTER,
  },
});
