/** What the reporter of `npm run verify` writes about real failures of vitest, in a project of its own. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { REPORT_VARIABLE, type TestReport } from "../../../scripts/verify/reporter.ts";
import { scoreOf } from "../../../scripts/verify/play.ts";

const ROOT = join(import.meta.dirname, "../../..");

/** Plays these test files, each by its name without `.test.ts`, and returns the report. */
function play(files: Readonly<Record<string, string>>): TestReport {
  const dir = mkdtempSync(join(tmpdir(), "cairn-reporter-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  symlinkSync(join(ROOT, "node_modules"), join(dir, "node_modules"));
  writeFileSync(join(dir, "vitest.config.mjs"), "export default { test: { testTimeout: 500, hookTimeout: 500 } };\n");
  for (const [name, text] of Object.entries(files)) {
    const imports = `import { beforeAll, expect, test } from "vitest";
import { SafetyViolation, MissingEvent, waitForCount } from "${join(ROOT, "test/support/gate/safety.ts")}";
`;
    writeFileSync(join(dir, `${name}.test.ts`), imports + text);
  }
  const report = join(dir, "report.json");
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("VITEST"));
  const words = ["run", "--root", dir, `--reporter=${join(ROOT, "scripts/verify/reporter.ts")}`];
  spawnSync(process.execPath, [join(ROOT, "node_modules/vitest/vitest.mjs"), ...words], {
    cwd: dir,
    env: { ...Object.fromEntries(inherited), [REPORT_VARIABLE]: report },
  });
  return JSON.parse(readFileSync(report, "utf8")) as TestReport;
}

const kindsIn = ({ files }: TestReport) =>
  Object.fromEntries(
    files.map(({ file, failures }) => [file.replace(".test.ts", ""), failures.map(({ kind }) => kind)]),
  );

test("tells what came late from what is wrong, by the errors that vitest really makes", () => {
  const report = play({
    passes: `test("passes", () => {});`,
    "times-out": `test("never", () => new Promise(() => {}));`,
    hook: `beforeAll(() => new Promise(() => {})); test("after it", () => {});`,
    poll: `test("polls", () => expect.poll(() => 1, { timeout: 50 }).toBe(2));`,
    missing: `test("waits", () => { throw new MissingEvent("no line"); });`,
    signal: `test("waits", async () => { await new Promise((_, reject) => { const s = AbortSignal.timeout(5); s.addEventListener("abort", () => reject(s.reason)); }); });`,
    assertion: `test("asserts", () => expect(1).toBe(2));`,
    "does-not-load": `throw new Error("no such agent");`,
    counted: `test("counts", () => waitForCount("the refund", 1, () => 2));`,
    "polled-violation": `test("polls", () => expect.poll(() => { throw new SafetyViolation("two rows"); }, { timeout: 50 }).toBe(1));`,
    unhandled: `test("leaks", async () => { void Promise.reject(new Error("lost")); await new Promise((r) => setTimeout(r, 20)); });`,
  });
  expect(kindsIn(report)).toEqual({
    "times-out": ["late"],
    hook: ["late"],
    poll: ["late"],
    missing: ["late"],
    signal: ["late"],
    assertion: ["wrong"],
    "does-not-load": ["wrong"],
    counted: ["safety"],
    "polled-violation": ["safety"],
  });
  expect(report.unhandled.map(({ kind, said }) => ({ kind, said }))).toEqual([{ kind: "wrong", said: "Error: lost" }]);
  expect(report.passed).toBe(2);
});

test("refuses a race that doubles an effect in one of three tries, whatever the other tries say", () => {
  const race = (attempt: number): string => `
    test("refunds once", async () => {
      const refunds = ["r1"];
      // The planted race: the second of three tries sends the refund again after the test has seen the first one.
      if (${attempt} === 2) setTimeout(() => refunds.push("r1"), 5);
      await waitForCount("the refund", 1, () => refunds.length);
      await new Promise((resolve) => setTimeout(resolve, 50));
      await waitForCount("the refund", 1, () => refunds.length);
    });`;
  const scores = [1, 2, 3].map((attempt) => {
    const report = play({ refund: race(attempt) });
    return scoreOf({ name: "planted", config: "", status: report.files.length > 0 ? 1 : 0, report });
  });
  expect(scores.map(({ failed, late }) => ({ failed, late: late.length }))).toEqual([
    { failed: 0, late: 0 },
    { failed: 1, late: 0 },
    { failed: 0, late: 0 },
  ]);
  expect(scores[1]?.refusals).toEqual([
    expect.stringMatching(/^refund\.test\.ts: SAFETY refunds once: SafetyViolation/),
  ]);
});
