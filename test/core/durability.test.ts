/** Which commits wait for the disk (schedules 139 and 140): those before something leaves that no crash takes back. */
import { expect, test } from "vitest";
import { type Allowed, durableAt } from "../../src/core/policy/durability.ts";
import type { State } from "../../src/core/state.ts";
import { IN_PHASE, stateAfter, EVENT, callPart } from "../support/states/states-and-events.ts";
import { withDetached } from "../support/states/detached-events.ts";

const calm = IN_PHASE.AwaitingLLM();
const NOTHING: Allowed = { modelCalls: 0, release: false, isHandedOn: false };
const durable = (state: State, allowed: Partial<Allowed> = {}) => durableAt(state, { ...NOTHING, ...allowed });
const calling = (...effects: readonly ("keyed" | "none")[]): State =>
  stateAfter(
    EVENT.started,
    EVENT.replied(effects.map(() => callPart("book"))),
    ...effects.map((effect, index) => EVENT.intended(`c${index + 1}`, effect)),
  );

test("a commit waits before a call acts outside, also beside calls that do not", () => {
  expect(durable(calling("keyed"))).toBe("now");
  expect(durable(calling("none", "keyed"))).toBe("now");
  expect(durable(calling("none"))).toBe("later");
  // What is proposed and not intended has not begun.
  expect(durable(stateAfter(EVENT.started, EVENT.replied([callPart("book")])))).toBe("later");
});

test("a commit waits before a model is called, and while a request to it is out", () => {
  expect({ none: durable(calm), one: durable(calm, { modelCalls: 1 }), out: durable(withDetached(calm)) }).toEqual({
    none: "later",
    one: "now",
    out: "now",
  });
});

test("a commit waits that lets the run go, unless its next invocation is due at once", () => {
  expect(durable(calm, { release: true })).toBe("now");
  expect(durable(calm, { release: true, isHandedOn: true })).toBe("later");
  expect(durable(calm, { isHandedOn: true })).toBe("later");
});
