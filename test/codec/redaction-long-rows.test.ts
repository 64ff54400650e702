/** A value may be one word of 8 MB. V8 throws where a pattern counts so many characters, and so does what comes after it. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { redactionOf } from "../../src/codec/redaction/redaction.ts";
import { uncountedSource } from "../../src/codec/redaction/vendor-tokens.ts";

const CHARACTERS = 8 * 1024 * 1024;
const WORD = "A1b2".repeat(CHARACTERS / 4);
const { text } = redactionOf([{ name: "TOKEN", value: "p@ss-w0rd" }]);

test.each([
  ["base64", "", "left"],
  ["base64 whose lines are words", `${"x".repeat(20)}\n`, "left"],
  ["a token of a vendor", "sk-proj-1", "redacted"],
  ["a session token", "ghp_", "redacted"],
  ["a bearer token", "Bearer ", "redacted"],
  ["the beginning of a token of three parts", "eyJ", "left"],
  ["a token of three parts", `eyJ${"a".repeat(10)}.eyJ`, "left"],
  ["a webhook", "hooks.slack.com/services/", "redacted"],
  ["a field", "password=", "redacted"],
] as const)("%s of 8 MB is read", (_, before, what) => {
  const clean = text(before + (before.endsWith("\n") ? "ab\n".repeat(CHARACTERS / 3) : WORD));
  expect(clean.length > CHARACTERS / 2 ? "left" : "redacted").toBe(what);
});

test("a pattern without counts means the same", () => {
  expect(uncountedSource(String.raw`a{2,}[^\]x]{10,}\w{3,}(?:b|c){1,4}-{20}`)).toBe(
    String.raw`a{2}a*[^\]x]{10}[^\]x]*\w{3}\w*(?:b|c){1,4}-{20}`,
  );
});

test("no pattern for texts counts without a limit, but for those that are rewritten", () => {
  const folder = join(import.meta.dirname, "../../src");
  const counts = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    // Up to three repetitions are written out by V8.
    .filter((file) => /\{(?:[4-9]|\d\d+),\}/.test(readFileSync(join(folder, file), "utf8")));
  expect(counts.toSorted()).toEqual([
    // Keys of objects.
    "adapters/aws/table/keys.ts",
    "codec/redaction/credentials.ts",
    "codec/redaction/vendor-tokens.ts",
    "history/object-keys.ts",
  ]);
});
