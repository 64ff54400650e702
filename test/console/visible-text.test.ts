/** What a human reads of the text of a model or a tool, without a browser. */
import { expect, test } from "vitest";
import { jsonLine, jsonText, visibleText } from "../../src/console/model/visible-text.ts";

const REVERSED = "pay \u202e001\u202c";

test("shows characters that are invisible or reverse the text, and keeps its lines", () => {
  expect(visibleText(`${REVERSED}\r\n\u001b[31mred\n\tהלו`)).toBe("pay \\u202e001\\u202c\n\\u001b[31mred\n\tהלו");
});

test("JSON that is read and edited means what was given", () => {
  const args = { to: REVERSED, note: "one\ntwo" };
  expect(jsonText(args)).toContain(String.raw`pay \u202e001\u202c`);
  expect(JSON.parse(jsonText(args))).toEqual(args);
});

test("JSON on one line breaks between its parts and nowhere in a text of it", () => {
  const args = { order: "A 1", steps: ["a\n b", "[ c"], none: [], deep: { x: 1 } };
  expect(jsonLine(args)).toBe(String.raw`{"order": "A 1", "steps": ["a\n b", "[ c"], "none": [], "deep": {"x": 1}}`);
  expect(JSON.parse(jsonLine(args))).toEqual(args);
  expect(jsonLine("a text")).toBe("a text");
});
