/** The sizes that a world chooses, by what its stores make expensive. A process reads what was stored with others. */
export interface StoredSizes {
  /** Compressed size of the journal. A larger journal forces a snapshot. */
  readonly journalBytesMax: number;
  /**
   * Null: each commit compresses the whole journal anew. Otherwise it appends a part of its own to the stored bytes, of
   * this compressed size at most, and the table stores only that part (`codec/journal.ts`).
   */
  readonly partBytesMax: number | null;
  /** A chunk of the transcript is sealed as a segment once it reaches this uncompressed size. */
  readonly segmentBytes: number;
  /** The Brotli quality of the journal. 4 takes twice the time of 2 and saves a few percent of the bytes. */
  readonly journalQuality: number;
}

/** For stores on a disk: each written byte takes time. */
export const FEW_BYTES: StoredSizes = {
  journalBytesMax: 3 * 1024,
  partBytesMax: null,
  segmentBytes: 16 * 1024,
  journalQuality: 2,
};

/** For stores that charge each request: an object costs as much as eight kilobytes in the table (ADR 0077). */
export const FEW_REQUESTS: StoredSizes = {
  ...{ journalBytesMax: 128 * 1024, partBytesMax: 8 * 1024 },
  ...{ segmentBytes: 64 * 1024, journalQuality: 5 },
};
