/** Which ends a redrive may take back: the transition refuses all others, whatever the operation checked before. */
import { expect, test } from "vitest";
import { applyRedrive } from "../../src/core/policy/redrive.ts";
import { foldAll } from "../../src/core/transition.ts";
import { FAILURE, IN_PHASE, redriven as event, unavailable } from "../support/build.ts";

test("takes back an end that infrastructure caused", () => {
  const ended = foldAll(IN_PHASE.AwaitingLLM(), unavailable("AwaitingLLM"));
  expect(applyRedrive(ended, event)).toMatchObject({ phase: "AwaitingLLM", failure: null, redriven: { times: 1 } });
});

test("refuses an end of another kind, one that compensation followed, and one that older code wrote", () => {
  const ended = foldAll(IN_PHASE.AwaitingLLM(), unavailable("AwaitingLLM"));
  const { failedFrom: _, ...older } = ended;
  const own = { ...ended, failure: FAILURE };
  for (const state of [own, { ...ended, saga: { left: [] } }, older]) {
    expect(() => applyRedrive(state as never, event)).toThrow(/no way out/);
  }
});
