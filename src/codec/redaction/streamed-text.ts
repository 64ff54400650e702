/**
 * Redacts a text that comes in pieces. It gives out only what no later piece can turn into a part of a secret, so what
 * is given out is the beginning of the redacted whole.
 *
 * Schedule 184: a secret comes in two pieces. The first piece alone is no secret, so it would be written, and a reader
 * would join both.
 */
import type { Json } from "../../core/json.ts";
import { namesSecret } from "./credential-fields.ts";
import { hintsAtCredential } from "./credentials.ts";
import type { Redaction } from "./redaction.ts";

/** One text of a reply. */
export class StreamedText {
  readonly #redaction: () => Redaction;
  #raw = "";
  #given = "";
  #isOver = false;

  /** The redaction may learn more secrets meanwhile. */
  constructor(redaction: () => Redaction) {
    this.#redaction = redaction;
  }

  add(piece: string): void {
    this.#raw += piece;
  }

  /** No further piece comes. */
  end(): void {
    this.#isOver = true;
  }

  /** The redacted text that has become certain since the last call. */
  take(): string {
    const redaction = this.#redaction();
    const certain = this.#isOver ? this.#raw.length : certainLength(this.#raw, redaction);
    const clean = redaction.text(this.#raw.slice(0, certain).toWellFormed());
    // What was given out cannot be taken back. A text that became another one is not continued.
    if (!clean.startsWith(this.#given)) return "";
    const more = clean.slice(this.#given.length);
    this.#given = clean;
    return more;
  }

  /**
   * The same for a JSON document, such as the arguments of a call: once, when it is complete. Its values are redacted by
   * the names that they have, as in the committed call, which the text of a beginning does not show.
   */
  takeJson(): string {
    if (!this.#isOver || this.#given !== "") return "";
    try {
      this.#given = JSON.stringify(this.#redaction().json(JSON.parse(this.#raw) as Json));
    } catch {
      // It was cut, or is no JSON. The call comes with the reply.
      return "";
    }
    return this.#given;
  }
}

/** How much of the text may be redacted on its own. */
function certainLength(text: string, redaction: Redaction): number {
  const line = text.lastIndexOf("\n") + 1;
  const last = text.slice(line);
  // The value that a name announces may have several words, but ends with its line.
  const isHeld = hintsAtCredential(last) || namesSecret(last);
  const length = isHeld ? line : line + wordsLength(last);
  return Math.min(length, openKeyAt(text), redaction.begunAt(text.slice(0, length)) ?? length);
}

/** The last word may go on. Tokens are ASCII, so any other character ends one. No character is cut in two. */
function wordsLength(line: string): number {
  const end = /[^\s\u0080-\u{10ffff}]*[\ud800-\udbff]?$/u.exec(line);
  return end?.index ?? line.length;
}

/** Where a private key begins whose end has not come; else the length of the text. */
function openKeyAt(text: string): number {
  const begin = text.lastIndexOf("-----BEGIN");
  return begin === -1 || /-----END [A-Z0-9 ]{0,60}-----/.test(text.slice(begin)) ? text.length : begin;
}
