/** Canonical JSON, digests and compression: equal values have equal bytes, and damage is detected. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Unreadable, canonical, compress, decompress, digestOf, sha256 } from "../../src/codec/canonical.ts";

/** Canonical JSON, written name by name. */
function sortedText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedText).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).filter(([, member]) => member !== undefined);
  const sorted = fields.toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `{${sorted.map(([name, member]) => `${JSON.stringify(name)}:${sortedText(member)}`).join(",")}}`;
}

describe("canonical JSON", () => {
  test("is the same text in whatever order the names are", () => {
    const name = fc.oneof(
      fc.string(),
      fc.constantFrom("a", "b", "B", "10", "9", "01", "", "ä", "toJSON", "constructor"),
    );
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        ...[fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(null, true, -0)],
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(name, fc.oneof(tie("value"), fc.constant(undefined)), { maxKeys: 6, noNullPrototype: true }),
      ),
    }));
    fc.assert(
      fc.property(value, (given) => {
        const before = JSON.stringify(given);
        const text = canonical(given);
        expect(text).toBe(sortedText(given));
        expect(canonical(JSON.parse(text))).toBe(text);
        expect(JSON.stringify(given)).toBe(before);
      }),
      { examples: [[{ b: 1, a: 2 }], [{ a: 0, "9": 1, "10": 2 }]] },
    );
  });

  // RFC 8785, section 3.2.3 and appendix B.
  test.each([
    ["names sorted by code units, at every depth", { b: 1, a: { d: 2, c: 3 } }, '{"a":{"c":3,"d":2},"b":1}'],
    ["the order of lists is kept", [3, 1, 2], "[3,1,2]"],
    [
      "numbers in their shortest form",
      [1e21, 1e-7, Number("333333333.33333329"), 4.5, 1e30, 2e-3],
      "[1e+21,1e-7,333333333.3333333,4.5,1e+30,0.002]",
    ],
    ["zero without a sign", [-0, 0], "[0,0]"],
    ["texts with the fewest escapes", "€$\u000F\nA'B\"\\/", '"€$\\u000f\\nA\'B\\"\\\\/"'],
    [
      "names in the order of their code units",
      { "€": 1, "\r": 2, ö: 3, "1": 4, "😀": 5 },
      '{"\\r":2,"1":4,"ö":3,"€":1,"😀":5}',
    ],
    [
      "names with a meaning in JavaScript",
      JSON.parse('{"__proto__":1,"constructor":2}'),
      '{"__proto__":1,"constructor":2}',
    ],
    ["null", null, "null"],
  ])("%s", (_, value, text) => {
    expect(canonical(value)).toBe(text);
  });

  test.each([undefined, Number.NaN, Number.POSITIVE_INFINITY, "\uD800", { "\uDC00": 1 }, 1n])("refuses %s", (value) => {
    expect(() => canonical(value)).toThrow(Error);
  });
});

describe("a digest", () => {
  test("is SHA-256 in lower-case hex, of text as UTF-8", () => {
    expect(sha256("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(sha256("ä€𝄞")).toBe(sha256(Buffer.from("ä€𝄞", "utf8")));
  });

  test("is the same for equal values", () => {
    expect(digestOf({ a: 1, b: [2] })).toBe(digestOf({ b: [2], a: 1 }));
    expect(digestOf({ a: 1 })).not.toBe(digestOf({ a: "1" }));
  });
});

describe("compression", () => {
  const text = "the same words again and again, ".repeat(100);

  test("returns text and bytes unchanged and makes them smaller", () => {
    expect(decompress(compress(text), { what: "it", bytesMax: text.length }).toString("utf8")).toBe(text);
    expect(compress(text).byteLength).toBeLessThan(text.length / 10);
    expect(decompress(compress(""), { what: "it", bytesMax: 1 }).byteLength).toBe(0);
  });

  test("returns a text of a known size in one piece, of which no part is copied", () => {
    const long = text.repeat(1_000);
    const known = decompress(compress(long), { what: "it", bytesMax: long.length, isKnown: true });
    expect({ bytes: known.byteLength, room: known.buffer.byteLength }).toEqual({
      bytes: long.length,
      room: long.length + 1,
    });
    expect(known.equals(Buffer.from(long))).toBe(true);
  });

  test("refuses more than its limit, so that a small object cannot fill the memory", () => {
    expect(() => decompress(compress(text), { what: "it", bytesMax: text.length - 1 })).toThrow(Unreadable);
  });

  test.each([
    ["other bytes", new Uint8Array([1, 2, 3])],
    ["nothing", new Uint8Array()],
    ["the first half", compress("x".repeat(9_999)).slice(0, 8)],
  ])("of %s is unreadable", (_, bytes) => {
    expect(() => decompress(bytes, { what: "it", bytesMax: 99_999 })).toThrow(
      expect.objectContaining({ name: "Unreadable", code: "Unreadable" }),
    );
  });
});
