/** Which ends a redrive may take back: the transition refuses all others, whatever the operation checked before. */
import { foldAll } from "../../../src/features/compose.ts";
import { expect, test } from "vitest";
import { applyRedrive } from "../../../src/features/redrive/core.ts";
import { FAILURE, IN_PHASE, EVENT } from "../../support/states/states-and-events.ts";

test("reverses an end that infrastructure caused", () => {
  const ended = foldAll(IN_PHASE.AwaitingLLM(), EVENT.modelUnavailable("AwaitingLLM"));
  expect(applyRedrive(ended, EVENT.redriven)).toMatchObject({
    phase: "AwaitingLLM",
    failure: null,
    redriven: { times: 1 },
  });
});

test("refuses to reverse an end of another kind, after compensation, or recorded by older code", () => {
  const ended = foldAll(IN_PHASE.AwaitingLLM(), EVENT.modelUnavailable("AwaitingLLM"));
  const { failedFrom: _, ...older } = ended;
  const own = { ...ended, failure: FAILURE };
  for (const state of [own, { ...ended, saga: { leftInPlace: [] } }, older]) {
    expect(() => applyRedrive(state as never, EVENT.redriven)).toThrow(/no way out/);
  }
});
