/** What becomes of one firing of a schedule, at the bounds of each rule. */
import { expect, test } from "vitest";
import {
  CERTAIN_MS,
  type Firing,
  LATE_MS,
  type LastFiring,
  decideFiring,
  isMadeUp,
} from "../../src/protocol/firing.ts";

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

test("a second delivery of a firing names the run of the first, also while that is starting", () => {
  expect(decideFiring(last(AT), firing())).toEqual({ kind: "exists", run: "r" });
  expect(decideFiring({ ...last(AT), stage: "starting" }, firing())).toEqual({ kind: "exists", run: "r" });
});

test("a second delivery of a firing that started nothing starts nothing", () => {
  expect(decideFiring({ ...last(AT), stage: "passed" }, firing({ overlap: "allow" }))).toEqual({ kind: "late" });
  expect(decideFiring({ ...last(AT), run: null }, firing({ overlap: "allow" }))).toEqual({ kind: "late" });
});

test("a schedule that was not watched is known from its first firing on, and anew when its times change", () => {
  const unwatched = firing({ watched: false });
  expect(decideFiring(null, unwatched)).toEqual({ kind: "unseen" });
  expect(decideFiring({ ...last(AT - 1), of: "5 * * * *" }, unwatched)).toEqual({ kind: "unseen" });
  expect(decideFiring(last(AT - 1), unwatched)).toEqual({ kind: "due" });
  // Who watches knows that it existed.
  expect(decideFiring({ ...last(AT - 1), of: "5 * * * *" }, firing())).toEqual({ kind: "due" });
});

test("a run makes up for its time if that was missed: by the bound, or at all while nobody watched", () => {
  const after = (ms: number, watched: boolean) => isMadeUp({ at: AT, now: AT + ms, watched });
  expect({
    inTime: after(LATE_MS, true),
    late: after(LATE_MS + 1, true),
    atOnceUnwatched: after(0, false),
    unwatched: after(1, false),
  }).toEqual({ inTime: false, late: true, atOnceUnwatched: false, unwatched: true });
});
