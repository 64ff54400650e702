/** States of versions before child runs are read: they held the IDs of children alone. */
import { expect, test } from "vitest";
import { child, childReport } from "../../src/codec/schema/child.ts";
import { bareChild } from "../../src/core/calls/children.ts";
import { reported } from "../support/states/child-events.ts";

test("a child that was stored by its ID alone is an entry without a call, which exists and reserves nothing", () => {
  const entry = child.parse("local-child");
  expect(entry).toEqual(bareChild("local-child"));
  expect(entry).toMatchObject({ id: "local-child", made: true, grant: {}, deadline: null, superseded: false });
  expect(child.parse(entry)).toEqual(entry);
});

test("a report without a cost is read", () => {
  const event = reported("c1");
  if (event.kind !== "MessageAbsorbed" || event.stage !== "taken" || event.body.kind !== "child")
    throw new Error("none");
  const { spent: _, ...old } = event.body;
  expect(childReport.parse(old)).toEqual(old);
});
