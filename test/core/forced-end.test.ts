/** An end that is forced: what it decides, and which children it waits for no longer. */
import { describe, expect, test } from "vitest";
import { type Trouble, decideRecovery, forceEnd } from "../../src/core/policy/recovery.ts";
import type { State } from "../../src/core/state.ts";
import { AT, FAILURE, IN_PHASE } from "../support/states/states-and-events.ts";

const state = (change: Partial<State> = {}): State => ({ ...IN_PHASE.AwaitingLLM(), ...change });
const deaths: Trouble = { kind: "deaths", failure: FAILURE };

describe("an end that is forced", () => {
  const ending = { kind: "failed", failure: FAILURE, next: "leave" } as const;
  const children = IN_PHASE.AwaitingChildren().children;

  test("is decided like any trouble where no end is decided, or where something is still to be undone", () => {
    expect(forceEnd(state(), deaths, AT)).toEqual(decideRecovery(state(), deaths, AT));
    const undoing = state({ ending: { kind: "failed", failure: FAILURE }, undo: [{ call: "c1" }] as never, children });
    expect(forceEnd(undoing, deaths, AT)).toEqual(decideRecovery(undoing, deaths, AT));
  });

  test("stays what it is where it waits for children alone, and waits no longer", () => {
    expect(children.length).toBeGreaterThan(0);
    expect(forceEnd(state({ ending, children }), deaths, AT)).toEqual({
      kind: "RecoveryDecided",
      at: AT,
      rule: "end waits for no child any longer",
      why: `${FAILURE.code}: ${FAILURE.message}`,
      action: { kind: "force" },
    });
  });

  test("needs nothing where it waits for nobody", () => {
    expect(forceEnd(state({ ending, children: [] }), deaths, AT)).toBeNull();
  });
});
