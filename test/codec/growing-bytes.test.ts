/** Bytes that grow keep what they were, whatever grows from them, and have the digest of any bytes like them. */
import { hash } from "node:crypto";
import { expect, test } from "vitest";
import { grownBy, sha256Of } from "../../src/codec/growing-bytes.ts";

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));
const text = (of: Uint8Array): string => Buffer.from(of).toString();
const digestOf = (of: Uint8Array): string => sha256Of(of).toString("hex");

test("a version has the bytes of the one before and the pieces behind them", () => {
  let grown: Uint8Array = bytes("begin");
  let expected = "begin";
  for (let count = 0; count < 200; count += 1) {
    grown = grownBy(grown, [bytes(`<${count}`), bytes(">")]);
    expected += `<${count}>`;
    expect(text(grown)).toBe(expected);
    expect(digestOf(grown)).toBe(hash("sha256", expected));
  }
});

test("an earlier version stays as it is, and so does its digest", () => {
  const first = grownBy(bytes("a"), [bytes("b")]);
  const second = grownBy(first, [bytes("c")]);
  expect(digestOf(second)).toBe(hash("sha256", "abc"));
  expect({ text: text(first), digest: digestOf(first) }).toEqual({ text: "ab", digest: hash("sha256", "ab") });
});

test("two versions that grow from the same one do not meet", () => {
  const begin = grownBy(bytes("a"), [bytes("b")]);
  const one = grownBy(begin, [bytes("1")]);
  const other = grownBy(begin, [bytes("2")]);
  expect([one, other].map(text)).toEqual(["ab1", "ab2"]);
  expect([other, one].map(digestOf)).toEqual(["ab2", "ab1"].map((each) => hash("sha256", each)));
});

test("a version whose digest nobody asked for counts in the next one", () => {
  const grown = grownBy(grownBy(bytes(""), [bytes("x")]), [bytes("y")]);
  expect(digestOf(grown)).toBe(hash("sha256", "xy"));
  expect(digestOf(grown)).toBe(hash("sha256", "xy"));
});
