/**
 * Walks that once broke a property, or that once did what no invocation does. Each is a shrunk counterexample: a list of
 * choices. A change of what a walk offers may take the purpose from one; what it must have met says so.
 */
import { expect, test } from "vitest";
import { newState } from "../support/states/states-and-events.ts";
import { type Choice, walk } from "../support/walks/random-walks.ts";

const go = (...picks: readonly number[]): readonly Choice[] => picks.map((pick) => ({ fate: "go", pick, size: 0 }));

/**
 * Found by seed `n2`, and drawn anew since: an invocation released calls, had no agent to run them and held the run. The
 * walk let that invocation carry out a cancel, too, and record that the calls never began. A real one releases the run with
 * the hold, and a cancel that it knows comes before it asks for its agent. To the next invocation, the calls are those of a
 * lost one.
 */
test("a cancel after a hold does not record that released calls never began", () => {
  const { strides } = walk(newState(), go(14, 6, 21, 6, 6, 6, 23, 21, 20, 2, 0, 16, 6, 12, 15, 23, 42));
  const held = strides.findIndex(({ outcome }) => outcome.state.phase === "AwaitingAgent");
  expect(strides[held]?.outcome.state.open.map(({ status }) => status)).toContain("started");
  const after = strides.slice(held + 1).map(({ event }) => event);
  expect(after).toMatchObject([{ kind: "RecoveryDecided", action: { kind: "cancel" } }]);
});
