/** Arguments of a call come from the reply that proposed it, and from nowhere else. */
import { expect, test } from "vitest";
import { argsOf } from "../../src/core/calls/ledger.ts";
import { inline } from "../../src/core/message.ts";
import { stateAfter, callPart, textPart, EVENT } from "../support/states/states-and-events.ts";

const state = stateAfter(
  EVENT.started,
  EVENT.replied([textPart("I look."), callPart("search", { to: "LIS" }), callPart("compare", { by: "price" })]),
  ...[EVENT.resulted("c1", { to: "not these" }), EVENT.resulted("c2")],
  EVENT.replied([callPart("book", { seat: 3 })]),
);

test.each([
  ["c1", { to: "LIS" }],
  ["c2", { by: "price" }],
  ["c3", { seat: 3 }],
])("the arguments of %s", (call, args) => {
  expect(argsOf(state, call)).toEqual(inline(args));
});

test("refuses a call that no reply proposed as an internal error", () => {
  expect(() => argsOf(state, "c4")).toThrow("no reply proposed call c4");
});
