/** The sizes that a world chooses, by what its stores make expensive. A process reads what was stored with others. */
export interface StoredSizes {
  /** Compressed size of the journal. A larger journal forces a snapshot. */
  readonly journalBytesMax: number;
  /** Commits in the journal. More of them force a snapshot, since a process that does not know the run folds them all. */
  readonly journalCommitsMax: number;
  /**
   * Null: each commit compresses the whole journal anew. Otherwise it appends a part of its own to the stored bytes, of
   * this compressed size at most, and the table stores only that part (`codec/journal.ts`).
   */
  readonly partBytesMax: number | null;
  /**
   * A release whose next beat is due at once leaves the journal as it is. Each other release stores a snapshot, so a run
   * that waits or has ended has no journal.
   */
  readonly keepsJournal: boolean;
  /** A chunk of the transcript is sealed as a segment once it reaches this uncompressed size. */
  readonly segmentBytes: number;
  /** The Brotli quality of the journal. 4 takes twice the time of 2 and saves a few percent of the bytes. */
  readonly journalQuality: number;
}

/** For stores on a disk: each written byte takes time, and a snapshot writes the run's newest messages again (ADR 0079). */
export const FEW_BYTES: StoredSizes = {
  journalBytesMax: 96 * 1024,
  journalCommitsMax: 64,
  partBytesMax: 12 * 1024,
  keepsJournal: true,
  segmentBytes: 16 * 1024,
  journalQuality: 2,
};

/** For stores that charge each request: an object costs as much as eight kilobytes in the table (ADR 0077). */
export const FEW_REQUESTS: StoredSizes = {
  journalBytesMax: 128 * 1024,
  journalCommitsMax: 2_048,
  partBytesMax: 8 * 1024,
  keepsJournal: false,
  segmentBytes: 64 * 1024,
  journalQuality: 5,
};

/** For a store in memory, where nothing is saved by writing less: each beat leaves its state as an object. */
export const EACH_BEAT: StoredSizes = {
  journalBytesMax: 3 * 1024,
  journalCommitsMax: 64,
  partBytesMax: null,
  keepsJournal: false,
  segmentBytes: 16 * 1024,
  journalQuality: 2,
};
