/** What the end of a run keeps for its redrive. */
import { describe, expect, test } from "vitest";
import { failedFrom } from "../../src/core/policy/infrastructure.ts";
import type { State } from "../../src/core/state.ts";
import { FAILURE, IN_PHASE } from "../support/states/states-and-events.ts";

const outage = { kind: "failed", failure: { code: "ModelUnavailable", message: "no model answered" } } as const;
const ending = (change: Partial<State> = {}): State => ({ ...IN_PHASE.ExecutingTools(), ending: outage, ...change });

describe("a run that infrastructure ended", () => {
  test("may go on in its phase, with the calls that had started", () => {
    expect(failedFrom(ending())).toEqual({ phase: "ExecutingTools", started: ["c3"] });
    expect(failedFrom(ending({ open: [] }))).toEqual({ phase: "ExecutingTools", started: [] });
  });

  test("goes on in the phase that it returns to, if it was paused", () => {
    expect(failedFrom(ending({ phase: "Paused", pausedFrom: "RetryingLLM" }))).toMatchObject({ phase: "RetryingLLM" });
  });
});

test("no other run goes on: it failed by itself, it was cancelled, its end is not decided, or its effects were undone", () => {
  expect(failedFrom(ending({ ending: { kind: "failed", failure: FAILURE } }))).toBeNull();
  expect(failedFrom(ending({ ending: { kind: "cancelled" } }))).toBeNull();
  expect(failedFrom(ending({ ending: null }))).toBeNull();
  expect(failedFrom(ending({ saga: {} as never }))).toBeNull();
});
