/** Who may make a child, and what a second copy of its creation finds (rule C2). */
import { describe, expect, test } from "vitest";
import { decideChild, mayMakeChildren } from "../../src/protocol/row-children.ts";
import { newRow } from "../../src/protocol/row.ts";
import { AT, row } from "../support/states/states-and-events.ts";

const creation = { ...row(), now: AT };
const found = row({ epoch: 3 });

test("only the epoch that holds the parent may make children, and only before the parent's end", () => {
  const parent = row({ epoch: 3 });
  expect(mayMakeChildren(parent, { epoch: 3 })).toBe(true);
  expect(mayMakeChildren(parent, { epoch: 2 })).toBe(false);
  expect(mayMakeChildren({ ...parent, status: "failed" }, { epoch: 3 })).toBe(false);
});

describe("the creation of a child", () => {
  test("makes its row, and finds it the second time", () => {
    expect(decideChild(null, { isSeen: false, creation })).toEqual({ kind: "created", row: newRow(creation) });
    expect(decideChild(found, { isSeen: false, creation })).toEqual({ kind: "exists", row: found });
  });

  test("makes no child that has reported: its row may be there, expired, or gone", () => {
    expect(decideChild(null, { isSeen: true, creation })).toEqual({ kind: "reported" });
    expect(decideChild(found, { isSeen: true, creation })).toEqual({ kind: "reported" });
    const expired = { ...found, expiresAtSec: AT / 1_000 };
    expect(decideChild(expired, { isSeen: false, creation })).toEqual({ kind: "reported" });
    expect(decideChild({ ...expired, expiresAtSec: AT / 1_000 + 1 }, { isSeen: false, creation })).toMatchObject({
      kind: "exists",
    });
  });
});
