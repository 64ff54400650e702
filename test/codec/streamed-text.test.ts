/** Redaction of a text that comes in pieces: nothing is given out that a later piece makes a part of a secret. */
import { describe, expect, test } from "vitest";
import { StreamedText } from "../../src/codec/redaction/streamed-text.ts";
import { redactionOf } from "../../src/codec/redaction/redaction.ts";
import { HARMLESS } from "../support/values/credential-free-texts.ts";
import { PROBES } from "../support/values/credential-texts.ts";

const NONE = redactionOf([]);

/** What each piece of a text gives out, and what its end gives. */
function streamed(pieces: readonly string[], redaction = NONE): readonly string[] {
  const text = new StreamedText(() => redaction);
  const given = pieces.map((piece) => {
    text.add(piece);
    return text.take();
  });
  text.end();
  return [...given, text.take()];
}

const around = (text: string): string => `Here it is, as you asked:\n${text}\nand now we go on. That was all of it.`;

describe("a credential that comes character by character", () => {
  test.each(PROBES)("is never given out: %s", (_, text, secret) => {
    for (const whole of [around(text), text, `I say: ${text}`]) {
      const clean = NONE.text(whole);
      let given = "";
      for (const more of streamed([...whole])) {
        given += more;
        expect(clean.startsWith(given), JSON.stringify(given)).toBe(true);
        expect(given).not.toContain(secret);
      }
    }
  });
});

test("gives the whole text in the end, whatever the pieces are", () => {
  for (const [, text] of [...PROBES, ...HARMLESS]) {
    for (const size of [1, 7, 1_000]) {
      const whole = around(text);
      const pieces = whole.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
      expect(streamed(pieces).join("")).toBe(NONE.text(whole));
    }
  }
});

test.each([
  ["a plain value", "hunter2!hunter2", 1],
  ["a value of several words", "correct horse battery staple", 2],
  ["a value that ends with its own beginning", "moon over moon over", 1],
  ["a value of several lines, longer than a truncated one", `${"line of the key\n".repeat(600)}end`, 5],
])("never gives out the beginning of a declared secret: %s", (_, value, size) => {
  const redaction = redactionOf([{ name: "TOKEN", value }]);
  const whole = `the value: ${value} and so on, and on`;
  const pieces = whole.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
  let given = "";
  for (const more of streamed(pieces, redaction)) {
    given += more;
    expect(redaction.text(whole).startsWith(given)).toBe(true);
  }
  expect(given).toBe("the value: [secret TOKEN] and so on, and on");
});

test("gives words as they end, and text without spaces as it comes", () => {
  expect(streamed(["Hello ", "wor", "ld, how", " are you"])).toEqual(["Hello ", "", "world, ", "how are ", "you"]);
  expect(streamed(["日本", "語です"])).toEqual(["日本", "語です", ""]);
  expect(streamed(["\ud83e", "\udd80 ", "x"]).join("")).toBe("\u{1f980} x");
});

test("does not go on with a text whose beginning became a secret meanwhile", () => {
  let redaction = NONE;
  const text = new StreamedText(() => redaction);
  text.add("the value is opensaysme ");
  expect(text.take()).toBe("the value is opensaysme ");
  redaction = redactionOf([{ name: "TOKEN", value: "opensaysme" }]);
  text.add("and more ");
  expect(text.take()).toBe("");
  text.end();
  expect(text.take()).toBe("");
});

test("gives the arguments of a call once, when they are whole, redacted by the names of their fields", () => {
  const text = new StreamedText(() => NONE);
  text.add('{"password":["hunter2');
  expect(text.takeJson()).toBe("");
  text.add('!!"]}');
  expect(text.takeJson()).toBe("");
  text.end();
  expect(text.takeJson()).toBe('{"password":["[redacted password]"]}');
  expect(text.takeJson()).toBe("");
  const cut = new StreamedText(() => NONE);
  cut.add('{"a":');
  cut.end();
  expect(cut.takeJson()).toBe("");
});
