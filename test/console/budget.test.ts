/** How far a run is in its budget, and which actions are offered, without a browser. */
import { describe, expect, test } from "vitest";
import { GATEWAY_ROWS } from "../../functions/gateway.ts";
import { grantedWords, budgetWords } from "../../src/render/meters.ts";
import { offered } from "../../src/console/model/allowed.ts";
import { dollarsIn, levelOf, shareOf, tightest, warningOf } from "../../src/console/model/budget.ts";
import { type BudgetMeter, budgetMeters } from "../../src/operations/budget-meter.ts";
import { viewOfCaller } from "../../src/operations/caller-view.ts";
import { SCOPES, type Scope } from "../../src/operations/operation.ts";
import { ROWS } from "../../src/operations/table.ts";
import { OFFERED_OF_RUNS } from "./offered-actions.ts";

const spent = { tokensIn: 30, tokensOut: 12, microUsd: 120_000, beats: 9, toolCalls: 2, wallMs: 61_000 };
const meter = (used: number, limit: number): BudgetMeter => ({ meter: "beats", used, limit });

describe("a budget", () => {
  test("has the meters with a limit alone, in dollars and seconds", () => {
    const budget = budgetMeters({ beats: 10, microUsd: 1_000_000, wallMs: 120_000 }, spent);
    expect(budget).toEqual([
      { meter: "beats", used: 9, limit: 10 },
      { meter: "usd", used: 0.12, limit: 1 },
      { meter: "seconds", used: 61, limit: 120 },
    ]);
    expect(budgetWords(budget)).toBe("9 of 10 beats, $0.12 of $1.00, 1m01s of 2m00s at work");
    expect(grantedWords({ microUsd: 500_000, toolCalls: 3 })).toBe("$0.50, 3 tool calls");
    expect({ dollars: dollarsIn(budget)?.limit, tightest: tightest(budget)?.meter }).toEqual({
      dollars: 1,
      tightest: "beats",
    });
    expect({ dollars: dollarsIn([]), tightest: tightest([]) }).toEqual({ dollars: null, tightest: null });
  });

  test("is near its end from 80 % on, used up at its limit, and never more than full", () => {
    const levels = [meter(7, 10), meter(8, 10), meter(10, 10), meter(12, 10), meter(0, 0)].map(levelOf);
    expect(levels).toEqual(["fine", "near", "used", "used", "used"]);
    expect([shareOf(meter(12, 10)), shareOf(meter(0, 0))]).toEqual([1, 1]);
  });

  test("warns in words of the meter that is the furthest", () => {
    expect(warningOf([meter(1, 10)])).toBeNull();
    expect(warningOf([])).toBeNull();
    const usd = { meter: "usd", used: 1, limit: 1 } as const;
    expect(warningOf([meter(9, 10)])).toEqual({ level: "near", words: "9 of 10 beats: nearly used up" });
    expect(warningOf([meter(9, 10), usd])).toEqual({ level: "used", words: "$1.00 of $1.00: used up" });
    expect(warningOf([usd], "usd")).toEqual({ level: "used", words: "used up" });
    expect(warningOf([meter(9, 10)], "usd")?.words).toBe("9 of 10 beats: nearly used up");
  });
});

describe("an action", () => {
  const callerOf = (scopes: readonly Scope[], here: Parameters<typeof viewOfCaller>[1]["here"] = ROWS) =>
    viewOfCaller({ tenant: "acme", actor: "ann", scopes }, { here, all: ROWS });
  const names = [
    ...OFFERED_OF_RUNS,
    ...(["upgrade", "start", "decide", "answer", "reconcile"] as const),
    ...(["pauseSchedule", "resumeSchedule", "runSchedule"] as const),
  ];

  test("is offered to a caller with every scope, on a server that performs it", () => {
    expect(names.map((name) => offered(name, callerOf(SCOPES)))).toEqual(names.map(() => "yes"));
    expect(names.map((name) => offered(name, null))).toEqual(names.map(() => "yes"));
  });

  test("that a deployment on AWS performs for no caller is not offered there: the purge alone", () => {
    const caller = callerOf(SCOPES, GATEWAY_ROWS);
    expect(caller.absent).toEqual(["purge"]);
    expect(names.filter((name) => offered(name, caller) !== "yes")).toEqual(["purge"]);
    expect(offered("purge", caller)).toBe("server");
  });

  test("without its scope is refused to this caller, not by the server", () => {
    expect(new Set(names.map((name) => offered(name, callerOf(["runs:read"]))))).toEqual(new Set(["caller"]));
    expect(offered("purge", callerOf(["runs:write"]))).toBe("caller");
  });
});
