/** Which failures of a test file may come from a slow machine. */
import { expect, test } from "vitest";
import { type Failure, fateOf, kindOfFailure } from "../../../scripts/verify/failures.ts";

const poll = { name: "Error", message: "Matcher did not succeed in time." };
const wrong = { name: "AssertionError", message: "expected 2 to be 1" };

test.each([
  ["a timeout of a test", { name: "Error", message: "Test timed out in 5000ms.\nIf this is a long-running test" }],
  ["a timeout of a hook", { name: "Error", message: "Hook timed out in 5000ms." }],
  ["a poll that expired", { ...wrong, cause: poll }],
  ["vi.waitFor without any error", { name: "Error", message: "Timed out in waitFor!" }],
  ["an event that did not come", { name: "MissingEvent", message: "after 60000 ms it is still not so" }],
  ["a timeout of a signal or of a page", { name: "TimeoutError", message: "page.click: Timeout 30000ms exceeded." }],
  ["a worker that did not answer", { name: "Error", message: '[vitest-worker]: Timeout calling "onTaskUpdate"' }],
  ["a cause that came late", { name: "Error", message: "the run is lost", cause: { name: "MissingEvent" } }],
])("takes %s for late", (_, error) => {
  expect(kindOfFailure(error)).toBe("late");
});

test.each([
  ["an assertion", wrong],
  ["an error that only speaks of a timeout", { name: "AssertionError", message: "expected 'Test timed out in 5ms'" }],
  ["an error without a name or message", {}],
  ["a cause that is no error", { ...wrong, cause: "Matcher did not succeed in time." }],
])("takes %s for wrong", (_, error) => {
  expect(kindOfFailure(error)).toBe("wrong");
});

test("takes a statement about safety for nothing else, also within a poll that expired", () => {
  const violation = { name: "SafetyViolation", message: "the refund happened 2 times, not 1" };
  expect(kindOfFailure(violation)).toBe("safety");
  expect(kindOfFailure({ ...violation, cause: poll })).toBe("safety");
  expect(kindOfFailure({ ...poll, cause: violation })).toBe("safety");
});

test("ends with a circle of causes", () => {
  const error: { name: string; message: string; cause?: unknown } = { ...wrong };
  error.cause = error;
  expect(kindOfFailure(error)).toBe("wrong");
});

test("plays a file again only if all of its failures came late", () => {
  const failure = (kind: Failure["kind"]): Failure => ({ kind, test: "t", said: "" });
  expect(fateOf([])).toBe("passed");
  expect(fateOf([failure("late"), failure("late")])).toBe("again");
  expect(fateOf([failure("late"), failure("wrong")])).toBe("refused");
  expect(fateOf([failure("late"), failure("safety")])).toBe("refused");
});
