/** The phase table holds together, so that everything derived from it does. */
import { describe, expect, test } from "vitest";
import { PHASES, PHASE_NAMES, type Phase, isTerminal, mayFollow } from "../../src/core/phases.ts";
import { hasEnded } from "../../src/protocol/row.ts";
import { row } from "../support/states/states-and-events.ts";

/** Every phase that can be reached from there, itself included. */
function reachable(from: Phase): Set<Phase> {
  const seen = new Set<Phase>([from]);
  for (const phase of seen) for (const next of PHASE_NAMES) if (mayFollow(phase, next)) seen.add(next);
  return seen;
}

test("only waiting for the model, also in a closing call, is idle", () => {
  expect(PHASE_NAMES.filter((phase) => PHASES[phase].idle)).toEqual(["AwaitingLLM", "ForceStop"]);
});

test("every phase is reachable from Preparing and reaches an end", () => {
  expect(reachable("Preparing")).toEqual(new Set(PHASE_NAMES));
  for (const phase of PHASE_NAMES) expect([...reachable(phase)].some(isTerminal)).toBe(true);
});

test("`next` names phases of the table, none twice, none itself", () => {
  for (const phase of PHASE_NAMES) {
    const next = PHASES[phase].next as readonly Phase[];
    expect(PHASE_NAMES).toEqual(expect.arrayContaining([...next]));
    expect(new Set(next).size).toBe(next.length);
    expect(next).not.toContain(phase);
  }
});

describe("an end", () => {
  test("is Completed, Failed or Cancelled, has no next phase, and determines how the chain ends", () => {
    expect(PHASE_NAMES.filter(isTerminal)).toEqual(["Completed", "Failed", "Cancelled"]);
    for (const phase of PHASE_NAMES) {
      expect(PHASES[phase].ends !== null).toBe(isTerminal(phase));
      if (isTerminal(phase)) expect(PHASE_NAMES.filter((next) => mayFollow(phase, next))).toEqual([]);
      else expect(mayFollow(phase, phase)).toBe(true);
    }
    expect({ completed: PHASES.Completed.ends, failed: PHASES.Failed.ends, cancelled: PHASES.Cancelled.ends }).toEqual({
      completed: "done",
      failed: "failed",
      cancelled: "done",
    });
  });

  test("of the phase table is an end of the row", () => {
    for (const phase of PHASE_NAMES) {
      expect(hasEnded(row({ phase, status: PHASES[phase].status }))).toBe(isTerminal(phase));
    }
  });

  test.each(["Failed", "Cancelled"] as const)("as %s can be decided in every phase before it", (end) => {
    for (const phase of PHASE_NAMES) expect(mayFollow(phase, end)).toBe(!isTerminal(phase));
  });
});

test("a run completes from Reflecting alone, after its definition of done was checked", () => {
  expect(PHASE_NAMES.filter((phase) => mayFollow(phase, "Completed"))).toEqual(["Reflecting"]);
});

test("the shown status distinguishes parked phases from active ones", () => {
  for (const phase of PHASE_NAMES) {
    const { status, kind, label } = PHASES[phase];
    // Waiting for a decision is work in progress; it is only that no machine does it.
    expect(status === "running" || status === "waiting").toBe(kind === "active");
    expect(kind === "parked").toBe(status === "blocked" || status === "paused");
    expect(label).toMatch(/^[a-z]/);
  }
  expect(new Set(PHASE_NAMES.map((phase) => PHASES[phase].label)).size).toBe(PHASE_NAMES.length);
});
