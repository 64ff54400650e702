/** Values of unknown origin become JSON, or a reason why not; nothing is lost without a word. */
import { describe, expect, test } from "vitest";
import { SIZES } from "../../src/codec/limits.ts";
import { canonical, compress } from "../../src/codec/canonical.ts";
import { asJson, blobsIn, bounded, fromBlob, sentenceOf, toValue } from "../../src/codec/value.ts";

function circle(): unknown {
  const value: { self?: unknown } = {};
  value.self = value;
  return { value };
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

describe("refused, with the reason", () => {
  test.each<readonly [string, unknown, string]>([
    ["a bigint", { a: 1n }, 'a bigint is not JSON at "a"'],
    ["a function", [() => 1], 'a function is not JSON at "0"'],
    ["a function alone", () => 1, "a function is not JSON"],
    ["a symbol", { a: { b: Symbol("x") } }, 'a symbol is not JSON at "b"'],
    ["NaN", { a: Number.NaN }, 'NaN is not JSON at "a"'],
    ["infinity", Number.NEGATIVE_INFINITY, "-Infinity is not JSON"],
    ["a Map", { a: new Map([[1, 2]]) }, 'a Map is not JSON at "a"'],
    ["a Set", new Set([1]), "a Set is not JSON"],
    ["bytes", { a: new Uint8Array(3) }, 'an Uint8Array is not JSON at "a"'],
    ["a promise", { a: Promise.resolve(1) }, 'a Promise is not JSON at "a"'],
    ["a circle", circle(), "Converting circular structure to JSON"],
    ["a name that is half a character", { a: { "\uD800": 1 } }, 'a name is no well-formed text at "a"'],
    [
      "what throws when it is read",
      {
        toJSON: () => {
          throw new Error("not now");
        },
      },
      "not now",
    ],
    ["what says that it is nothing", { toJSON: () => undefined }, "is not JSON"],
  ])("%s", (_, value, why) => {
    expect(asJson(value)).toEqual({ ok: false, why: expect.stringContaining(why) });
  });

  test("what is nested deeper than anybody can read", () => {
    expect(asJson(nested(100_000))).toEqual({ ok: false, why: expect.stringContaining("call stack") });
  });

  test("what is larger than any blob, with both sizes", () => {
    const text = "x".repeat(SIZES.blobBytesMax);
    expect(asJson(text)).toEqual({
      ok: false,
      why: `it has ${SIZES.blobBytesMax + 2} characters as JSON, ${SIZES.blobBytesMax} are kept at most`,
    });
    expect(asJson(text.slice(2)).ok).toBe(true);
  });

  test("in one line, whatever the error says", () => {
    const parsed = asJson(circle());
    expect(parsed.ok ? "" : parsed.why).not.toContain("\n");
  });
});

describe("taken as JSON sees it", () => {
  test.each<readonly [string, unknown, unknown]>([
    ["nothing", undefined, null],
    ["a date", { at: new Date(5) }, { at: "1970-01-01T00:00:00.005Z" }],
    ["a name without a value", { a: undefined, b: 1 }, { b: 1 }],
    ["a gap in a list", [1, undefined], [1, null]],
    ["half a character in a text", "a\uD800b", "a\uFFFDb"],
    ["an address", new URL("https://example.com/x"), "https://example.com/x"],
    ["a number without its sign", -0, 0],
  ])("%s", (_, value, json) => {
    expect(asJson(value)).toEqual({ ok: true, json });
  });

  test("a name that means something to JavaScript stays a name", () => {
    const parsed = asJson(JSON.parse('{"__proto__":{"admin":true},"constructor":1}'));
    expect(parsed.ok && canonical(parsed.json)).toBe('{"__proto__":{"admin":true},"constructor":1}');
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
    if (parsed.ok) expect(Object.getPrototypeOf(parsed.json)).toBe(Object.prototype);
  });

  test("what is nested as deep as that can be read can also be stored", () => {
    const parsed = asJson(nested(1_000));
    if (!parsed.ok) throw new Error(parsed.why);
    expect(toValue(parsed.json).value).toEqual({ kind: "inline", json: parsed.json });
  });
});

describe("a value to keep", () => {
  const { inlineBytesMax, previewCharacters } = SIZES;

  test("stays inline up to the bound, in bytes", () => {
    const most = "x".repeat(inlineBytesMax - 2);
    expect(toValue(most)).toEqual({ value: { kind: "inline", json: most }, blob: null });
    expect(toValue(`${most}x`).value.kind).toBe("blob");
    expect(toValue("ä".repeat(inlineBytesMax / 2)).value.kind).toBe("blob");
  });

  test("above it is a blob named by its digest, with its head and its tail", () => {
    const text = `begin${"x".repeat(inlineBytesMax)}end`;
    const { value, blob } = toValue(text);
    expect(value).toEqual({
      ...{ kind: "blob", sha256: blob?.sha256, bytes: text.length + 2 },
      ...{ head: text.slice(0, previewCharacters), tail: text.slice(-previewCharacters) },
    });
    expect(fromBlob(blob?.sha256 ?? "", blob?.bytes ?? new Uint8Array())).toBe(text);
  });

  test("shows no half characters where it was cut", () => {
    const { value } = toValue(`x${"𝄞".repeat(inlineBytesMax)}y`);
    if (value.kind !== "blob") throw new Error("not a blob");
    expect(value.head.isWellFormed() && value.tail.isWellFormed()).toBe(true);
  });

  test("has one blob for equal values", () => {
    const long = "x".repeat(inlineBytesMax);
    expect(toValue({ a: long, b: 1 }).blob).toEqual(toValue({ b: 1, a: long }).blob);
  });

  test("is found wherever something stored names it, and not where somebody's JSON looks alike", () => {
    const blob = (sha256: string) => ({ kind: "blob", sha256, bytes: 1, head: "", tail: "" });
    const stored = {
      task: blob("a"),
      tail: [{ parts: [{ kind: "call", args: blob("b"), provider: blob("c") }, { value: blob("a") }] }],
      result: { kind: "inline", json: { deep: blob("d") } },
      failure: null,
    };
    expect(blobsIn(stored)).toEqual(["a", "b", "a"]);
    expect([blobsIn(null), blobsIn("blob"), blobsIn([])]).toEqual([[], [], []]);
  });

  test("is refused when the bytes are not those that were stored", () => {
    const unreadable = expect.objectContaining({ name: "Unreadable" });
    const { sha256 = "", bytes = new Uint8Array() } = toValue("x".repeat(inlineBytesMax)).blob ?? {};
    expect(() => fromBlob(sha256, compress('"other"'))).toThrow(unreadable);
    expect(() => fromBlob(sha256, bytes.slice(0, -1))).toThrow(unreadable);
    expect(() => fromBlob(sha256, compress("0".repeat(4 * SIZES.blobBytesMax + 1)))).toThrow(unreadable);
  });
});

describe("what was thrown, as a sentence", () => {
  const silent = Object.create(null) as object;
  const odd = Object.assign(new Error("x"), { message: { not: "a text" } });

  test.each<readonly [string, unknown, string]>([
    ["an error", new Error("no seat left"), "no seat left"],
    ["an error without words", new TypeError(""), "TypeError"],
    ["a text", "no seat left", "no seat left"],
    ["a number", 404, "404"],
    ["nothing", undefined, "undefined"],
    ["a symbol", Symbol("x"), "Symbol(x)"],
    ["an object with no words of its own", { code: 7 }, '{"code":7}'],
    ["an object without words", silent, "something was thrown that has no words"],
    ["an error whose message is no text", odd, "[object Object]"],
    ["half a character", new Error("a\uD800"), "a\uFFFD"],
  ])("%s", (_, thrown, sentence) => {
    expect(sentenceOf(thrown)).toBe(sentence);
  });

  test("is bounded, and cut between characters", () => {
    const long = bounded("x".repeat(SIZES.errorCharactersMax - 1) + "𝄞".repeat(9));
    expect(long.length).toBe(SIZES.errorCharactersMax + 1);
    expect(long.endsWith("\uFFFD…")).toBe(true);
    expect(bounded("x".repeat(SIZES.errorCharactersMax))).not.toContain("…");
  });
});
