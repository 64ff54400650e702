/** When a released run is looked at next, and where its execution goes: a decision without clock and store. */
import { describe, expect, test } from "vitest";
import { BOUNDS } from "../../../src/core/limits.ts";
import { type Released, nextLook, noticeMs, routeAfter, tryAfterOutage } from "../../../src/engine/loop/next-look.ts";
import { TIMES } from "../../../src/protocol/limits.ts";

const NOW = 1_000_000_000_000;
const HOUR = 3_600_000;
const limits = { skewMs: 2_000, idleRunMs: 30 * 24 * HOUR, chainClaimsMax: 3 };
/** Ten days before the end, so before the time of its warning. */
const waitsUntil = NOW + 10 * 24 * HOUR;

const parked: Released = {
  how: { kind: "park", warning: null },
  now: NOW,
  mustLook: false,
  hasNews: false,
  statusSince: NOW - HOUR,
  waitsUntil,
  warnedOf: null,
  chainClaims: 1,
  limits,
};

describe("the end of a wait", () => {
  test.each<[string, Partial<Released>, number]>([
    ["stays for a park without news", {}, waitsUntil],
    ["is a month away after news", { hasNews: true }, NOW + limits.idleRunMs],
    ["stays while a run looks for its code", { how: { kind: "wait", until: NOW + 5_000 }, mustLook: true }, waitsUntil],
    ["is a month away after a beat that is followed by another", { how: { kind: "beat" } }, NOW + limits.idleRunMs],
    ["is the one of which this beat warned", { how: { kind: "park", warning: { expiresAt: NOW + HOUR } } }, NOW + HOUR],
    [
      "stays if the warning said that it goes on waiting",
      { how: { kind: "park", warning: { expiresAt: null } } },
      waitsUntil,
    ],
  ])("%s", (_, change, deadline) => {
    expect(nextLook({ ...parked, ...change }).deadline).toBe(deadline);
  });
});

describe("the next look", () => {
  const warningAt = waitsUntil - noticeMs(limits);
  test.each<[string, Partial<Released>, number]>([
    ["of a park is its warning", {}, warningAt],
    ["of a park that was warned is its end", { warnedOf: waitsUntil }, waitsUntil],
    ["of a park is no later than asked", { how: { kind: "park", until: NOW + HOUR, warning: null } }, NOW + HOUR],
    ["of a wait is as asked", { how: { kind: "wait", until: NOW + 5_000 } }, NOW + 5_000],
    ["of a run that looks for its code doubles its wait", { mustLook: true, statusSince: NOW - 60_000 }, NOW + 60_000],
    ["of a run that begins to look is soon", { mustLook: true, statusSince: null }, NOW + TIMES.lookMsMin],
    ["of a run that looks for days is bounded", { mustLook: true, statusSince: 0 }, NOW + TIMES.lookMsMax],
    [
      "after a deadline that only this clock has passed is soon",
      { waitsUntil: NOW + 2_000 },
      NOW + BOUNDS.clockAgainMs,
    ],
    ["a moment before that is the deadline", { waitsUntil: NOW + 2_001, warnedOf: NOW + 2_001 }, NOW + 2_001],
  ])("%s", (_, change, until) => {
    expect(nextLook({ ...parked, ...change })).toMatchObject({ until, wakeAt: until });
  });

  test("is not written for a run whose next beat follows at once", () => {
    expect(nextLook({ ...parked, how: { kind: "beat" } }).wakeAt).toBeNull();
  });
});

test.each([
  [2, false],
  [3, true],
  [4, true],
])("after %d claims of three the run moves to the next execution: %s", (chainClaims, nextChain) => {
  expect(nextLook({ ...parked, chainClaims }).nextChain).toBe(nextChain);
  expect(nextLook({ ...parked, how: { kind: "beat" }, chainClaims }).nextChain).toBe(nextChain);
});

describe("the execution", () => {
  const waiting = {
    how: "wait",
    nextChain: false,
    now: NOW,
    until: NOW + 5_000,
    canBeWoken: false,
    openParkMs: HOUR,
  } as const;
  type Waiting = Parameters<typeof routeAfter>[0];
  test.each<[string, Partial<Waiting>, ReturnType<typeof routeAfter>]>([
    ["waits for what is near", {}, { kind: "wait", seconds: 5 }],
    ["waits for a second at least", { until: NOW - 1 }, { kind: "wait", seconds: 1 }],
    ["parks if a wake-up may reach its run", { canBeWoken: true }, { kind: "park", seconds: 5 }],
    [
      "parks for longer than an execution waits",
      { until: NOW + (TIMES.waitSecondsMax + 1) * 1_000 },
      { kind: "park", seconds: TIMES.waitSecondsMax + 1 },
    ],
    ["parks as asked", { how: "park" }, { kind: "park", seconds: 5 }],
    ["parks a moment before it would end", { how: "park", until: NOW + HOUR - 1 }, { kind: "park", seconds: 3_600 }],
    ["ends where a park would be long", { how: "park", until: NOW + HOUR }, { kind: "end", seconds: 1 }],
    [
      "parks as long as one park may last",
      { how: "park", until: NOW + 400 * 24 * HOUR, openParkMs: Infinity },
      { kind: "park", seconds: TIMES.parkSecondsMax },
    ],
    ["goes on with the next beat at once", { how: "beat" }, { kind: "beat", seconds: 1 }],
    ["is renewed whatever its run waits for", { nextChain: true }, { kind: "renew", seconds: 1 }],
    ["is renewed before the next beat", { how: "beat", nextChain: true }, { kind: "renew", seconds: 1 }],
  ])("%s", (_, change, route) => {
    expect(routeAfter({ ...waiting, ...change })).toEqual(route);
  });
});

test.each<[string, number, number, number]>([
  ["soon at first", 0, 0, 1_000],
  ["later by up to as much again", 0, 0.5, 1_500],
  ["after a quarter of the outage at least", 60_000, 0, 15_000],
  ["after half of it at most", 60_000, 0.999_999, 30_000],
  ["as late as a run backs off, after hours", 10 * HOUR, 0, 150_000],
])("a run that an outage released is tried again %s", (_, outageMs, chance, waitMs) => {
  const at = tryAfterOutage({ now: NOW, since: NOW - outageMs, chance, limits: { backoffMsMax: 300_000 } });
  expect(at - NOW).toBe(waitMs);
});
