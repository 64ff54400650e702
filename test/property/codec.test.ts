/** Laws of the codec over any JSON and any transcript: data reads back as written, and equal data has equal bytes. */
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonical, compress, decompress, digestOf } from "../../src/codec/canonical.ts";
import { cut } from "../../src/codec/transcript.ts";
import { asJson, fromBlob, sentenceOf, toValue } from "../../src/codec/value.ts";
import type { Json } from "../../src/core/json.ts";
import { type Message, text } from "../../src/core/message.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { FEW_BYTES } from "../../src/ports/stored-sizes.ts";

/** Any JSON, deep and with every kind of text; without -0, which equals 0 but has another sign. */
const arbitraryJson: fc.Arbitrary<Json> = fc
  .jsonValue({ maxDepth: 4, stringUnit: "grapheme" })
  .map((value) => JSON.parse(JSON.stringify(value)) as Json);

const { segmentBytes } = FEW_BYTES;

function holds<T>(values: fc.Arbitrary<T>, law: (value: T) => void, numRuns = 300): void {
  // A violated law throws; its return value does not matter.
  const property = fc.property(values, (value) => {
    law(value);
  });
  fc.assert(property, { numRuns });
}

/** Any sequence of code units, including unpaired surrogates. */
const hostile = fc.uint16Array({ maxLength: 40 }).map((codes) => String.fromCharCode(...codes));

/** The same value with its members in another order. */
function reversed(value: Json): Json {
  if (Array.isArray(value)) return value.map((each: Json) => reversed(each));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toReversed();
  return Object.fromEntries(entries.map(([name, each]) => [name, reversed(each as Json)]));
}

describe("canonical JSON", () => {
  test("reads back as it was written", () => {
    holds(arbitraryJson, (value) => expect(JSON.parse(canonical(value))).toEqual(value));
  });

  test("has one text and one digest per value, whatever the order of its members", () => {
    holds(arbitraryJson, (value) => {
      expect(canonical(reversed(value))).toBe(canonical(value));
      expect(digestOf(reversed(value))).toBe(digestOf(value));
    });
  });

  test("is equal only for equal values", () => {
    const small = fc.jsonValue({ maxDepth: 1 }).map((value) => JSON.parse(JSON.stringify(value)) as Json);
    holds(fc.tuple(small, small), ([one, other]) => {
      expect(canonical(one) === canonical(other)).toBe(isDeepStrictEqual(one, other));
    });
  });
});

test("decompresses to the same bytes, and refuses more than the limit", () => {
  holds(fc.uint8Array({ maxLength: 5_000 }), (bytes) => {
    expect(Buffer.compare(decompress(compress(bytes), { what: "it", bytesMax: bytes.length + 1 }), bytes)).toBe(0);
    if (bytes.length > 1)
      expect(() => decompress(compress(bytes), { what: "it", bytesMax: bytes.length - 1 })).toThrow(
        "cannot be decompressed",
      );
  });
});

describe("values", () => {
  test("keeps every JSON value unchanged", () => {
    holds(arbitraryJson, (value) => expect(asJson(value)).toEqual({ ok: true, json: value }));
  });

  test("turns any value into storable JSON or a reason for its refusal", () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
    });
    holds(
      fc.oneof(anything, fc.dictionary(hostile, hostile)),
      (value) => {
        const parsed = asJson(value);
        if (!parsed.ok) expect(parsed.why).not.toBe("");
        else expect(JSON.parse(canonical(parsed.json))).toEqual(parsed.json);
      },
      2_000,
    );
  });

  test("restores a large value from its blob", () => {
    const large = fc
      .tuple(arbitraryJson, fc.string({ unit: "grapheme" }))
      .map(([value, word]): Json => [value, `${word} `.repeat(SIZES.inlineBytesMax)]);
    holds(
      large,
      (value) => {
        const { value: kept, blob } = toValue(value);
        expect(kept).toMatchObject({ kind: "blob", sha256: blob?.sha256 });
        if (blob !== null) expect(fromBlob(blob.sha256, blob.bytes)).toEqual(value);
      },
      30,
    );
  });

  test("turns any thrown value into a bounded, storable text", () => {
    holds(fc.oneof(fc.anything({ withNullPrototype: true }), hostile), (value) => {
      for (const said of [sentenceOf(value), sentenceOf(new Error(String(JSON.stringify(value))))]) {
        expect(said.length).toBeLessThanOrEqual(SIZES.errorCharactersMax + 1);
        expect(JSON.parse(canonical(said))).toBe(said);
      }
    });
  });
});

describe("the transcript", () => {
  const transcript = fc
    .array(fc.nat(20_000), { maxLength: 120, size: "max" })
    .map((sizes) => sizes.map((size, index): Message => messageOf(index, size)));

  test("is cut so that segments and tail are the messages in order", () => {
    holds(
      transcript,
      (messages) => {
        const { segments, tail } = cut(messages, segmentBytes);
        expect([...segments.flatMap(({ members }) => members), ...tail]).toEqual(messages);
        for (const { ref, members } of segments) {
          expect(ref).toMatchObject({ count: members.length, sha256: digestOf(members as unknown as Json) });
        }
      },
      25,
    );
  });

  test("has a manifest that grows with the logarithm of the transcript", () => {
    holds(
      transcript,
      (messages) => {
        const { segments } = cut(messages, segmentBytes);
        const chunksMax = segments.reduce((sum, { ref }) => sum + ref.bytes, 0) / segmentBytes + 1;
        const levels = Math.floor(Math.log(chunksMax) / Math.log(SIZES.segmentFanIn)) + 1;
        expect(segments.length).toBeLessThanOrEqual(levels * (SIZES.segmentFanIn - 1));
      },
      25,
    );
  });
});

function messageOf(index: number, size: number): Message {
  const parts = [text("x".repeat(size))];
  return { id: `m${index + 1}`, at: 1_000 + index, source: "test", role: "user", parts, tokens: 0 };
}
