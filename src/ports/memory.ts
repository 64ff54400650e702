/**
 * Memory: what agents keep from one run to the next. Each scope is a memory of its own: those of a tenant under one name,
 * which is the agent's unless it names another one. The contract:
 *
 * - `put` is idempotent: an entry that is there with the same content is not written again.
 * - Entries are redacted before they are written, and bounded in size and count.
 * - What can be expected to go wrong is a value. A store that does not answer rejects with `StoreUnreachable`.
 */

/** The most entries of a memory: a search reads all of them. */
export const MEMORY_ENTRIES_MAX = 500;

/** An entry to keep. */
export interface NewMemoryEntry {
  /** 1 to 128 printable ASCII characters without spaces. An entry with this ID is replaced. */
  readonly id: string;
  /** 1 byte to 4 KB. */
  readonly text: string;
  /** At most 16, of 1 to 64 characters each. */
  readonly tags?: readonly string[];
  /** Where it comes from, for people: a URL, a file, a run. */
  readonly source?: string;
  /** The version of the source, as the source names it. */
  readonly etag?: string;
  /** How long it is kept. Absent: until it is forgotten. */
  readonly lifeMs?: number;
}

/** An entry as it is kept. */
export interface MemoryEntry extends Omit<NewMemoryEntry, "lifeMs" | "tags"> {
  readonly tags: readonly string[];
  /** When this content was written, epoch milliseconds. */
  readonly at: number;
  /** The SHA-256 of its content. */
  readonly digest: string;
}

/** What a search found: a reference with a score, and the part of the text that fits best. */
export interface MemoryHit {
  readonly id: string;
  readonly digest: string;
  readonly score: number;
  readonly snippet: string;
  readonly tags: readonly string[];
  readonly at: number;
}

export type MemoryPut =
  | { readonly kind: "kept"; readonly id: string; readonly digest: string }
  /** It says already what was to be written. */
  | { readonly kind: "unchanged"; readonly id: string; readonly digest: string }
  /** The scope has as many entries as it may. */
  | { readonly kind: "full"; readonly entriesMax: number }
  | { readonly kind: "refused"; readonly why: string };

/** `missing`: nothing had this ID. */
export type MemoryForgotten = { readonly kind: "forgotten" | "missing" };

export interface MemorySearch {
  /** 1 to 50; 10 by default. */
  readonly limit?: number;
  /** Only entries that have all of these. */
  readonly tags?: readonly string[];
}

/** What a source said: its content, and the version that it names. */
export type SourceAnswer =
  | { readonly kind: "unchanged" }
  | { readonly kind: "fetched"; readonly etag: string | null; readonly content: string };

/** Asks a source. `kept`: the version that is kept, with when the source last said it; null: none is. */
export type AskSource = (kept: { readonly etag: string | null; readonly at: number } | null) => Promise<SourceAnswer>;

export interface FetchOptions {
  /** How long the content counts as fresh, so that the source is not asked at all; 0 by default. */
  readonly freshMs?: number;
}

/** The content of a source. `from`: whether it was kept, confirmed by the source, or fetched now. */
export interface FetchedSource {
  readonly source: string;
  readonly content: string;
  readonly etag: string | null;
  /** When the source last said so, epoch milliseconds. */
  readonly at: number;
  readonly from: "kept" | "confirmed" | "source";
  /** False: the content is larger than 256 KB, or holds a secret, so the next call fetches it again. */
  readonly isKept: boolean;
}

/** The memory of one scope. */
export interface Memory {
  readonly put: (entry: NewMemoryEntry) => Promise<MemoryPut>;
  /** Those that are there, in the order of the IDs; at most 100. */
  readonly get: (ids: readonly string[]) => Promise<readonly MemoryEntry[]>;
  /** Best first. A text without a word finds the newest. */
  readonly search: (text: string, options?: MemorySearch) => Promise<readonly MemoryHit[]>;
  readonly forget: (id: string) => Promise<MemoryForgotten>;
  /**
   * The content of a source. `ask` gets the version that is kept, if any, and says whether the source has another one.
   * What it returned is durable before this resolves, so a later call, in any run, asks with this version.
   */
  readonly fetch: (source: string, ask: AskSource, options?: FetchOptions) => Promise<FetchedSource>;
}
