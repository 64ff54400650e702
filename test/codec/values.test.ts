/** Values of unknown origin become JSON or a reason for their refusal; no part is lost silently. */
import { describe, expect, test } from "vitest";
import { SIZES } from "../../src/codec/limits.ts";
import { canonical, compress } from "../../src/codec/canonical.ts";
import { isTooDeep } from "../../src/codec/to-json.ts";
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

/** An object that reveals none of its members. */
class Hidden {
  readonly #amount = 5;
  readonly amount = (): number => this.#amount;
}
class Empty {
  show(): string {
    return "";
  }
}
class Money {
  readonly amount = 5;
  double(): number {
    return 2 * this.amount;
  }
}
class Priced extends Money {
  toJSON(): unknown {
    return { eur: this.amount };
  }
}

/** Its first member is missing. */
function gapped(): unknown[] {
  const list: unknown[] = [];
  list[1] = 1;
  return list;
}

/** A value that any code may throw. */
const nothing = null as unknown as Error;

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** No part is dropped or changed silently; each row of the table in `docs/agents.md` has a case here. */
describe("refuses, with the reason and its path,", () => {
  test.each<readonly [string, unknown, string]>([
    ["a bigint", { a: 1n }, 'a bigint is not JSON at "a"'],
    ["a function", [() => 1], 'a function is not JSON at "0"'],
    ["a function alone", () => 1, "a function is not JSON"],
    ["a symbol", { a: { b: Symbol("x") } }, 'a symbol is not JSON at "a.b"'],
    ["a name that is a symbol", { a: { [Symbol("x")]: 1 } }, 'a property whose name is a symbol is not JSON at "a"'],
    ["NaN", { a: Number.NaN }, 'NaN is not JSON at "a"'],
    ["infinity", Number.NEGATIVE_INFINITY, "-Infinity is not JSON"],
    ["nothing in a list", { a: [1, undefined] }, 'undefined is not JSON at "a.1"'],
    ["a gap in a list", { a: gapped() }, 'a list with gaps or additional properties is not JSON at "a"'],
    [
      "an object with the prototype of a list",
      Object.assign(gapped(), { a: 1 }),
      "a list with gaps or additional properties is not JSON",
    ],
    ["extra properties of a list", "ab".match(/b/), "a list with gaps or additional properties is not JSON"],
    ["a Map", { a: new Map([[1, 2]]) }, 'a Map is not JSON at "a"'],
    ["a Set", new Set([1]), "a Set is not JSON"],
    ["an error", { a: new TypeError("x") }, 'a TypeError is not JSON at "a"'],
    ["a boxed text", Object("x"), "a String is not JSON"],
    ["a blob", new Blob(["x"]), "a Blob is not JSON; a tool returns bytes as toolFile(bytes)"],
    ["the memory of bytes", new ArrayBuffer(3), "an ArrayBuffer is not JSON; a tool returns bytes as toolFile(bytes)"],
    ["bytes", { a: new Uint8Array(3) }, 'an Uint8Array is not JSON at "a"; a tool returns bytes as toolFile(bytes)'],
    [
      "bytes whose toJSON returns a list",
      Buffer.from("x"),
      "a Buffer is not JSON; a tool returns bytes as toolFile(bytes)",
    ],
    ["a promise", { a: Promise.resolve(1) }, 'a Promise is not JSON at "a"'],
    ["an object of a class without own fields", { a: new Empty() }, 'an Empty is not JSON at "a"'],
    ["an object of a class that shows a function", new Hidden(), 'a function is not JSON at "amount"'],
    ["an invalid date", { a: new Date(Number.NaN) }, 'a Date without a time is not JSON at "a"'],
    ["a cycle", circle(), 'a circular reference is not JSON at "value.self"'],
    ["a name with half a character", { a: { "\uD800": 1 } }, 'a property name is not well-formed Unicode at "a"'],
    [
      "a value that throws when it is read",
      {
        toJSON: () => {
          throw new Error("not now");
        },
      },
      "reading it threw: not now",
    ],
    [
      "a field that throws when it is read",
      {
        a: {
          get b(): never {
            throw nothing;
          },
        },
      },
      'reading it threw at "a.b": null',
    ],
    ["a revoked proxy", { a: revoked() }, 'reading it threw at "a": '],
    ["a value whose toJSON returns undefined", { toJSON: () => undefined }, "undefined is not JSON"],
    [
      "a value whose toJSON returns a cycle",
      { a: { toJSON: circle } },
      'a circular reference is not JSON at "a.value.self"',
    ],
  ])("%s", (_, value, why) => {
    expect(asJson(value)).toEqual({ ok: false, why: expect.stringContaining(why) });
  });

  test.each([SIZES.jsonDepthMax + 1, 3_000, 100_000])("a value that is nested %i levels deep", (depth) => {
    const why = expect.stringContaining(`it is nested deeper than ${SIZES.jsonDepthMax} levels`);
    expect(asJson(nested(depth))).toEqual({ ok: false, why });
    expect(isTooDeep(nested(depth))).toBe(true);
  });

  test("a value whose every level reports one more level", () => {
    const endless = { toJSON: (): unknown => ({ endless: { toJSON: endless.toJSON } }) };
    expect(asJson(endless)).toEqual({ ok: false, why: expect.stringContaining("nested deeper") });
  });

  test("a value larger than any blob, before all of it is read", () => {
    const why = `it is too large: as JSON it may have at most ${SIZES.blobBytesMax} characters`;
    const text = "x".repeat(SIZES.blobBytesMax);
    expect(asJson(text)).toEqual({ ok: false, why });
    expect(asJson("\n".repeat(SIZES.blobBytesMax / 2))).toEqual({ ok: false, why });
    expect(asJson(text.slice(2)).ok).toBe(true);
    // Each level contains the one below twice: small in memory, but too large for any machine to write.
    let doubled: unknown = "x";
    for (let level = 0; level < 90; level += 1) doubled = [doubled, doubled];
    expect(asJson(doubled)).toEqual({ ok: false, why: expect.stringContaining("it is too large: as JSON") });
  });

  test("a value that throws, with one line of its error", () => {
    const toJSON = (): never => {
      throw new Error("one\ntwo");
    };
    const parsed = asJson({ toJSON });
    expect(parsed.ok ? "" : parsed.why).toBe("reading it threw: one");
    const deep = asJson({ ["a\n".repeat(5_000)]: [1n] });
    expect(deep.ok ? "" : deep.why).not.toContain("\n");
    expect((deep.ok ? "" : deep.why).length).toBeLessThan(1_000);
  });
});

