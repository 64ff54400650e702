/**
 * Looks for secrets in texts that are encoded within a text: base64, also over several lines and of UTF-16, and texts in
 * which characters are escaped as in JSON, HTML or an address. What is encoded is decoded and redacted; the encoded
 * characters of a secret become its reference, and those around it stay.
 *
 * The time is linear: each encoded text is decoded once, and what is no text after decoding is left alone at once.
 */

/** Returns a text without its secrets; the same text if it has none. */
export type Redact = (text: string) => string;

const REFERENCE = /\[(?:secret|redacted) [\w-]+\]/;

/** The text without the secrets that are encoded in it. */
export function withoutEncoded(text: string, redact: Redact): string {
  const clean = /[\w+/-]{20}/.test(text) ? withoutEncodedRows(text, redact) : text;
  return ESCAPE_HINT.test(clean) ? clean.replace(ROW, (row: string) => withoutEscapes(row, redact)) : clean;
}

/** An end of a line within base64, which may itself be escaped, as in JSON. */
const LINE_END = String.raw`[ \t]{0,16}(?:\r?\n|(?:\\r)?\\n)[ \t]{0,16}`;
/** Each line but the last one has at least so many characters; a word of the text after it may be shorter. */
const ROW_OF_BASE64 = "[A-Za-z0-9+/_-]*";
const FIRST_LINE = new RegExp(`(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20}${ROW_OF_BASE64}`, "g");
const NEXT_LINE = new RegExp(`${LINE_END}[A-Za-z0-9+/_-]{2}${ROW_OF_BASE64}`, "y");
const PADDING = /={0,2}/y;
const LINE_ENDS = new RegExp(LINE_END, "g");
const LINE_ENDS_KEPT = new RegExp(`(${LINE_END})`);
/** A character with the end of line before it. */
const CHARACTER = new RegExp(`(?:${LINE_END})?[^]`, "g");

/** Line by line: one pattern for all lines would keep a place to go back to for each of them, and V8 has room for few. */
function withoutEncodedRows(text: string, redact: Redact): string {
  const parts: string[] = [];
  let [done, to] = [0, 0];
  for (;;) {
    // Set each time: what is decoded may have encoded texts, too, which are searched meanwhile.
    FIRST_LINE.lastIndex = to;
    const first = FIRST_LINE.exec(text);
    if (first === null) break;
    to = FIRST_LINE.lastIndex;
    for (let next = endAt(NEXT_LINE, text, to); next !== null; next = endAt(NEXT_LINE, text, to)) to = next;
    to = endAt(PADDING, text, to) ?? to;
    const found = text.slice(first.index, to);
    const clean = withoutBase64(found, redact);
    if (clean === found) continue;
    parts.push(text.slice(done, first.index), clean);
    done = to;
  }
  return done === 0 ? text : parts.join("") + text.slice(done);
}

/** Where the pattern that begins at `from` ends; null if it does not begin there. */
function endAt(pattern: RegExp, text: string, from: number): number | null {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : null;
}

function withoutBase64(found: string, redact: Redact): string {
  const whole = withoutSecretOf(found, redact);
  if (whole !== null) return whole;
  // Words on the lines around it look like more of it, so that the whole is no text.
  const split = found.split(LINE_ENDS_KEPT);
  if (split.length === 1) return found;
  const parts: string[] = [];
  for (let from = 0; from < split.length;) {
    const to = blockEnd(split, from);
    parts.push(withoutSecretInBlock(split.slice(from, to), redact), split[to] ?? "");
    from = to + 1;
  }
  return parts.join("");
}

/** Lines of one length and a shorter last one are one text. Lines are at even indices, and what ends them at odd ones. */
function blockEnd(split: readonly string[], from: number): number {
  const characters = split[from]?.length ?? 0;
  let at = from + 2;
  while (split[at]?.length === characters) at += 2;
  return (split[at]?.length ?? Infinity) < characters ? at + 1 : at - 1;
}

function withoutSecretInBlock(lines: readonly string[], redact: Redact): string {
  const block = lines.join("");
  const whole = withoutSecretOf(block, redact);
  if (whole !== null || lines.length === 1) return whole ?? block;
  const [before, last] = [lines.slice(0, -2).join(""), lines.at(-1) ?? ""];
  return [withoutSecretOf(before, redact) ?? before, lines.at(-2), withoutSecretOf(last, redact) ?? last].join("");
}

