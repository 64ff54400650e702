/** When an operation finds the row that it names. */
import { describe, expect, test } from "vitest";
import { TIMES } from "../../src/protocol/limits.ts";
import { FORMAT, hasEnded, isExpired, presentRow } from "../../src/protocol/row.ts";
import { AT, BORN, RUN, row } from "../support/states/states-and-events.ts";

const OF = { run: RUN, born: BORN, now: AT };

describe("a row exists", () => {
  test("for its own incarnation until it expires, to the millisecond", () => {
    const ended = row({ expiresAtSec: AT / 1_000 });
    expect(isExpired(ended, AT - 1)).toBe(false);
    expect(isExpired(ended, AT)).toBe(true);
    expect(isExpired(row(), AT + TIMES.parkSecondsMax * 1_000)).toBe(false);
    expect(presentRow(ended, { ...OF, now: AT - 1 })).toEqual(ended);
    expect(presentRow(ended, OF)).toEqual({ kind: "missing" });
    expect(presentRow(null, OF)).toEqual({ kind: "missing" });
    expect(presentRow(row(), { ...OF, born: "another" })).toEqual({ kind: "missing" });
  });

  test("schedule 31: with an unknown format, older or newer, and stays unchanged", () => {
    expect(presentRow(row({ format: FORMAT - 1 }), OF)).toMatchObject({
      kind: "unreadable",
      why: expect.stringContaining("was written by a cairn before its first release; finish its runs"),
    });
    const why = "it has format 3, and this version of cairn knows format 2";
    expect(presentRow(row({ format: FORMAT + 1 }), OF)).toEqual({ kind: "newer", why, at: null });
  });

  test("and has ended when its status says so", () => {
    const ends = (["completed", "failed", "cancelled"] as const).map((status) => hasEnded(row({ status })));
    const goes = (["queued", "running", "waiting", "paused", "blocked"] as const).map((status) =>
      hasEnded(row({ status })),
    );
    expect({ ends, goes }).toEqual({ ends: [true, true, true], goes: [false, false, false, false, false] });
  });
});
