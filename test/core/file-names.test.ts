import { expect, test } from "vitest";
import { type FileRef, fileNamed } from "../../src/core/file.ts";

const ref = (name: string, file: string): FileRef => ({ kind: "file", file, mediaType: "text/plain", bytes: 1, name });
const [COMPOSED, DECOMPOSED] = ["r\u00e9sum\u00e9.pdf", "re\u0301sume\u0301.pdf"];

test.each([
  [COMPOSED, DECOMPOSED],
  [DECOMPOSED, COMPOSED],
])("a file is found by its name, whichever form of Unicode it was stored and asked in", (stored, asked) => {
  const file = ref(stored, "a".repeat(64));
  expect(fileNamed([file, ref("resume.pdf", "b".repeat(64))], asked)).toBe(file);
});

test("two files whose names differ only in their form are not one name", () => {
  expect(fileNamed([ref(COMPOSED, "a".repeat(64)), ref(DECOMPOSED, "b".repeat(64))], COMPOSED)).toBe(null);
});
