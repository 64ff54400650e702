/** What a human reads of the text of a model or a tool, without a browser. */
import { expect, test } from "vitest";
import { jsonText, visibleText } from "../../src/console/model/visible-text.ts";

const REVERSED = "pay \u202e001\u202c";

test("shows characters that are invisible or reverse the text, and keeps its lines", () => {
  expect(visibleText(`${REVERSED}\r\n\u001b[31mred\n\tהלו`)).toBe("pay \\u202e001\\u202c\n\\u001b[31mred\n\tהלו");
});

test("JSON that is read and edited means what was given", () => {
  const args = { to: REVERSED, note: "one\ntwo" };
  expect(jsonText(args)).toContain(String.raw`pay \u202e001\u202c`);
  expect(JSON.parse(jsonText(args))).toEqual(args);
});
