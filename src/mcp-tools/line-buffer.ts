/**
 * Cuts the output of a server into lines, at a cost that grows with the length of a line and not with its square. The
 * buffer of the SDK copies and searches all that it holds for each chunk: 500 MB for a message of 8 MB. This one searches
 * each byte once, and doubles its memory when it is full.
 */
const LINE_FEED = 0x0a;

/** The longest line that a server may send, in bytes; also the limit of the SDK. */
export const LINE_BYTES_MAX = 10 * 1024 * 1024;

interface Cut {
  /** The lines that the chunk has ended, in order, without their line feeds. */
  readonly lines: readonly string[];
  /** The line after them is longer than the limit. It is forgotten, so the chunks that follow cannot be read. */
  readonly isTooLong: boolean;
}

export class LineBuffer {
  readonly #max: number;
  /** The beginning of a line whose end has not come: the first `#length` bytes. */
  #held: Buffer = Buffer.alloc(0);
  #length = 0;

  constructor(max: number = LINE_BYTES_MAX) {
    this.#max = max;
  }

  append(chunk: Buffer): Cut {
    const lines: string[] = [];
    let begin = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, begin)) {
      if (!this.#hold(chunk.subarray(begin, end))) return { lines, isTooLong: true };
      lines.push(this.#held.toString("utf8", 0, this.#length).replace(/\r$/, ""));
      this.#length = 0;
      begin = end + 1;
    }
    const isTooLong = !this.#hold(chunk.subarray(begin));
    // The memory of a long line is not kept for the short ones after it.
    if (this.#length === 0) this.#held = Buffer.alloc(0);
    return { lines, isTooLong };
  }

  /** False: the line is too long. */
  #hold(part: Buffer): boolean {
    const length = this.#length + part.length;
    if (length > this.#max) {
      this.#length = 0;
      return false;
    }
    if (length > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, Math.min(this.#max, this.#held.length * 2)));
      this.#held.copy(larger, 0, 0, this.#length);
      this.#held = larger;
    }
    part.copy(this.#held, this.#length);
    this.#length = length;
    return true;
  }
}