/** Null if it is the base64 of no text. */
function withoutSecretOf(found: string, redact: Redact): string | null {
  const packed = found.replaceAll(LINE_ENDS, "");
  const decoded = decodedText(packed);
  if (decoded === null) return null;
  const secret = secretIn(decoded.text, redact);
  if (secret === null) return found;
  const bytesAt = (index: number): number =>
    decoded.skipped + Buffer.byteLength(decoded.text.slice(0, index), decoded.as);
  const from = Math.floor((bytesAt(secret.from) * 8) / 6);
  const to = Math.min(packed.length, Math.ceil((bytesAt(secret.to) * 8) / 6));
  if (packed === found) return found.slice(0, from) + secret.reference + found.slice(to);
  const characters = found.match(CHARACTER) ?? [];
  return [...characters.slice(0, from), secret.reference, ...characters.slice(to)].join("");
}

interface Decoded {
  readonly text: string;
  readonly as: "utf8" | "utf16le";
  /** Bytes before the text: a byte order mark. */
  readonly skipped: number;
}

const HEAD_CHARACTERS = 64;

/** The text of which it is the base64; null if it is that of other bytes. */
function decodedText(packed: string): Decoded | null {
  const head = Buffer.from(packed.slice(0, HEAD_CHARACTERS), "base64");
  const isMarked = head[0] === 0xff && head[1] === 0xfe;
  const isWide = isMarked || (head.length >= 8 && [1, 3, 5, 7].every((index) => head[index] === 0));
  // Most that looks like base64 is none, so its beginning decides. Its last character may be cut in the middle.
  if (!isWide && NO_TEXT.test(head.toString("utf8").slice(0, -3))) return null;
  const bytes = Buffer.from(packed, "base64");
  const [as, skipped] = isWide ? (["utf16le", isMarked ? 2 : 0] as const) : (["utf8", 0] as const);
  const text = bytes.subarray(skipped).toString(as);
  return NO_TEXT.test(text) ? null : { text, as, skipped };
}

/** Control characters, and what replaces bytes that are no text. */
// oxlint-disable-next-line no-control-regex
const NO_TEXT = /[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\ufffd]/;

const ESCAPE_HINT = /\\u|%|&/;
const ROW = /\S+/g;
const ESCAPE = /\\{1,4}u([0-9A-Fa-f]{4})|%([0-9A-Fa-f]{2})|&#(\d{1,7});|&#[xX]([0-9A-Fa-f]{1,6});/g;

function withoutEscapes(row: string, redact: Redact): string {
  if (!ESCAPE_HINT.test(row)) return row;
  const decoded = row.replaceAll(ESCAPE, characterOf);
  const secret = decoded === row ? null : secretIn(decoded, redact);
  if (secret === null) return row;
  const from = encodedIndex(row, secret.from);
  const to = from + encodedIndex(row.slice(from), secret.to - secret.from);
  return row.slice(0, from) + secret.reference + row.slice(to);
}

function characterOf(all: string, unit?: string, byte?: string, decimal?: string, hex?: string): string {
  const code = decimal === undefined ? Number.parseInt(unit ?? byte ?? hex ?? "", 16) : Number(decimal);
  return code > 0x10_ff_ff ? all : String.fromCodePoint(code);
}

/** Where the character number `count` of the decoded row begins in the encoded one. */
function encodedIndex(row: string, count: number): number {
  let [encoded, decoded] = [0, 0];
  for (const match of row.matchAll(ESCAPE)) {
    const plain = match.index - encoded;
    if (decoded + plain >= count) break;
    encoded = match.index + match[0].length;
    const [all, unit, byte, decimal, hex] = match;
    decoded += plain + characterOf(all, unit, byte, decimal, hex).length;
    if (decoded >= count) return encoded;
  }
  return encoded + Math.max(0, count - decoded);
}

interface SecretIn {
  readonly from: number;
  readonly to: number;
  readonly reference: string;
}

/** Where the secrets of a decoded text are, from the first to the last, and the reference of the first. */
function secretIn(decoded: string, redact: Redact): SecretIn | null {
  const clean = redact(decoded);
  if (clean === decoded) return null;
  const most = Math.min(clean.length, decoded.length);
  let from = 0;
  while (from < most && clean[from] === decoded[from]) from += 1;
  let same = 0;
  while (same < most - from && clean.at(-1 - same) === decoded.at(-1 - same)) same += 1;
  // A secret may end with the last characters of a reference, or begin with its first ones.
  const reference = REFERENCE.exec(clean)?.[0] ?? "[redacted encoded-secret]";
  return { from, to: decoded.length - same, reference };
}
