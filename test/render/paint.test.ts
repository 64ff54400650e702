/** The columns of tables and pairs. */
import { expect, test } from "vitest";
import { type Paint, pairs, plain, table } from "../../src/render/paint.ts";

test("a table aligns characters that take two columns of a terminal, or none", () => {
  const rows = [["日本語の注文", "1"] as const, ["\u{1f4a1} a lamp", "2"] as const, ["e\u0301te\u0301", "3"] as const];
  expect(table([{ title: "TITLE" }, { title: "N" }], rows, plain)).toEqual([
    "TITLE         N",
    "日本語の注文  1",
    "\u{1f4a1} a lamp     2",
    "e\u0301te\u0301           3",
  ]);
});

test("a table aligns painted cells by their visible width", () => {
  const loud: Paint = (_, text) => `<${text}>`;
  const rows = [[{ text: "ok", ink: "green" }, "1"] as const, ["failed", "10"] as const];
  expect(table([{ title: "S" }, { title: "N", align: "right" }], rows, loud)).toEqual([
    "<S>        <N>",
    "<ok>       1",
    "failed  10",
  ]);
  expect(
    pairs(
      [
        ["a", "1"],
        ["long", "2"],
      ],
      plain,
    ),
  ).toEqual(["a     1", "long  2"]);
});
