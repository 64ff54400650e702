/** Copies of JSON values. */
import { expect, test } from "vitest";
import { type Json, copyOfJson } from "../../src/core/json.ts";

const given: Json = { list: [1, "a", null, { deep: [true, []] }], text: "b", none: {} };

test("a copy is equal and shares nothing", () => {
  const before = structuredClone(given);
  const copy = copyOfJson(given) as { list: unknown[]; none: Record<string, unknown> };
  expect(copy).toEqual(before);
  const member = copy.list[3] as { deep: [boolean, unknown[]] };
  member.deep[1].push("changed");
  copy.list.push("changed");
  copy.none["changed"] = true;
  expect(given).toEqual(before);
});

test("a name that means something else to an assignment is a name like any other", () => {
  const copy = copyOfJson(JSON.parse('{"__proto__": {"admin": true}}') as Json);
  expect(JSON.stringify(copy)).toBe('{"__proto__":{"admin":true}}');
  expect((copy as { readonly admin?: unknown }).admin).toBeUndefined();
});
