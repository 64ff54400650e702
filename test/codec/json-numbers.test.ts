/** `alteredNumbers` finds the numbers of a JSON text that JavaScript would change, with their paths, and no others. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseArguments } from "../../src/codec/arguments.ts";
import { alteredNumbers } from "../../src/codec/json-numbers.ts";

const pathsIn = (text: string) => alteredNumbers(text, 9).map(({ path }) => path.join("/"));
const ROUNDED = "9007199254740993";

describe("a number that would be altered", () => {
  test.each([
    [ROUNDED, [""]],
    [`-${ROUNDED}`, [""]],
    ["9007199254740992", [""]],
    ["1e400", [""]],
    [`{"a":[1,{"b":${ROUNDED}}],"c":${ROUNDED}}`, ["a/1/b", "c"]],
    [`{ "\\"],{\\\\" : [ [ ] , { } , ${ROUNDED} ] }`, ['"],{\\/2']],
    [`{"a":"${ROUNDED}","b":${ROUNDED},"b":1}`, ["b"]],
    [`["1",${ROUNDED},"2",${ROUNDED}]`, ["1", "3"]],
  ])("%s", (text, paths) => {
    expect(pathsIn(text)).toEqual(paths);
  });

  test.each([
    ...["9007199254740991", "-9007199254740991", "1e21", "0.12345678901234567890", "1E-400", '"9007199254740993"'],
    ...['{"9007199254740993":1}', `[${ROUNDED}`, "", `{"a":${ROUNDED}x}`],
  ])("is not found in %s", (text) => {
    expect(pathsIn(text)).toEqual([]);
  });

  test("is found at most `max` times", () => {
    expect(alteredNumbers(`[${Array.from({ length: 50 }, () => ROUNDED).join()}]`, 3)).toHaveLength(3);
  });

  test("is found at its path in any JSON, whatever its white space", () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    fc.assert(
      fc.property(value, value, fc.string(), fc.constantFrom(0, 2), (one, other, name, indent) => {
        const around = JSON.stringify([one, other, name]);
        fc.pre(!around.includes("HERE") && !/\d{16}/.test(around));
        const document = JSON.stringify({ one, [`${name}!`]: [other, "HERE"], two: "HERE" }, null, indent);
        const found = alteredNumbers(document.replaceAll('"HERE"', ROUNDED), 9);
        expect(found.map(({ path }) => path)).toEqual([[`${name}!`, 1], ["two"]]);
      }),
      { numRuns: 300 },
    );
  });
});

test("refuses a model's arguments with such a number, and names its path", () => {
  expect(parseArguments(`{"order":{"id":${ROUNDED}}}`)).toEqual({
    ok: false,
    why: expect.stringContaining('at "order.id": 9007199254740993 cannot be kept as a number'),
  });
  expect(parseArguments('{"order":{"id":"9007199254740993"}}').ok).toBe(true);
});
