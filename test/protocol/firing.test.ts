/** What becomes of one firing of a schedule, at the bounds of each rule. */
import { expect, test } from "vitest";
import { CERTAIN_MS, type Firing, LATE_MS, type LastFiring, decideFiring } from "../../src/protocol/firing.ts";

const AT = 1_000_000_000;
const HOUR = 3_600_000;
const firing = (change: Partial<Firing> = {}): Firing => ({
  ...{ at: AT, now: AT, of: "0 * * * *", watched: true, overlap: "skip", missed: "latest", ...change },
});
const last = (at: number): LastFiring => ({ at, decidedAt: at, run: "r", stage: "started", of: "0 * * * *" });

test("the first firing is due, and so is one that is newer than the last", () => {
  expect(decideFiring(null, firing())).toEqual({ kind: "due" });
  expect(decideFiring(last(AT - 1), firing())).toEqual({ kind: "due" });
});

test("a firing older than the last is late, unless a clock more than an hour ahead decided the last one", () => {
  expect(decideFiring(last(AT + 1), firing())).toEqual({ kind: "late" });
  expect(decideFiring(last(AT + HOUR), firing())).toEqual({ kind: "late" });
  expect(decideFiring(last(AT + HOUR + 1), firing())).toEqual({ kind: "due" });
});

test("an older firing starts beside a newer one while its key is certainly kept", () => {
  const older = (ageMs: number) => decideFiring(last(AT + 1), firing({ overlap: "allow", now: AT + ageMs }));
  expect(older(CERTAIN_MS - 1)).toEqual({ kind: "aside" });
  expect(older(CERTAIN_MS)).toEqual({ kind: "late" });
});

test("a firing later than the bound is missed when the schedule makes up for none", () => {
  const after = (ms: number) => decideFiring(null, firing({ missed: "skip", now: AT + ms }));
  expect([after(LATE_MS), after(LATE_MS + 1)]).toEqual([{ kind: "due" }, { kind: "missed" }]);
});
