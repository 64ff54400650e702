/** Schedules and firings as people read them. */
import { describe, expect, it } from "vitest";
import { plain } from "../../src/render/paint.ts";
import { firingsInWords, renderSchedules } from "../../src/render/schedules.ts";
import type { Scheduled } from "../../src/operations/schedules.ts";
import { renderSupervision } from "../../src/render/supervision.ts";
import type { FiringOutcome } from "../../src/protocol/firing.ts";

/** Eight in the evening, wherever the reader is. */
const NOW = new Date(2026, 4, 14, 20, 0, 0).getTime();
const PAGE = { now: NOW, paint: plain, width: 100 };
const RUN = "local-abcdefghijklmnopqrstuvwxyz";

const daily: Scheduled = {
  ...{ agent: "travel", every: "rate(1 day)", timezone: "UTC", overlap: "skip", missed: "latest" },
  next: [NOW + 300_000, NOW + 86_700_000],
  paused: null,
  last: { at: NOW - 3_600_000, run: RUN, stage: "started" },
};

describe("schedules", () => {
  it("are one line each, with the next time and the outcome of the last one", () => {
    const never = { ...daily, agent: "once", every: "at(2026-01-01T08:00:00)", next: [], last: null };
    const skipped = { ...daily, agent: "skipped", last: { at: NOW - 3_600_000, run: RUN, stage: "passed" } } as const;
    expect(renderSchedules([daily, skipped, never], PAGE)).toBe(
      `
AGENT    EVERY                    TIMEZONE  NEXT                 LAST
travel   rate(1 day)              UTC       20:05:00 (in 5m00s)  19:00:00 started local-abcdefgh
skipped  rate(1 day)              UTC       20:05:00 (in 5m00s)  19:00:00 started nothing
once     at(2026-01-01T08:00:00)  UTC       never`.trimStart(),
    );
  });

  it("are blocks on a terminal that is too narrow for a table", () => {
    const lines = renderSchedules([daily], { ...PAGE, width: 40 }).split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(45);
    expect(lines[0]).toMatch(/^AGENT +travel$/);
  });

  it("show the next time on the clock of their zone", () => {
    const zoned = { ...daily, timezone: "Asia/Tokyo", next: [Date.UTC(2026, 4, 15, 0, 0)] };
    const page = { ...PAGE, now: Date.UTC(2026, 4, 14, 20, 0) };
    expect(renderSchedules([zoned], page)).toContain("  09:00:00 (in 4h00m)");
    expect(renderSchedules([{ ...zoned, timezone: "UTC" }], page)).toContain("  2026-05-15 00:00:00 (in 4h00m)");
  });

  it("say the next firings in words, in their zone", () => {
    const next = [15, 16, 17].map((day) => Date.UTC(2026, 4, day, 0, 0));
    const says = firingsInWords({ next, timezone: "Asia/Tokyo" }, Date.UTC(2026, 4, 14, 20, 0));
    expect(says).toBe("next 09:00:00 (in 4h00m), then Sat 16 May, 09:00; Sun 17 May, 09:00");
    expect(firingsInWords({ next: [], timezone: "UTC" }, NOW)).toBe("never again");
  });

  it("show how to declare one when there are none", () => {
    expect(renderSchedules([], PAGE)).toContain('schedule: { every: "rate(1 day)" }');
  });
});

describe("a firing", () => {
  const line = (outcome: FiringOutcome): string | null =>
    renderSupervision({ kind: "fired", agent: "travel", at: NOW - 60_000, outcome }, PAGE);

  it.each<[FiringOutcome, string | null]>([
    [{ kind: "started", run: RUN }, "20:00:00  travel  its firing of 19:59:00 starts local-abcdefgh ✔"],
    [
      { kind: "skipped", run: RUN },
      "20:00:00  travel  its firing of 19:59:00 is skipped: local-abcdefgh has not ended",
    ],
    [{ kind: "paused", by: "ann" }, "20:00:00  travel  its firing of 19:59:00 starts nothing: ann paused the schedule"],
    [{ kind: "missed" }, "20:00:00  travel  its firing of 19:59:00 was missed, and is not fired late"],
    [{ kind: "unseen" }, "20:00:00  travel  its schedule is new, and fires from now on"],
    [{ kind: "held", until: NOW }, "20:00:00  travel  its firing of 19:59:00 waits: another firing is being decided"],
    // What a restart finds decided is no news.
    [{ kind: "exists", run: RUN }, null],
    [{ kind: "late" }, null],
  ])("%j is printed as one line or none", (outcome, text) => {
    expect(line(outcome)).toBe(text);
  });

  it("that failed shows why, and that it is repeated", () => {
    const error = { name: "Error", code: null, message: "agent travel has no schedule" };
    const failed = { kind: "firingFailed", agent: "travel", at: NOW, how: "the task threw", error } as const;
    expect(renderSupervision(failed, PAGE)).toBe(
      "20:00:00  travel  its firing of 20:00:00 failed: the task threw: Error: agent travel has no schedule; it is retried",
    );
  });
});

it.each([
  [800, "20:00:00  local-abcdefgh  continues now"],
  [3_000, "20:00:00  local-abcdefgh  continues in 3s"],
])("a pause of %i ms is printed by when the run continues", (pauseMs, text) => {
  const moved = { kind: "moved", execution: "x", run: RUN, state: "Wait", readyAt: NOW + pauseMs } as const;
  expect(renderSupervision(moved, PAGE)).toBe(text);
});
