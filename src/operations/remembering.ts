/** The operations on the memories of agents, as rows of the operation table. */
import * as z from "zod";
import { HELP } from "./help.ts";
import {
  type EntryForgotten,
  type EntryShown,
  type MemoryForgottenWhole,
  type MemoryPage,
  forgetEntry,
  forgetMemory,
  listMemory,
  showEntry,
} from "./memory.ts";
import { RESPONSES, operation, reason, respond } from "./operation.ts";

const LISTED_MAX = 500;
const QUERY_CHARACTERS_MAX = 1_000;

const memoryInput = z.strictObject({ scope: z.string() });
const entryInput = memoryInput.extend({ id: z.string() });

const missing = {
  exit: "notFound",
  status: 404,
  code: "MemoryEntryUnknown",
  says: "The memory has no such entry.",
} as const;

export const MEMORY_ROWS = {
  memory: operation({
    scope: "runs:read",
    writes: false,
    typed: [{ command: "memory list" }, { command: "memory search", help: HELP.memorySearch }],
    help: HELP.memoryList,
    input: memoryInput.extend({
      query: z.string().max(QUERY_CHARACTERS_MAX).nullable().default(null),
      limit: z.int().min(1).max(LISTED_MAX).default(50),
      after: z.string().nullable().default(null),
    }),
    run: ({ world, tenant }, of): Promise<MemoryPage> => listMemory(world, { ...of, tenant }),
    outcomes: { listed: respond.done("The entries are listed.") },
    http: { method: "get", path: "/memory/{scope}" },
  }),
  memoryEntry: operation({
    ...{ scope: "runs:read", writes: false, typed: [{ command: "memory show" }] },
    help: HELP.memoryShow,
    input: entryInput,
    run: ({ world, tenant }, of): Promise<EntryShown> => showEntry(world, { ...of, tenant }),
    outcomes: { shown: RESPONSES.shown, missing },
    http: { method: "get", path: "/memory/{scope}/{id}" },
  }),
  forgetEntry: operation({
    ...{ scope: "admin", writes: true, typed: [{ command: "memory forget" }] },
    help: HELP.memoryForget,
    input: entryInput.extend({ why: reason }),
    run: ({ world, tenant }, of): Promise<EntryForgotten> => forgetEntry(world, { ...of, tenant }),
    outcomes: { forgotten: respond.done("It is forgotten: no later run recalls it."), missing },
    http: { method: "delete", path: "/memory/{scope}/{id}" },
  }),
  forgetMemory: operation({
    ...{ scope: "admin", writes: true, typed: [{ command: "memory forget", option: "--all" }] },
    help: HELP.memoryForgetAll,
    input: memoryInput.extend({ confirmed: z.boolean().default(false), why: reason }),
    run: ({ world, tenant }, of): Promise<MemoryForgottenWhole> => forgetMemory(world, { ...of, tenant }),
    outcomes: {
      forgotten: respond.done("They are forgotten; `more`: the same request again goes on with further ones."),
      notConfirmed: respond.unconfirmed("It has to be confirmed; the answer says how many entries there are."),
    },
    http: { method: "delete", path: "/memory/{scope}" },
  }),
} as const;
