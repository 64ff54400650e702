/** Each row of `docs/races.md` has one test that plays it and a mutant that this test kills: none can drift away. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readMutants } from "../mutation/table.ts";

const ROOT = join(import.meta.dirname, "../..");
const mutants = readMutants();
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

interface Played {
  readonly row: number;
  readonly file: string;
}

const rows: readonly Played[] = [...read("docs/races.md").matchAll(/^\| (\d+) \|.*\| (\S+) \|$/gm)].map(
  ([, row, file]) => ({ row: Number(row), file: String(file) }),
);

const tests: readonly Played[] = readdirSync(join(ROOT, "test/schedules")).flatMap((name) =>
  [...read(`test/schedules/${name}`).matchAll(/^test\("schedule (\d+): /gm)].map(([, row]) => ({
    row: Number(row),
    file: name.replace(".test.ts", ""),
  })),
);

const byRow = (played: readonly Played[]): readonly Played[] =>
  played.toSorted((one, other) => one.row - other.row || one.file.localeCompare(other.file));

test("docs/races.md has each number once, in order", () => {
  expect(rows.length).toBeGreaterThanOrEqual(47);
  const numbers = rows.map(({ row }) => row);
  expect(numbers).toEqual([...new Set(numbers)].toSorted((one, other) => one - other));
});

test("each schedule has exactly one test, in the file that it names", () => {
  expect(byRow(tests)).toEqual(rows);
});

test("no other test in test/schedules begins with a schedule number", () => {
  for (const name of readdirSync(join(ROOT, "test/schedules"))) {
    const source = read(`test/schedules/${name}`);
    expect({ name, tests: source.match(/^\s*(test|it)(\.each)?\(/gm)?.length }).toEqual({
      name,
      tests: tests.filter(({ file }) => `${file}.test.ts` === name).length,
    });
  }
});

test("each schedule has a mutant that its own test kills", () => {
  const switchedOff = mutants.flatMap(({ name, killedBy }) => {
    const row = Number(/^schedule (\d+): /.exec(name)?.[1]);
    return killedBy.kind === "schedule" && killedBy.row === row ? [row] : [];
  });
  expect([...new Set(switchedOff)].toSorted((one, other) => one - other)).toEqual(rows.map(({ row }) => row));
});

test("the mistakes that the proof names are among the mutants", () => {
  const named = [
    ...["no epoch condition", "last writer wins", "lease time as fence", "act before intent", "pointer before payload"],
    ...[
      "park without the wake-up counter",
      "unsafe call repeated",
      "budget outside the commit",
      "approval without hash",
    ],
    "fresh key on retry",
  ];
  expect(mutants.map(({ name }) => name)).toEqual(expect.arrayContaining(named));
});
