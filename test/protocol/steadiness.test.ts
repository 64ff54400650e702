/** Which wall clocks are believed: by what the machine has counted, and after how long. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CLOCK, type ClockReading, type ClockRecord, followTime, judgeTime } from "../../src/protocol/steadiness.ts";
import { AT } from "../support/states/states-and-events.ts";

const HOUR_MS = 3_600_000;
const BEGUN: ClockReading = { wall: AT, uptime: 1_000_000, boot: "one" };
const RECORD: ClockRecord = { trusted: BEGUN, doubted: null };

/** That long after the first reading, by a wall clock that is off. */
const after = (ms: number, aheadMs = 0, boot = "one"): ClockReading => ({
  ...{ wall: AT + ms + aheadMs, boot },
  uptime: boot === "one" ? BEGUN.uptime + ms : ms,
});

describe("a wall clock", () => {
  test.each([
    ["agrees", after(HOUR_MS), null],
    ["is off by less than the margin", after(0, CLOCK.marginMs), null],
    ["is off by more", after(0, CLOCK.marginMs + 1), { kind: "ahead", byMs: CLOCK.marginMs + 1, forMs: 0 }],
    ["is back by more", after(0, -CLOCK.marginMs - 1), { kind: "behind", byMs: CLOCK.marginMs + 1, forMs: 0 }],
    ["drifts for a month", after(720 * HOUR_MS, 720 * HOUR_MS * 0.0004), null],
    ["comes back with the machine", after(1_000, 0, "two"), null],
    ["moved on while the machine was off", after(1_000, HOUR_MS, "two"), { kind: "away", byMs: HOUR_MS, forMs: 0 }],
    ["went back while it was off", after(1_000, -HOUR_MS, "two"), { kind: "behind", byMs: HOUR_MS, forMs: 0 }],
  ])("that %s", (_, reading, doubt) => {
    expect(judgeTime(RECORD, reading).doubt).toEqual(doubt);
  });

  test("is judged by a reading that another process made a moment later", () => {
    expect(judgeTime({ ...RECORD, trusted: after(20) }, after(0)).doubt).toBeNull();
  });

  test("without a boot ID is that of a new boot when its uptime fell", () => {
    const record = { ...RECORD, trusted: { ...BEGUN, boot: "" } };
    expect(judgeTime(record, { wall: AT + HOUR_MS, uptime: 9_000, boot: "" }).doubt?.kind).toBe("away");
  });

  test("that keeps its new time is trusted after an hour; each other jump restarts that hour", () => {
    const doubted = followTime(RECORD, after(0, HOUR_MS));
    expect(doubted).toEqual({ trusted: BEGUN, doubted: after(0, HOUR_MS) });
    expect(followTime(doubted, after(CLOCK.settleMs - 1, HOUR_MS))).toBe(doubted);
    expect(followTime(doubted, after(CLOCK.settleMs, HOUR_MS))).toEqual({
      trusted: after(CLOCK.settleMs, HOUR_MS),
      doubted: null,
    });
    expect(followTime(doubted, after(CLOCK.settleMs, 2 * HOUR_MS)).doubted).toEqual(after(CLOCK.settleMs, 2 * HOUR_MS));
  });

  test("reports for how long it has kept its new time, also at the margin", () => {
    const doubted = followTime(RECORD, after(0, HOUR_MS));
    const forMs = (aheadMs: number) => judgeTime(doubted, after(9_000, aheadMs)).doubt?.forMs;
    expect([forMs(HOUR_MS), forMs(2 * HOUR_MS)]).toEqual([9_000, 0]);
    expect([forMs(HOUR_MS + CLOCK.marginMs), forMs(HOUR_MS - CLOCK.marginMs)]).toEqual([9_000, 9_000]);
  });

  test("belongs to the boot that its machine names, and to the same one when its uptime fell by the margin", () => {
    const later = { wall: AT + 2 * HOUR_MS, uptime: BEGUN.uptime + 1_000, boot: "two" };
    expect(judgeTime(RECORD, later).doubt?.kind).toBe("away");
    const back = { wall: AT + HOUR_MS, uptime: BEGUN.uptime - CLOCK.marginMs, boot: "one" };
    expect(judgeTime(RECORD, back).doubt?.kind).toBe("ahead");
  });

  test("that agrees again is trusted at once, and is then read only now and then", () => {
    const doubted = followTime(RECORD, after(0, HOUR_MS));
    expect(followTime(doubted, after(1_000))).toEqual({ trusted: after(1_000), doubted: null });
    expect(followTime(RECORD, after(CLOCK.refreshMs - 1))).toBe(RECORD);
    expect(followTime(RECORD, after(CLOCK.refreshMs)).trusted).toEqual(after(CLOCK.refreshMs));
    expect(followTime(null, BEGUN)).toEqual(RECORD);
  });
});

test("no time is trusted before it has come, whatever a clock shows for less than an hour at a time", () => {
  const jump = fc.record({
    aheadMs: fc.integer({ min: -90 * 24 * HOUR_MS, max: 90 * 24 * HOUR_MS }),
    forMs: fc.integer({ min: 1, max: CLOCK.settleMs - 1 }),
    rightForMs: fc.integer({ min: 1, max: 48 * HOUR_MS }),
  });
  fc.assert(
    fc.property(fc.array(jump, { maxLength: 6 }), (jumps) => {
      let [record, ms] = [RECORD, 0];
      const look = (aheadMs: number): void => {
        record = followTime(record, after(ms, aheadMs));
        const { now, earliest } = judgeTime(record, after(ms, aheadMs));
        expect(earliest - CLOCK.marginMs).toBeLessThanOrEqual(AT + ms);
        expect(earliest).toBeLessThanOrEqual(now);
        // What is written is right as well.
        expect(Math.abs(now - AT - ms)).toBeLessThanOrEqual(2 * CLOCK.marginMs + ms / CLOCK.driftParts);
      };
      for (const { aheadMs, forMs, rightForMs } of jumps) {
        for (const part of [0, forMs / 2, forMs / 2]) {
          ms += Math.floor(part);
          look(aheadMs);
        }
        look(0);
        ms += rightForMs;
        look(0);
      }
    }),
  );
});
