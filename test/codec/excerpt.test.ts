/** Parts of long texts: where they begin and end, how to go on, and that no answer is too long itself. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonical } from "../../src/codec/canonical.ts";
import { placesOf, rangeOf } from "../../src/codec/excerpt.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { toValue } from "../../src/codec/value.ts";

const next = (answer: ReturnType<typeof rangeOf>): number | null => answer["next"] as number | null;

/** Reads the whole text range by range. */
function readAll(text: string, length: number): string {
  let read = "";
  for (let offset: number | null = 0; offset !== null;) {
    const answer = rangeOf(text, { offset, length });
    expect(toValue(answer).blob).toBeNull();
    const after = next(answer);
    if (after !== null) expect(after).toBeGreaterThan(offset);
    read += String(answer["text"]);
    offset = after;
  }
  return read;
}

describe("a range", () => {
  test("gives its text, the whole length and where to go on", () => {
    const text = "abcdefghij";
    expect(rangeOf(text, { offset: 2, length: 3 })).toEqual({ characters: 10, offset: 2, text: "cde", next: 5 });
    expect(rangeOf(text, { offset: 8, length: 3 })).toEqual({ characters: 10, offset: 8, text: "ij", next: null });
    expect(rangeOf(text, { offset: 99, length: 3 })).toEqual({ characters: 10, offset: 10, text: "", next: null });
  });

  test("gives lines", () => {
    const text = "one\ntwo\nthree\n";
    expect(rangeOf(text, { line: 2, lines: 1 })).toEqual({ characters: 14, offset: 4, text: "two\n", next: 8 });
    expect(rangeOf(text, { line: 3, lines: 9 })).toEqual({ characters: 14, offset: 8, text: "three\n", next: null });
    expect(rangeOf(text, { line: 9, lines: 1 })).toEqual({ characters: 14, offset: 14, text: "", next: null });
  });

  test("is cut where its JSON would be too long to show", () => {
    const text = "\u0000".repeat(SIZES.readCharactersMax);
    const answer = rangeOf(text, { offset: 0, length: SIZES.readCharactersMax });
    expect(Buffer.byteLength(canonical(answer))).toBeLessThanOrEqual(SIZES.inlineBytesMax);
    expect(readAll(text, SIZES.readCharactersMax)).toBe(text);
  });

  test("cuts no character in half, and the ranges together are the text", () => {
    const unit = fc.oneof(fc.constant("🙂"), fc.constant("\n"), fc.constant("é"), fc.string());
    fc.assert(
      fc.property(fc.array(unit), fc.integer({ min: 1, max: 7 }), (units, length) => {
        const text = units.join("").toWellFormed();
        expect(readAll(text, length)).toBe(text);
      }),
    );
  });
});

describe("a search", () => {
  test("finds a text in any case, and takes signs literally", () => {
    const { matches } = placesOf("x A.B? y a.b? z aXb?", { search: "a.b?", offset: 0 });
    expect((matches as readonly { offset: number }[]).map(({ offset }) => offset)).toEqual([2, 9]);
    for (const search of ["-", "/", "(", "[a", "\\", "{2}", "🙂"]) {
      expect(placesOf(`_${search}_`, { search, offset: 0 })["matches"]).toHaveLength(1);
    }
  });

  test("gives so many places at a time, each with what is around it, and where to go on", () => {
    const text = `${"-".repeat(300)}word`.repeat(SIZES.searchMatchesMax + 2);
    const first = placesOf(text, { search: "WORD", offset: 0 });
    expect(first["matches"]).toHaveLength(SIZES.searchMatchesMax);
    expect((first["matches"] as readonly { text: string }[])[0]?.text).toBe(`${"-".repeat(100)}word${"-".repeat(100)}`);
    const rest = placesOf(text, { search: "WORD", offset: next(first) ?? 0 });
    expect({ matches: rest["matches"], next: rest["next"] }).toMatchObject({ matches: { length: 2 }, next: null });
  });

  test("stops before its answer is too long to show, and goes on there", () => {
    const text = `${"\u0000".repeat(200)}word`.repeat(30);
    let places = 0;
    for (let offset: number | null = 0; offset !== null;) {
      const answer = placesOf(text, { search: "word", offset });
      expect(toValue(answer).blob).toBeNull();
      places += (answer["matches"] as readonly unknown[]).length;
      offset = next(answer);
    }
    expect(places).toBe(30);
  });
});
