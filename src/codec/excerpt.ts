/**
 * Parts of a text that is too long to show: a range, or the places of a word. Offsets count UTF-16 units, as JavaScript
 * does. Each answer is bounded as JSON, so it is never too long to show itself.
 */
import type { Json } from "../core/json.ts";
import { canonical } from "./canonical.ts";
import { SIZES } from "./limits.ts";

/** A range of characters, or of lines that begins with line `line` (from 1). */
export type Range =
  | { readonly offset: number; readonly length: number }
  | { readonly line: number; readonly lines: number };

type Answer = Readonly<Record<string, Json>>;

/** The range, as far as an answer has room. `next`: the offset of what follows; null at the end. */
export function rangeOf(text: string, range: Range): Answer {
  const [from, to] = "line" in range ? linesOf(text, range) : [range.offset, range.offset + range.length];
  const start = Math.min(whole(text, from), text.length);
  const answer = (end: number): Answer => ({
    characters: text.length,
    offset: start,
    text: text.slice(start, end).toWellFormed(),
    next: end < text.length ? end : null,
  });
  let end = whole(text, Math.min(to, text.length));
  // A range of half a character shows that character.
  if (end <= start && to > from) end = Math.min(start + 2, text.length);
  while (!fits(answer(end))) end = whole(text, start + Math.floor((end - start) / 2));
  return answer(end);
}

/** The places of `search` from `offset` on, in upper or lower case, each with what is around it. */
export function placesOf(
  text: string,
  { search, offset }: { readonly search: string; readonly offset: number },
): Answer {
  // A literal has no repetition, so that no search takes more than the product of both lengths.
  const literal = new RegExp(search.replace(/[$()*+.?[\\\]^{|}/]/g, String.raw`\$&`), "giu");
  literal.lastIndex = whole(text, Math.min(offset, text.length));
  const matches: { readonly offset: number; readonly text: string }[] = [];
  let found = literal.exec(text);
  for (; found !== null && matches.length < SIZES.searchMatchesMax; found = literal.exec(text)) {
    const end = found.index + found[0].length + SIZES.searchContextCharacters;
    const around = text.slice(Math.max(0, found.index - SIZES.searchContextCharacters), end).toWellFormed();
    matches.push({ offset: found.index, text: around });
    if (fits(matches)) continue;
    matches.pop();
    break;
  }
  return { characters: text.length, matches, next: found?.index ?? null };
}

const fits = (answer: unknown): boolean =>
  Buffer.byteLength(canonical(answer), "utf8") <= SIZES.inlineBytesMax - SIZES.answerSpareBytes;

/** The offset, or the one before it where it would cut a character in half. */
function whole(text: string, offset: number): number {
  const [before, after] = [text.charCodeAt(offset - 1), text.charCodeAt(offset)];
  return before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000 ? offset - 1 : offset;
}

function linesOf(text: string, { line, lines }: { readonly line: number; readonly lines: number }): [number, number] {
  const from = startOfLine(text, { line: line - 1, from: 0 });
  return [from, startOfLine(text, { line: lines, from })];
}

/** Where the line begins that is so many lines after `from`. */
function startOfLine(text: string, { line, from }: { readonly line: number; readonly from: number }): number {
  let at = from;
  for (let passed = 0; passed < line; passed += 1) {
    const end = text.indexOf("\n", at);
    if (end === -1) return text.length;
    at = end + 1;
  }
  return at;
}
