/** Arguments of a call come from the reply that proposed it, and from nowhere else. */
import { expect, test } from "vitest";
import { argsOf } from "../../src/core/calls/ledger.ts";
import { inline } from "../../src/core/message.ts";
import { after, calls, replied, resulted, says, startedEvent } from "../support/build.ts";

const state = after(
  startedEvent,
  replied([says("I look."), calls("search", { to: "LIS" }), calls("compare", { by: "price" })]),
  ...[resulted("c1", { to: "not these" }), resulted("c2")],
  replied([calls("book", { seat: 3 })]),
);

test.each([
  ["c1", { to: "LIS" }],
  ["c2", { by: "price" }],
  ["c3", { seat: 3 }],
])("the arguments of %s", (call, args) => {
  expect(argsOf(state, call)).toEqual(inline(args));
});

test("a call that no reply proposed is a mistake of ours", () => {
  expect(() => argsOf(state, "c4")).toThrow("no reply proposed call c4");
});
