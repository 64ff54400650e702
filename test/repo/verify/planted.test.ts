/**
 * Every planted fault of `test/mutation/mutants.txt` stands for a change of its file: what finds the fault is among the
 * steps that `verify` plays for that change. A row without such a fault names what would find one.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type OptionalStep, TABLE, stepsFor } from "../../../scripts/verify/paths.ts";
import { type Suite, readMutants } from "../../mutation/table.ts";

const ROOT = join(import.meta.dirname, "../../..");

/** The step that plays a test file; null: one that is always played. */
const STEPS: readonly (readonly [path: string, step: OptionalStep])[] = [
  ["test/slow/crash/", "crash"],
  ["test/slow/package/", "package"],
  ["test/slow/mutants/", "mutation"],
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

/** What finds a fault in the files of a row for which the table of mutants has none. */
const SEEN_BY: Readonly<Record<string, string>> = {
  "API document": "scripts/contract.ts",
  "chat template": "test/browser/chat-template.test.ts",
  templates: "test/slow/package/package.test.ts",
  "example agents": "test/slow/process/chaos.test.ts",
  "crash enumeration": "test/slow/crash/crash.test.ts",
  "package tests": "test/slow/package/package.test.ts",
  "runner of mutants": "test/slow/mutants/mutants.test.ts",
  "process tests": "test/slow/process/kill-edges.test.ts",
  simulation: "scripts/sim.ts",
  "browser tests": "test/browser/console.test.ts",
  "tests on LocalStack": "test/localstack/waiting.test.ts",
  "infra tests": "test/deployment/policies.test.ts",
  benchmarks: "bench/main.ts",
  "helpers of the AWS tests": "test/deployment/policies.test.ts",
  "helpers of process tests": "test/slow/process/cli-purge.test.ts",
  "helpers of effects": "test/browser/console-site.test.ts",
  "helpers of the kernel's tests": "test/slow/crash/crash.test.ts",
  contract: "scripts/contract.ts",
  packing: "test/slow/package/package.test.ts",
  site: "scripts/docs.ts",
  Chromium: "test/browser/console.test.ts",
  cost: "scripts/cost.ts",
};

/** The programs that are steps of their own. */
const PROGRAMS: Readonly<Record<string, OptionalStep>> = {
  "scripts/contract.ts": "contract",
  "scripts/sim.ts": "simulation",
  "scripts/cost.ts": "benchmarks",
  "bench/main.ts": "benchmarks",
  "scripts/docs.ts": "site",
};

test("each row that asks for a step has a planted fault, or names what would find one in such a step", () => {
  const files = readMutants().flatMap(({ changes }) => changes.map(({ file }) => file));
  const isPlanted = (paths: readonly string[]): boolean =>
    files.some((file) => paths.some((path) => file.startsWith(path)));
  const rows = TABLE.filter(({ paths, steps }) => steps !== "everything" && steps.length > 0 && !isPlanted(paths));
  expect(rows.map(({ name }) => name)).toEqual(Object.keys(SEEN_BY));
  for (const { name, steps } of rows) {
    const file = SEEN_BY[name] ?? "";
    const step = PROGRAMS[file] ?? stepOf({ kind: "tests", file });
    expect({ name, isThere: existsSync(join(ROOT, file)) }).toEqual({ name, isThere: true });
    expect({ name, steps }).toEqual({ name, steps: expect.arrayContaining([step]) });
  }
});

test.each(STEPS)("a fault in %s is played by the step %s", (path, step) => {
  expect([...stepsFor([`${path}x.test.ts`]).steps.keys()]).toContain(step);
});