const shared = ["x"];

describe("keeps as JSON", () => {
  test.each<readonly [string, unknown, unknown]>([
    ["nothing", undefined, null],
    ["a date", { at: new Date(5) }, { at: "1970-01-01T00:00:00.005Z" }],
    ["a name without a value", { a: undefined, b: 1 }, { b: 1 }],
    ["half a character in a text", "a\uD800b", "a\uFFFDb"],
    ["a URL", new URL("https://example.com/x"), "https://example.com/x"],
    ["a number without its sign", { a: -0 }, { a: 0 }],
    ["an object of a class", new Money(), { amount: 5 }],
    ["an object of a class with a toJSON method", [new Priced()], [{ eur: 5 }]],
    ["an object without a prototype", Object.assign(Object.create(null) as object, { a: 1 }), { a: 1 }],
    ["the same thing twice", [shared, shared], [["x"], ["x"]]],
  ])("%s", (_, value, json) => {
    expect(asJson(value)).toStrictEqual({ ok: true, json });
  });

  test("a member name with a meaning in JavaScript", () => {
    const parsed = asJson(JSON.parse('{"__proto__":{"admin":true},"constructor":1}'));
    expect(parsed.ok && canonical(parsed.json)).toBe('{"__proto__":{"admin":true},"constructor":1}');
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
    if (parsed.ok) expect(Object.getPrototypeOf(parsed.json)).toBe(Object.prototype);
  });

  test("a value at the depth limit, which can be stored", () => {
    const parsed = asJson(nested(SIZES.jsonDepthMax));
    if (!parsed.ok) throw new Error(parsed.why);
    expect(isTooDeep(parsed.json)).toBe(false);
    expect(toValue(parsed.json).value).toEqual({ kind: "inline", json: parsed.json });
  });

  test("a copy that does not change the original value", () => {
    const given = { list: [1] };
    const parsed = asJson(given);
    given.list.push(2);
    expect(parsed).toEqual({ ok: true, json: { list: [1] } });
  });
});

describe("a value to keep", () => {
  const { inlineBytesMax, previewCharacters } = SIZES;

  test("stays inline up to the limit in bytes", () => {
    const most = "x".repeat(inlineBytesMax - 2);
    expect(toValue(most)).toEqual({ value: { kind: "inline", json: most }, blob: null });
    expect(toValue(`${most}x`).value.kind).toBe("blob");
    expect(toValue("ä".repeat(inlineBytesMax / 2)).value.kind).toBe("blob");
  });

  test("becomes a blob above it, named by its digest, with head and tail", () => {
    const text = `begin${"x".repeat(inlineBytesMax)}end`;
    const { value, blob } = toValue(text);
    expect(value).toEqual({
      ...{ kind: "blob", sha256: blob?.sha256, bytes: text.length + 2 },
      ...{ head: text.slice(0, previewCharacters), tail: text.slice(-previewCharacters) },
    });
    expect(fromBlob(blob?.sha256 ?? "", blob?.bytes ?? new Uint8Array())).toBe(text);
  });

  test("is cut between whole characters", () => {
    const { value } = toValue(`x${"𝄞".repeat(inlineBytesMax)}y`);
    if (value.kind !== "blob") throw new Error("not a blob");
    expect(value.head.isWellFormed() && value.tail.isWellFormed()).toBe(true);
  });

  test("has one blob for equal values", () => {
    const long = "x".repeat(inlineBytesMax);
    expect(toValue({ a: long, b: 1 }).blob).toEqual(toValue({ b: 1, a: long }).blob);
  });

  test("is found in every stored reference, and not in foreign JSON that looks like one", () => {
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

  test("is refused when its bytes do not match its digest", () => {
    const unreadable = expect.objectContaining({ name: "Unreadable" });
    const { sha256 = "", bytes = new Uint8Array() } = toValue("x".repeat(inlineBytesMax)).blob ?? {};
    expect(() => fromBlob(sha256, compress('"other"'))).toThrow(unreadable);
    expect(() => fromBlob(sha256, bytes.slice(0, -1))).toThrow(unreadable);
    expect(() => fromBlob(sha256, compress("0".repeat(4 * SIZES.blobBytesMax + 1)))).toThrow(unreadable);
  });
});

describe("the text of a thrown value", () => {
  const silent = Object.create(null) as object;
  const odd = Object.assign(new Error("x"), { message: { not: "a text" } });

  test.each<readonly [string, unknown, string]>([
    ["an error", new Error("no seat left"), "no seat left"],
    ["an error without a message", new TypeError(""), "TypeError"],
    ["a text", "no seat left", "no seat left"],
    ["a number", 404, "404"],
    ["nothing", undefined, "undefined"],
    ["a symbol", Symbol("x"), "Symbol(x)"],
    ["an object without a text form", { code: 7 }, '{"code":7}'],
    ["an object whose text form is empty", silent, "a value without a message was thrown"],
    ["an error whose message is not a text", odd, "[object Object]"],
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
