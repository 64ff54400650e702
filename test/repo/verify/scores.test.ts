/** What refuses a change, what is played once more, and what counts: by the scores of steps. */
import { expect, test } from "vitest";
import type { Failure } from "../../../scripts/verify/failures.ts";
import { type Score, type Step, scoreOf } from "../../../scripts/verify/play.ts";
import { UNSTABLE_MAX, playAgain, settleLate } from "../../../scripts/verify/second-try.ts";

const late: Failure = { kind: "late", test: "stops", said: "Error: Test timed out in 5ms." };
const doubled: Failure = { kind: "safety", test: "pays once", said: "SafetyViolation: it happened 2 times, not 1" };
const env = { CAIRN_SEED: "7" };
const played = { name: "fast tests", config: "vitest.config.ts", env };

test("plays a file again that only came late, and refuses what is about safety or outside of any test", () => {
  const files = [
    { file: "test/a.test.ts", failures: [late] },
    { file: "test/b.test.ts", failures: [late, doubled] },
  ];
  const score = scoreOf({
    ...played,
    status: 1,
    report: { passed: 7, files, slowest: [], unhandled: [{ ...late, test: "" }] },
  });
  expect(score.late).toEqual([{ config: "vitest.config.ts", env, ...files[0] }]);
  expect(score).toMatchObject({ passed: 7, failed: 3 });
  expect(score.refusals).toEqual([
    "test/b.test.ts: stops: Error: Test timed out in 5ms.",
    "test/b.test.ts: SAFETY pays once: SafetyViolation: it happened 2 times, not 1",
    "fast tests: outside of any test: outside of its tests: Error: Test timed out in 5ms.",
  ]);
});

test.each([
  ["no report", 1, null, /vitest wrote no report, exit 1/],
  ["no test", 0, { passed: 0, files: [], slowest: [], unhandled: [] }, /no test ran/],
  [
    "a set-up that fails",
    1,
    { passed: 0, files: [], slowest: [], unhandled: [] },
    /ended with exit 1 and no failed test/,
  ],
])("refuses a step with %s", (_, status, report, said) => {
  const score = scoreOf({ ...played, status, report });
  expect(score.failed).toBe(1);
  expect(score.refusals).toEqual([expect.stringMatching(said)]);
});

const PASSED: Score = { passed: 3, failed: 0, refusals: [], late: [], notes: [] };
const lateFile = { config: "vitest.config.ts", env, file: "test/a.test.ts", failures: [late] };

async function again(second: Score) {
  const steps: Step[] = [];
  const result = await playAgain([lateFile], (step) => {
    steps.push(step);
    return Promise.resolve(second);
  });
  return { steps, ...result };
}

test("plays a late file alone with the variables of its step, and calls it unstable with its first failure if it passes then", async () => {
  const { steps, scores, unstable } = await again(PASSED);
  expect(steps).toMatchObject([
    { work: { kind: "tests", config: "vitest.config.ts", words: ["test/a.test.ts", "--maxWorkers=1"] }, env },
  ]);
  expect(unstable).toEqual(["test/a.test.ts: stops: Error: Test timed out in 5ms."]);
  expect(scores).toEqual([PASSED]);
});

test.each([
  ["comes late again", { ...PASSED, late: [lateFile] }, /^test\/a\.test\.ts: stops: late twice: /],
  ["fails by an assertion", { ...PASSED, failed: 1, refusals: ["test/a.test.ts: wrong"] }, /wrong/],
])("refuses a late file that %s", async (_, second, said) => {
  const { scores, unstable } = await again(second);
  expect(unstable).toEqual([]);
  expect(scores).toEqual([expect.objectContaining({ failed: 1, late: [], refusals: [expect.stringMatching(said)] })]);
});

test("plays no file again where more came late than may be unstable, and refuses them with their first failures", async () => {
  const files = Array.from({ length: UNSTABLE_MAX + 1 }, (_, index) => ({
    ...lateFile,
    file: `test/${index}.test.ts`,
  }));
  const { scores, unstable } = await settleLate(files, () => expect.unreachable("it is played again"));
  expect(unstable).toEqual([]);
  expect(scores).toMatchObject([{ passed: 0, failed: UNSTABLE_MAX + 1 }]);
  expect(scores[0]?.refusals).toHaveLength(UNSTABLE_MAX + 2);
  expect(scores[0]?.refusals[1]).toContain("test/0.test.ts: stops: Error: Test timed out in 5ms.");
});
