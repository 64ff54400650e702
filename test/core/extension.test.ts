/** The open gates of a run: those of its calls, and that of its budget. */
import { expect, test } from "vitest";
import { openGatesIn } from "../../src/core/policy/extension.ts";
import { EVENT, IN_PHASE, stateAfter, withCalls } from "../support/states/states-and-events.ts";

test("are those of calls and that of the budget, and nothing for a call without one", () => {
  expect(openGatesIn(withCalls()).map(({ gate }) => gate)).toEqual(["gate-c5"]);
  const asking = stateAfter(EVENT.started, EVENT.budgetRequested());
  expect(openGatesIn(asking).map(({ gate }) => gate)).toEqual(["budget-1"]);
  expect(openGatesIn(IN_PHASE.AwaitingLLM())).toEqual([]);
});
