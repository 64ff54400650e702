/** Bounds fit into each other, and a world whose bounds do not is refused before it starts. */
import { describe, expect, test } from "vitest";
import { InvariantViolated } from "../../src/core/ensure.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { EACH_BEAT, FEW_BYTES, FEW_REQUESTS } from "../../src/ports/stored-sizes.ts";
import { TIMES, type Limits, approvalMs, hotMsOf, limitsFor } from "../../src/protocol/limits.ts";

const MINUTE = 60_000;

describe("limits for a beat", () => {
  test.each([500, 600, 3_000, 30_000, MINUTE, 900_000])("of %i ms fit together", (beatMs) => {
    const { drainMs, toolMs, modelMs, abortGraceMs, retentionMs, skewMs, settleMs } = limitsFor(beatMs);
    expect(toolMs + drainMs).toBeLessThan(beatMs);
    expect(modelMs + drainMs).toBeLessThan(beatMs);
    expect(abortGraceMs).toBeLessThan(drainMs);
    expect(retentionMs).toBeGreaterThan(beatMs + skewMs + settleMs);
  });

  test("of a minute have these values", () => {
    expect(limitsFor(MINUTE)).toEqual({
      ...{
        beatMs: MINUTE,
        drainMs: 5_000,
        entryAttemptsMax: 100,
        backoffMsMax: 300_000,
        skewMs: 1_000,
        toolMs: 30_000,
        abortGraceMs: 250,
        modelMs: 45_000,
      },
      ...{
        settleMs: 30_000,
        idleRunMs: 2_592_000_000,
        retentionMs: 86_400_000,
        keyRetentionMs: 2_592_000_000,
        auditMs: 90 * 24 * 3_600_000,
        rescueMs: MINUTE,
        chainClaimsMax: 1_200,
        openParkMs: 2_592_000_001,
        overdueMs: MINUTE,
        gateMs: 86_400_000,
        spendMicroUsdPerDay: Number.MAX_SAFE_INTEGER,
        beatsPerInvocation: 1,
      },
    });
  });

  test("may be changed when they still fit together", () => {
    expect(limitsFor(MINUTE, { toolMs: 1_000 })).toMatchObject({ toolMs: 1_000, modelMs: 45_000 });
    for (const change of [
      ...[{ retentionMs: 3_600_000 }, { keyRetentionMs: TIMES.keyMsMin }, { keyRetentionMs: TIMES.keyMsMax }],
      ...[{ auditMs: TIMES.auditMsMin }, { auditMs: TIMES.auditMsMax }],
      ...[{ settleMs: 86_400_000 - 61_001 }, { gateMs: 2_592_000_000 - 1 }],
    ]) {
      expect(limitsFor(MINUTE, change)).toMatchObject(change);
    }
  });
});

test("an approval waits as long as its tool wants, and at most for 29 thirtieths of the time a run may be idle", () => {
  const limits = limitsFor(MINUTE, { idleRunMs: 30 * MINUTE + 1, gateMs: MINUTE });
  expect(approvalMs(limits, 5 * MINUTE)).toBe(5 * MINUTE);
  expect(approvalMs(limits, 60 * MINUTE)).toBe(29 * MINUTE);
});

test("an ended run is kept as long as its agent declares, and longer than an invocation and its requests may take", () => {
  const limits = limitsFor(MINUTE);
  const hot = (hotMs: number) => hotMsOf(limits, { hotMs } as never);
  expect({ unset: hotMsOf(limits, undefined), long: hot(100_000), short: hot(1) }).toEqual({
    unset: 86_400_000,
    long: 100_000,
    short: 91_001,
  });
});

describe("limits are refused with", () => {
  const relations: readonly (readonly [string, Partial<Limits>])[] = [
    ["a beat may not take longer than an invocation may live", { beatMs: 900_001 }],
    ["a beat shorter than 500 ms", { beatMs: 499, toolMs: 10, modelMs: 10 }],
    ["tool timeout + drain margin must be less than the beat limit", { toolMs: 55_000 }],
    ["model timeout + drain margin must be less than the beat limit", { modelMs: 55_000 }],
    ["the grace after an abort must fit in the drain margin", { abortGraceMs: 5_000 }],
    ["skewMs must be less than a minute", { skewMs: MINUTE }],
    ["before its objects count as orphans", { beatMs: 86_400_000 }],
    ["must be kept for an hour", { retentionMs: 3_599_999 }],
    ["the key of an ended run must be kept for a day", { keyRetentionMs: 86_399_999 }],
    ["the key of an ended run is kept for 366 days at most", { keyRetentionMs: 31_622_400_001 }],
    ["the audit log must be kept for a day", { auditMs: 86_399_999 }],
    ["the audit log is kept for ten years at most", { auditMs: TIMES.auditMsMax + 1 }],
    ["retention must outlast the longest lease plus settleMs", { settleMs: 86_400_000 }],
    ["retention must outlast the longest lease plus settleMs", { settleMs: 86_400_000 - 61_000 }],
    ["must end before its objects count as orphans", { beatMs: TIMES.orphanAgeMs - 1_000 }],
    ["must be checked when its park ends", { idleRunMs: TIMES.parkSecondsMax * 1_000 + 1 }],
    ["an approval must expire before its run does", { gateMs: 2_592_000_000 }],
  ];

  test.each(relations)("%s", (why, change) => {
    expect(() => limitsFor(MINUTE, change)).toThrow(InvariantViolated);
    expect(() => limitsFor(MINUTE, change)).toThrow(why);
  });

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])("%s milliseconds for any of them", (value) => {
    for (const name of Object.keys(limitsFor(MINUTE)) as (keyof Limits)[]) {
      expect(() => limitsFor(MINUTE, { [name]: value })).toThrow(`limit ${name} must be a positive whole number`);
    }
  });
});

describe("bounds", () => {
  test("of stored data contain each other", () => {
    for (const { journalBytesMax, partBytesMax, segmentBytes } of [FEW_BYTES, FEW_REQUESTS, EACH_BEAT]) {
      // What one write of the table takes.
      expect(partBytesMax ?? journalBytesMax).toBeLessThan(segmentBytes);
      // The transcript's tail is part of the state, and so is much else.
      expect(segmentBytes).toBeLessThanOrEqual(SIZES.stateBytesMax / 2);
    }
    expect(SIZES.inlineBytesMax).toBeLessThan(SIZES.blobBytesMax);
    expect(2 * SIZES.previewCharacters).toBeLessThan(SIZES.inlineBytesMax);
    expect(SIZES.segmentFanIn).toBeGreaterThan(1);
  });

  test("of waiting lie within those of parking", () => {
    expect(TIMES.waitSecondsMax).toBeLessThan(TIMES.parkSecondsMax);
    expect(limitsFor(MINUTE).idleRunMs).toBeLessThanOrEqual(TIMES.parkSecondsMax * 1_000);
  });
});
