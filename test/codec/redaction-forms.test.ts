/** Forms of declared secrets: each is found anywhere in a text, also when forms overlap; their number is bounded. */
import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { redactionOf } from "../../src/codec/redaction/redaction.ts";
import { FORMS_MAX, formsOf } from "../../src/codec/redaction/secret-forms.ts";

const VALUE = "p@ss/w\"rd+ü<&'7 x";
const { text } = redactionOf([{ name: "TOKEN", value: VALUE }]);

const base64 = (of: string): string => Buffer.from(of).toString("base64");
const units = (of: string): readonly string[] => of.split("");
const unicode = (digits: string): string => `\\u${digits.padStart(4, "0")}`;
const code = (of: string): string => of.charCodeAt(0).toString(16);

const FORMS: readonly (readonly [how: string, given: string])[] = [
  ["hex", Buffer.from(VALUE).toString("hex")],
  ["hex in upper case", Buffer.from(`a${VALUE}`).toString("hex").toUpperCase()],
  ["base64 of base64", base64(base64(VALUE))],
  ["base64 of base64, both moved", base64(`:${base64(`ab${VALUE}c`)}!`)],
  ["base64 of base64, moved by two", base64(`xy${base64(`a${VALUE}`)}`)],
  ["base64 of base64 for addresses", Buffer.from(Buffer.from(VALUE).toString("base64url")).toString("base64url")],
  ["an address in an address", `?q=${encodeURIComponent(encodeURIComponent(VALUE))}`],
  [
    "an address in an address in lower case",
    encodeURIComponent(encodeURIComponent(VALUE)).replaceAll(/%25../g, (each) => each.toLowerCase()),
  ],
  ["HTML", VALUE.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;").replaceAll("'", "&#39;")],
  ["HTML without quotes", VALUE.replaceAll("&", "&amp;").replaceAll("<", "&lt;")],
  [
    "HTML in numbers",
    units(VALUE)
      .map((each) => `&#${each.charCodeAt(0)};`)
      .join(""),
  ],
  [
    "HTML in hex",
    units(VALUE)
      .map((each) => `&#x${code(each)};`)
      .join(""),
  ],
  [
    "JSON in escapes",
    units(VALUE)
      .map((each) => unicode(code(each)))
      .join(""),
  ],
  [
    "JSON in escapes of upper case",
    units(VALUE)
      .map((each) => unicode(code(each).toUpperCase()))
      .join(""),
  ],
  ["JSON of Python", JSON.stringify(VALUE).slice(1, -1).replaceAll("ü", "\\u00fc")],
  ["JSON of Go", JSON.stringify(VALUE).slice(1, -1).replaceAll("<", "\\u003c").replaceAll("&", "\\u0026")],
  ["JSON of PHP", JSON.stringify(VALUE).slice(1, -1).replaceAll("/", "\\/")],
];

/** Bytes that are no text, so that nothing is found by decoding. */
const amongBytes = (before: number, bytes: string): string =>
  Buffer.concat([Buffer.alloc(before, 0x80), Buffer.from(bytes), Buffer.alloc(3, 0xff)]).toString("base64");

describe("a declared secret", () => {
  test.each([24, 25, 26])("is found in base64 among %i bytes that are no text, once and twice", (before) => {
    for (const bytes of [VALUE, base64(VALUE)]) {
      const clean = text(`before ${amongBytes(before, bytes)} after`);
      expect(clean).toContain("[secret TOKEN]");
      expect(text(clean)).toBe(clean);
    }
  });

  test.each(FORMS)("is found as %s", (_, given) => {
    const clean = text(`before ${given} after`);
    expect(clean).toMatch(/^before .{0,6}\[secret TOKEN\].{0,6} after$/);
    expect(text(clean)).toBe(clean);
  });

  test("has a bounded number of forms, whatever it contains", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 6, maxLength: 600 }), (value) => {
        expect(formsOf(value, 6).size).toBeLessThanOrEqual(FORMS_MAX);
        for (const form of formsOf(value, 6)) expect(form.length).toBeGreaterThanOrEqual(6);
      }),
    );
  });

  test("leaves no part when it overlaps with another one", () => {
    const both = redactionOf([
      { name: "FIRST", value: "abcdefgh" },
      { name: "SECOND", value: "efghijklmnop" },
    ]);
    expect(both.text("<abcdefghijklmnop>")).toBe("<[secret SECOND]>");
    expect(both.text("<abcdefgh efghijklmnop>")).toBe("<[secret FIRST] [secret SECOND]>");
  });

  test("is found among 512 with equal prefixes, and at a cut", () => {
    const values = Array.from(
      { length: 512 },
      (_, index) => `same-beginning-${String(index * 7_919).padStart(8, "0")}`,
    );
    const many = redactionOf(values.map((value, index) => ({ name: `S${index}`, value })));
    for (const index of [0, 77, 511]) {
      const value = values[index] ?? "";
      expect(many.text(`x${value}y`)).toBe(`x[secret S${index}]y`);
      expect(many.text(base64(value))).toContain(`[secret S${index}]`);
      expect(many.text(`so ${value.slice(0, -1)}…`)).toBe(`so [secret S${index}]…`);
    }
    expect(many.text("same-beginning-00000001")).toBe("same-beginning-00000001");
  });
});

test("law: no secret value remains anywhere in a text", () => {
  const value = fc.string({ minLength: 6, maxLength: 12, unit: fc.constantFrom("a", "b", "c") });
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 8 }), fc.array(fc.nat(7)), (values, order) => {
      const all = redactionOf(values.map((each, index) => ({ name: `S${index}`, value: each })));
      const given = order.map((at) => values[at % values.length]).join("a");
      const clean = all.text(given);
      for (const each of values) expect(clean).not.toContain(each);
      expect(all.text(clean)).toBe(clean);
    }),
  );
});
