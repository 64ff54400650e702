/** The table of mutants can be read, fits the checkout, and says clearly where it does not. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findProblems, parseTable, readMutants } from "./table.ts";

const FILE = "src/protocol/mutex-lease.ts";
const TEXT = " && turn.now < before.until";

const parsed = (...lines: readonly string[]) => parseTable([`# ${FILE}`, ...lines].join("\n"));

describe("the table", () => {
  test("fits the checkout: each old text is there once, each suite exists, each name is unique", () => {
    const mutants = readMutants();
    expect(mutants.length).toBeGreaterThanOrEqual(428);
    expect(findProblems(mutants)).toEqual([]);
  });

  test("has each file once, in the order of the paths", () => {
    const lines = readFileSync(join(import.meta.dirname, "mutants.txt"), "utf8").split("\n");
    const headings = lines.filter((line) => line.startsWith("# "));
    expect(headings).toEqual([...new Set(headings)].toSorted());
  });
});

describe("the parser", () => {
  test("reads each kind of suite", () => {
    const heads = [
      "schedule 46: a",
      "b [schedule 7]",
      "c [40 seeds]",
      "d [test/x.test.ts]",
      'e [test/x.test.ts "f g"]',
    ];
    expect(
      parsed(...heads.flatMap((head) => [head, "  - x"])).map(({ name, killedBy }) => ({ name, killedBy })),
    ).toEqual([
      { name: "schedule 46: a", killedBy: { kind: "schedule", row: 46 } },
      { name: "b", killedBy: { kind: "schedule", row: 7 } },
      { name: "c", killedBy: { kind: "simulation", seeds: 40 } },
      { name: "d", killedBy: { kind: "tests", file: "test/x.test.ts" } },
      { name: "e", killedBy: { kind: "tests", file: "test/x.test.ts", test: "f g" } },
    ]);
  });

  test("keeps every space and line of a text, and separates changes", () => {
    const lines = [
      "a [1 seeds]",
      "  -   if (x) {",
      "  -",
      "  -     f();␠",
      "  + y",
      "  - z",
      "  @ src/b.ts",
      "  - b",
      "  +",
    ];
    expect(parsed("// a comment", "", ...lines)).toEqual([
      {
        name: "a",
        killedBy: { kind: "simulation", seeds: 1 },
        at: "mutants.txt:4",
        changes: [
          { file: FILE, from: "  if (x) {\n\n    f(); ", to: "y" },
          { file: FILE, from: "z", to: "" },
          { file: "src/b.ts", from: "b", to: "" },
        ],
      },
    ]);
  });

  test("returns to the file of the heading for the next mutant", () => {
    const [, second] = parsed("a [1 seeds]", "  @ src/b.ts", "  - b", "c [1 seeds]", "  - d");
    expect(second?.changes).toEqual([{ file: FILE, from: "d", to: "" }]);
  });

  test.each([
    [["a rule"], 'mutants.txt:2: end "a rule" with what must notice it'],
    [["a rule [test/x.ts]"], "mutants.txt:2: end"],
    [["a [1 seeds]", "  * x"], "mutants.txt:3: begin a line with a name"],
    [["a [1 seeds]", "- x"], "mutants.txt:3: begin a line with a name"],
    [["a [1 seeds]", "  -x"], "mutants.txt:3: begin a line with a name"],
    [["  - x"], "mutants.txt:2: a change stands below the name of its mutant"],
    [["a [1 seeds]", "  + x"], "mutants.txt:3: new text (+) replaces old text (-)"],
    [["a [1 seeds]", "  - x", "  @ src/b.ts", "  + x"], "mutants.txt:5: new text (+) replaces old text (-)"],
    [["a [1 seeds]", "", "b [1 seeds]", "  - x"], 'mutants.txt:2: "a" changes nothing'],
  ])("refuses %j with the number of the line", (lines, why) => {
    expect(() => parsed(...lines)).toThrow(why);
  });

  test("refuses a change without a file", () => {
    expect(() => parseTable("a [1 seeds]\n  - x")).toThrow("mutants.txt:2: a change needs a file");
  });
});

describe("a problem is named with its line", () => {
  test.each([
    [["schedule 46: a", "  - no such text"], `"schedule 46: a": ${FILE} must have this text once, and has it 0 times`],
    [["schedule 46: a", "  - before"], `${FILE} must have this text once, and has it`],
    [["schedule 46: a", `  - ${TEXT}`, `  + ${TEXT}`], "the old and the new text are the same"],
    [["schedule 46: a", "  -"], `${FILE} must have this text once, and has it 0 times`],
    [["schedule 46: a", "  @ src/absent.ts", "  - x"], "there is no file src/absent.ts"],
    [["a [test/absent.test.ts]", `  - ${TEXT}`], "there is no test file test/absent.test.ts"],
    [['a [test/tidy.test.ts "no such title"]', `  - ${TEXT}`], 'test/tidy.test.ts has no title with "no such title"'],
    [["schedule 9999: a", `  - ${TEXT}`], "no test in test/schedules plays schedule 9999"],
  ])("%j", (lines, why) => {
    expect(findProblems(parsed(...lines))).toEqual([expect.stringContaining(why)]);
    expect(findProblems(parsed(...lines))[0]).toMatch(/^mutants\.txt:2: "/);
  });

  test("a name that two mutants have", () => {
    const lines = ["schedule 46: a", `  - ${TEXT}`];
    expect(findProblems(parsed(...lines, ...lines))).toEqual([
      'mutants.txt:4: "schedule 46: a": another mutant has the same name',
    ]);
  });
});
