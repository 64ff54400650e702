/** The types of the methods of the client for the memories of agents. */
import type { SuccessOf } from "../operations/operation.ts";
import type { OPERATIONS } from "../operations/table.ts";
import type { MemoryEntry } from "../ports/memory.ts";
import type { Asked } from "./perform.ts";

type Rows = typeof OPERATIONS;

/** `scope`: the name of the memory, which is the agent's unless it names another one. */
export interface MemoryClient {
  /** The entries of a memory, newest first, page by page; with a query, what it finds, best first. */
  memory(
    scope: string,
    options?: Asked & { readonly query?: string; readonly limit?: number; readonly after?: string },
  ): Promise<SuccessOf<Rows["memory"]>>;
  /** Throws `MemoryEntryUnknown` if there is none. */
  memoryEntry(scope: string, id: string, options?: Asked): Promise<MemoryEntry>;
  forgetEntry(
    scope: string,
    id: string,
    options?: Asked & { readonly why?: string },
  ): Promise<SuccessOf<Rows["forgetEntry"]>>;
  /** Forgets all entries and sources. Without `confirmed` it fails with `NotConfirmed`, which says how many there are. */
  forgetMemory(
    scope: string,
    options?: Asked & { readonly confirmed?: boolean; readonly why?: string },
  ): Promise<SuccessOf<Rows["forgetMemory"]>>;
}
