/** What can be recorded of a value that a schema made. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonical } from "../../src/codec/canonical.ts";
import { droppedBy, plainJsonOf, projectionOf } from "../../src/codec/projection.ts";

class Money {
  readonly cents: number;
  constructor(cents: number) {
    this.cents = cents;
  }
}

const loop: { self?: unknown } = {};
loop.self = loop;
const throwing = Object.defineProperty({}, "x", {
  enumerable: true,
  get: () => {
    throw new Error("no");
  },
});

describe("a value is plain JSON", () => {
  test("if it is read back from its text as it was", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const value: unknown = JSON.parse(text.replaceAll("-0", "0"));
        expect(plainJsonOf(value)).toEqual(value);
      }),
    );
  });

  test.each<readonly [string, unknown]>([
    ["a Date", new Date(0)],
    ["a bigint", { n: 1n }],
    ["an instance", [new Money(1)]],
    ["an object without prototype", Object.assign(Object.create(null), { a: 1 })],
    ["a member undefined", { a: undefined }],
    ["undefined", undefined],
    ["a list with gaps", Object.assign([], { length: 2 })],
    ["a list with a name", Object.assign([1], { name: "x" })],
    ["a symbol as name", { [Symbol("s")]: 1 }],
    ["-0", { n: -0 }],
    ["NaN", Number.NaN],
    ["a lone surrogate", "\ud800"],
    ["a circle", loop],
    ["a getter that throws", throwing],
    ["a value with toJSON", { toJSON: () => 1 }],
  ])("but not %s", (_, value) => {
    expect(plainJsonOf(value)).toBeUndefined();
  });

  test("and the copy shares nothing with it", () => {
    const value = { a: [1] };
    const copy = plainJsonOf(value) as typeof value;
    value.a.push(2);
    expect(copy).toEqual({ a: [1] });
  });
});

describe("a projection", () => {
  test.each<readonly [string, unknown, unknown]>([
    ["a Date", new Date(0), "Date(1970-01-01T00:00:00.000Z)"],
    ["a Date without a time", new Date(Number.NaN), "Date(no time)"],
    ["a bigint", { n: 12n }, { n: "BigInt(12)" }],
    ["an instance", { price: new Money(5) }, { price: ["Money", { cents: 5 }] }],
    ["a Map", new Map([["a", new Date(0)]]), ["Map", [["a", "Date(1970-01-01T00:00:00.000Z)"]]]],
    ["a Set", new Set([1n]), ["Set", ["BigInt(1)"]]],
    ["undefined", { a: undefined }, { a: "undefined" }],
    ["-0 and NaN", [-0, Number.NaN], ["Number(-0)", "Number(NaN)"]],
    ["an address", new URL("https://x.example/a"), "URL(https://x.example/a)"],
    ["a function", { f: () => 1, s: Symbol("s") }, { f: "Function()", s: "Symbol()" }],
    ["a circle", loop, { self: "Circular()" }],
    ["a getter that throws", throwing, "Unreadable()"],
    ["a value with toJSON", Object.assign(new Money(1), { toJSON: () => ({ c: 2n }) }), ["Money", { c: "BigInt(2)" }]],
  ])("shows %s", (_, value, shown) => {
    expect(projectionOf(value)).toEqual(shown);
  });

  test("is equal for equal values, and differs where bytes, members or times differ", () => {
    const made = (n: number) => ({ at: new Date(n), bytes: new Uint8Array([n]), deep: [new Money(n)] });
    expect(projectionOf(made(1))).toEqual(projectionOf(made(1)));
    for (const part of ["at", "bytes", "deep"] as const) {
      expect(projectionOf(made(1)[part])).not.toEqual(projectionOf(made(2)[part]));
    }
  });

  test("of anything is JSON that can be stored, and it never throws", () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true }), (value) => {
        expect(typeof canonical(projectionOf(value))).toBe("string");
      }),
    );
    let deep: unknown = new Date(0);
    for (let depth = 0; depth < 5_000; depth += 1) deep = { deep };
    expect(JSON.stringify(projectionOf(deep))).toContain("Omitted()");
    expect(projectionOf("x".repeat(9 * 1024 * 1024))).toMatch(/^Large\([0-9a-f]{64}\)$/);
  });
});

test("what a schema dropped is not named where it made a value of another form", () => {
  expect(droppedBy({ cents: 5 }, new Money(5))).toEqual([]);
  expect(droppedBy({ a: "2026", b: 1 }, { a: new Date(0) })).toEqual(["b"]);
});
