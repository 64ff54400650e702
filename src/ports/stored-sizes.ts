/** The sizes that a world chooses, by what its stores make expensive. A process reads what was stored with others. */
export interface StoredSizes {
  /** Compressed size of the journal in the row. A larger journal forces a snapshot. */
  readonly journalBytesMax: number;
  /** A chunk of the transcript is sealed as a segment once it reaches this uncompressed size. */
  readonly segmentBytes: number;
  /** The Brotli quality of the journal. 4 takes twice the time of 2 and saves a few percent of the bytes. */
  readonly journalQuality: number;
}

/** For stores on a disk: each written byte takes time. */
export const FEW_BYTES: StoredSizes = { journalBytesMax: 3 * 1024, segmentBytes: 16 * 1024, journalQuality: 2 };

/** For stores that charge each request: larger rows are cheaper than more objects (ADR 0067). */
export const FEW_REQUESTS: StoredSizes = {
  journalBytesMax: 4.5 * 1024,
  segmentBytes: 64 * 1024,
  journalQuality: 4,
};
