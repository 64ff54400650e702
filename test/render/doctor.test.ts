/** What the doctor prints for people. */
import { expect, test } from "vitest";
import { plain } from "../../src/render/paint.ts";
import { renderExamined } from "../../src/render/doctor.ts";
import { fail, needing, ok, unknown, warn } from "../../src/ports/diagnosis.ts";

test("prints one line per check with its mark, the remedy below it, and counts at the end", () => {
  const checks = [
    { id: "a", says: "", ...ok("fine") },
    { id: "longer", says: "", ...warn("odd", "npx cairn work") },
    { id: "b", says: "", ...fail("broken", "deploy again") },
    { id: "c", says: "", ...unknown("nobody may look", "allow it") },
    { id: "d", says: "", ...needing("b") },
  ];
  const text = renderExamined(
    { cairn: "1.2.3", world: "aws", production: false, ok: false, checks, hints: ["not looked at: x"] },
    plain,
  );
  expect(text.split("\n")).toEqual([
    "✔ a       fine",
    "! longer  odd",
    "          → npx cairn work",
    "✖ b       broken",
    "          → deploy again",
    "? c       nobody may look",
    "          → allow it",
    "? d       needs b",
    "",
    "not looked at: x",
    "",
    "1 ok, 1 warning, 1 failed, 2 unknown  (cairn 1.2.3, world aws)",
  ]);
});

test("prints no remedy when all checks pass", () => {
  const checks = [{ id: "a", says: "", ...ok("fine") }];
  expect(
    renderExamined({ cairn: "1.2.3", world: "local", production: false, ok: true, checks, hints: [] }, plain),
  ).toBe("✔ a  fine\n\n1 ok  (cairn 1.2.3, world local)");
});
