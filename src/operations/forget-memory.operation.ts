import * as z from "zod";
import { type MemoryForgottenWhole, forgetMemory } from "./memory.ts";
import { operation, reason, respond } from "./operation.ts";
import { memoryInput } from "./values.ts";
import type { Syntaxes } from "./syntax.ts";

export const forgetMemoryOperation = operation({
  scope: "admin",
  writes: true,
  typed: [{ command: "memory forget", option: "--all" }],
  help: "remove all entries of a memory, and every source that its tools fetched",
  input: memoryInput.extend({ confirmed: z.boolean().default(false), why: reason }),
  run: ({ world, tenant }, input): Promise<MemoryForgottenWhole> => forgetMemory(world, { ...input, tenant }),
  outcomes: {
    forgotten: respond.done("They are forgotten; `more`: the same request again goes on with further ones."),
    notConfirmed: respond.unconfirmed("It has to be confirmed; the answer says how many entries there are."),
  },
  over: ["store", "http"],
  http: { method: "delete", path: "/memory/{scope}", repeatable: true },
});

export const forgetMemorySyntax = (): Syntaxes => ({
  "memory forget --all": {
    flags: [
      { flag: "--all", help: forgetMemoryOperation.help },
      { flag: "--yes", help: "skip the question; required if there is no terminal to ask at", fills: "confirmed" },
    ],
  },
});
