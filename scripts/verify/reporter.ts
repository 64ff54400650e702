/**
 * A reporter of vitest that writes what `scripts/verify.ts` has to know to the file that the environment variable
 * `CAIRN_VERIFY_REPORT` names: how many tests passed, and each failure by file and kind. Vitest's own JSON report has
 * neither the names of errors nor their causes.
 */
import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { SerializedError, TestModule, Reporter } from "vitest/node";
import { type Failure, kindOfFailure } from "./failures.ts";

/** The environment variable with the path of the report. */
export const REPORT_VARIABLE = "CAIRN_VERIFY_REPORT";

export interface TestReport {
  readonly passed: number;
  readonly files: readonly { readonly file: string; readonly failures: readonly Failure[] }[];
  /** The files that took longest, each with its seconds. */
  readonly slowest: readonly string[];
  /** Errors outside of any test. They belong to no file for certain, so they always refuse. */
  readonly unhandled: readonly Failure[];
}

const MESSAGE_LENGTH_MAX = 300;

const failureOf = (test: string, error: SerializedError): Failure => {
  const message = error.message ?? "";
  const said = `${error.name ?? "Error"}: ${message.split("\n")[0] ?? ""}`.slice(0, MESSAGE_LENGTH_MAX);
  return { kind: kindOfFailure(error), test, said };
};

const failuresIn = (module: TestModule): readonly Failure[] => {
  const outside = [module, ...module.children.allSuites()].flatMap((each) => each.errors());
  const inTests = [...module.children.allTests()].flatMap((each) =>
    each.result().state === "failed"
      ? (each.result().errors ?? []).map((error) => [each.fullName, error] as const)
      : [],
  );
  return [...outside.map((error) => failureOf("", error)), ...inTests.map(([name, error]) => failureOf(name, error))];
};

const passedIn = (module: TestModule): number =>
  [...module.children.allTests()].filter((each) => each.result().state === "passed").length;

const [SLOWEST_MAX, SLOW_MS, SECOND_MS] = [12, 5_000, 1_000];

const slowestOf = (modules: readonly TestModule[]): readonly string[] =>
  modules
    .map((module) => ({ file: relative(process.cwd(), module.moduleId), ms: module.diagnostic().duration }))
    .filter(({ ms }) => ms >= SLOW_MS)
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, SLOWEST_MAX)
    .map(({ file, ms }) => `${file} ${(ms / SECOND_MS).toFixed(0)} s`);

export default class VerifyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const path = process.env[REPORT_VARIABLE];
    if (path === undefined) throw new Error(`${REPORT_VARIABLE} must name the file of the report`);
    const report: TestReport = {
      passed: modules.reduce((sum, module) => sum + passedIn(module), 0),
      files: modules
        .map((module) => ({ file: relative(process.cwd(), module.moduleId), failures: failuresIn(module) }))
        .filter(({ failures }) => failures.length > 0),
      slowest: slowestOf(modules),
      unhandled: unhandled.map((error) => failureOf("", error)),
    };
    writeFileSync(path, JSON.stringify(report));
  }
}
