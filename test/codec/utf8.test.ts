import { expect, test } from "vitest";
import { utf8Of } from "../../src/codec/utf8.ts";

const TEXT = '{"name":"Zoë"}\n{"n":1}';

test.each([
  ["UTF-8", Buffer.from(TEXT)],
  ["UTF-8 with a byte order mark", Buffer.from(`\u{feff}${TEXT}`)],
])("%s is the text itself", (_, bytes) => {
  expect(utf8Of(bytes)).toEqual({ ok: true, text: TEXT });
});

test.each([
  ["Latin-1", Buffer.from(`{}\n${TEXT}`, "latin1"), "it is not UTF-8: line 2 has bytes"],
  ["UTF-16, little-endian", Buffer.from(`\u{feff}${TEXT}`, "utf16le"), "it is UTF-16"],
  ["UTF-16, big-endian", Buffer.from(`\u{feff}${TEXT}`, "utf16le").swap16(), "it is UTF-16"],
  ["a character that is cut off", Buffer.from("é").subarray(0, 1), "it is not UTF-8: line 1 has bytes"],
])("%s is refused by name, and never read as replacement characters", (_, bytes, why) => {
  expect(utf8Of(bytes)).toEqual({ ok: false, why: expect.stringContaining(why) });
});
