/**
 * Every planted fault of `test/mutation/mutants.txt` stands for a change of its file: what finds the fault is among the
 * steps that `verify` plays for that change.
 */
import { expect, test } from "vitest";
import { type OptionalStep, TABLE, stepsFor } from "../../../scripts/verify/paths.ts";
import { type Suite, readMutants } from "../../mutation/table.ts";

/** The step that plays a test file; null: one that is always played. */
const STEPS: readonly (readonly [path: string, step: OptionalStep])[] = [
  ["test/slow/crash/", "crash"],
  ["test/slow/package/", "package"],
  ["test/slow/", "processes"],
  ["test/browser/", "browser"],
  ["test/localstack/", "localstack"],
  ["test/deployment/", "infra"],
];

function stepOf(suite: Suite): OptionalStep | null {
  if (suite.kind === "simulation") return "simulation";
  if (suite.kind === "schedule") return null;
  return STEPS.find(([path]) => suite.file.startsWith(path))?.[1] ?? null;
}

test("what finds a planted fault is played for a change of its file", () => {
  const missed = readMutants().flatMap(({ name, changes, killedBy }) => {
    const step = stepOf(killedBy);
    if (step === null) return [];
    return changes
      .filter(({ file }) => !stepsFor([file]).steps.has(step))
      .map(({ file }) => `${file}: ${step}: ${name}`);
  });
  expect(missed).toEqual([]);
});

test("each row of the sources has a planted fault", () => {
  const files = readMutants().flatMap(({ changes }) => changes.map(({ file }) => file));
  const isPlanted = (paths: readonly string[]): boolean =>
    files.some((file) => paths.some((path) => file.startsWith(path)));
  const rows = TABLE.filter(({ paths }) => paths.some((path) => /^(src|functions|infra)\//.test(path)));
  expect(rows.length).toBeGreaterThan(15);
  expect(rows.filter(({ paths }) => !isPlanted(paths)).map(({ name }) => name)).toEqual([]);
});

test.each(STEPS)("a fault in %s is played by the step %s", (path, step) => {
  expect([...stepsFor([`${path}x.test.ts`]).steps.keys()]).toContain(step);
});
