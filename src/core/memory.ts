/**
 * Memory in a run: what its state and events say about entries of a memory. They hold references and digests, never the
 * texts.
 */
import type { Value } from "./message.ts";

/** An entry of a memory, as a run refers to it. `digest`: the SHA-256 of what the entry said then. */
export interface MemoryRef {
  readonly id: string;
  readonly digest: string;
}

/** What the state keeps about memory. */
export interface RunMemory {
  /** What the run was started with. `section`: the text that its model reads, as an object of the run. */
  readonly recalled?: { readonly refs: readonly MemoryRef[]; readonly section: Value };
  /** What the run has learned, oldest first: the newest 64. */
  readonly learned: readonly MemoryRef[];
}

/** The bodies of the events about memory. */
export interface MemoryEvents {
  /** The run recalled these entries when it began. */
  Recalled: { readonly refs: readonly MemoryRef[]; readonly section: Value };
  /** The agent learned these entries. They were written before this event. */
  Learned: { readonly refs: readonly MemoryRef[] };
}
