/** The figures of the pages Health and Agents. */
import { describe, expect, test } from "vitest";
import { runFiguresOf } from "../../src/console/model/agent-figures.ts";
import {
  circuitWords,
  liveWords,
  spendRows,
  sweeperWords,
  workersWords,
  worstFirst,
} from "../../src/console/model/health.ts";
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

  test("says how many processes there are, which are at work, and how many places are free", () => {
    const one = { pid: 7, agent: "clerk", tasks: 2, waiting: 1, free: 15 };
    const idle = { ...one, pid: 8, agent: null, tasks: 0, waiting: 0, free: 16 };
    expect(workersWords({ processes: [one, idle], processesMax: 5, free: 31 })).toEqual([
      "2 processes of 5 at most, 1 at work, 31 places free",
      "Process 7 of clerk: 2 tasks, 1 waiting for a model, 15 places free",
      "Process 8: 0 tasks, 0 waiting for a model, 16 places free",
    ]);
    expect(workersWords({ processes: [], processesMax: 1, free: 1 })).toEqual([
      "0 processes of 1 at most, 0 at work, 1 place free",
    ]);
    expect(workersWords(null)[0]).toMatch(/drives no run itself/);
  });

  test("says when the last sweep was, of how many runs, and when the next one is", () => {
    const sweeps = { lastAt: NOW - 20_000, judged: 3, nextAt: NOW + 40_000 };
    const seen = { sweeps, allAt: NOW - 1_800_000, orphansAt: null };
    expect(sweeperWords(seen, NOW)).toEqual([
      "Last sweep 20s ago, with 3 runs due; the next one in 40s.",
      "Every live run was judged 30m00s ago.",
    ]);
    expect(sweeperWords({ ...seen, sweeps: { ...sweeps, judged: null, nextAt: NOW } }, NOW)[0]).toBe(
      "Last sweep 20s ago, which failed; the next one as soon as a process is free.",
    );
    expect(sweeperWords({ ...seen, sweeps: { lastAt: null, judged: null, nextAt: NOW + 2_000 } }, NOW)[0]).toBe(
      "No sweep yet; the next one in 2s.",
    );
    expect(sweeperWords({ sweeps: null, allAt: null, orphansAt: NOW - HOUR }, NOW)).toEqual([
      "No sweep has judged every live run yet.",
      "Objects without a run were searched for 1h00m ago.",
    ]);
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
