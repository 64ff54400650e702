/** The figures of the pages Health and Agents. */
import { describe, expect, test } from "vitest";
import { runFiguresOf } from "../../src/console/model/agent-figures.ts";
import { circuitWords, worstFirst, liveWords, spendRows } from "../../src/console/model/health.ts";
import type { Judged } from "../../src/ports/diagnosis.ts";

const NOW = 1_800_000_000_000;
const HOUR = 3_600_000;

const CLOSED = { isOpen: false, failures: 0, since: null, nextAt: null, why: null };

describe("the page Health", () => {
  test("shows what failed first, and what is well last", () => {
    const judged = (["ok", "unknown", "fail", "warn"] as const).map((status): Judged => ({
      id: status,
      status,
      says: "",
      why: "",
      mend: null,
    }));
    expect(worstFirst(judged).map(({ id }) => id)).toEqual(["fail", "warn", "unknown", "ok"]);
  });

  test("counts live runs by status, and says where there may be more", () => {
    expect(liveWords({ live: {}, isMore: false })).toBe("none");
    expect(liveWords({ live: { running: 2, waiting: 3 }, isMore: false })).toBe("5: 2 running, 3 waiting");
    expect(liveWords({ live: { queued: 5_000 }, isMore: true })).toBe("5000 or more: 5000 queued");
  });

  test("has a row of spend for each period that has a cap", () => {
    expect(spendRows({ spend: null, tenant: null })).toEqual([]);
    const used = { runs: 2, microUsd: 1_500_000 };
    const tenant = { name: "acme", day: used, month: { ...used, microUsd: 9e6 }, limits: { day: { microUsd: 2e6 } } };
    expect(spendRows({ spend: { todayUsd: 3, capUsd: 50 }, tenant })).toEqual([
      { title: "All runs today (UTC)", used: 3, cap: 50 },
      { title: "Tenant acme today (UTC)", used: 1.5, cap: 2 },
    ]);
  });

  test("says of an endpoint whether requests go to it, why not, and when it is tried again", () => {
    expect(circuitWords({ circuit: CLOSED, removedAt: null }, NOW)).toBe("It accepts requests.");
    expect(circuitWords({ circuit: CLOSED, removedAt: NOW }, NOW)).toContain("names it no longer");
    const failing = { ...CLOSED, failures: 2, since: NOW, why: "it answered 503" };
    expect(circuitWords({ circuit: failing, removedAt: null }, NOW)).toBe(
      "2 requests failed in a row: it answered 503.",
    );
    const open = { ...failing, failures: 9, isOpen: true, nextAt: NOW + 60_000 };
    expect(circuitWords({ circuit: open, removedAt: null }, NOW)).toContain("again in 1m");
    expect(circuitWords({ circuit: open, removedAt: null }, NOW + 60_000)).toContain("again with the next sweep");
  });
});

describe("the figures of an agent", () => {
  const run = (agoHours: number, more: object = {}) => ({
    ...{ agent: "clerk", createdAt: NOW - agoHours * HOUR, inProgress: false, status: "completed" as const },
    spent: { usd: 0.5, tokensIn: 0, tokensOut: 0 },
    ...more,
  });

  test("are those of its runs of the last day", () => {
    const runs = [
      run(1),
      run(2, { status: "failed", spent: { usd: 1.5, tokensIn: 0, tokensOut: 0 } }),
      run(3, { inProgress: true, status: "running" }),
      run(48, { status: "failed" }),
      run(1, { agent: "other" }),
    ];
    expect(runFiguresOf(runs, { agent: "clerk", now: NOW })).toEqual({
      ...{ runs: 3, perHour: 3 / 24, failedShare: 0.5, failed: 1, ended: 2, meanUsd: 1, mostUsd: 1.5 },
    });
  });

  test("are per hour since its first run, where that is less than a day ago, and say where none has ended", () => {
    const runs = [run(0.1, { inProgress: true }), run(4, { inProgress: true })];
    expect(runFiguresOf(runs, { agent: "clerk", now: NOW })).toMatchObject({
      perHour: 0.5,
      failedShare: null,
      meanUsd: null,
    });
    expect(runFiguresOf([], { agent: "clerk", now: NOW })).toMatchObject({ runs: 0, perHour: 0 });
  });
});
