/** Which members a schema dropped. */
import { expect, test } from "vitest";
import { droppedNames, protoIn } from "../../src/core/dropped-names.ts";
import type { Json } from "../../src/core/json.ts";

const parsed = (text: string): Json => JSON.parse(text) as Json;

test.each<readonly [string, Json, Json, readonly string[]]>([
  ["nothing", { a: 1 }, { a: 2, b: 3 }, []],
  ["a name", { a: 1, b: 2 }, { a: 1 }, ["b"]],
  [
    "names in objects and lists",
    { a: [{ x: 1 }, { y: 2 }], b: { c: 1 } },
    { a: [{}, { y: 2 }], b: {} },
    ["a.0.x", "b.c"],
  ],
  ["`__proto__`", parsed('{"__proto__":{"x":1},"a":1}'), { a: 1 }, ["__proto__"]],
  ["an inherited name", { constructor: 1 }, {}, ["constructor"]],
  ["nothing of another form", { a: 1, b: [1] }, [1], []],
  ["nothing of a list of another length", [{ a: 1 }], [], []],
  ["nothing of a text", "a", {}, []],
])("names %s", (_, given, made, names) => {
  expect(droppedNames(given, made)).toEqual(names);
});

test("names twenty at most", () => {
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`n${index}`, { deep: index }]));
  expect(droppedNames(many, {})).toHaveLength(20);
});

test("finds a member named `__proto__` at any depth", () => {
  expect(protoIn(parsed('{"a":[{"__proto__":1}]}'))).toBe("a.0.__proto__");
  expect([protoIn({ proto: 1 }), protoIn(null), protoIn("__proto__")]).toEqual([null, null, null]);
});
