/** Text from bytes that people or programs give: UTF-8, with or without a byte order mark. Nothing else is guessed. */

export type ReadText = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly why: string };

const NEWLINE = 10;

/**
 * Reads UTF-8. Bytes of another encoding would be decoded to replacement characters, and a run would work on another text
 * than the one that was given. `why` names the encoding, where its mark shows it, or the first wrong line.
 */
export function utf8Of(bytes: Uint8Array): ReadText {
  const text = decoded(bytes);
  if (text !== null) return { ok: true, text };
  const [first, second] = bytes;
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (isUtf16) return { ok: false, why: "it is UTF-16, and UTF-8 is needed" };
  return { ok: false, why: `it is not UTF-8: line ${wrongLine(bytes)} has bytes of another encoding, such as Latin-1` };
}

/** Null if it is not UTF-8. */
function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The first line that is not UTF-8, from 1. No character of UTF-8 contains the byte of a newline. */
function wrongLine(bytes: Uint8Array): number {
  let line = 1;
  for (let from = 0; from < bytes.byteLength; line += 1) {
    const end = bytes.indexOf(NEWLINE, from);
    const to = end < 0 ? bytes.byteLength : end;
    if (decoded(bytes.subarray(from, to)) === null) return line;
    from = to + 1;
  }
  return line;
}
