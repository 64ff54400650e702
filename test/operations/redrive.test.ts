/** The one way out of an end: which ends have it, where a redriven run stands, and what the row says of it. */
import { nextCommands, fold, foldAll } from "../../src/features/compose.ts";
import { failedFrom } from "../../src/core/policy/infrastructure.ts";
import { gateIn } from "../../src/core/calls/held-calls.ts";
import { describe, expect, test } from "vitest";
import type { Event } from "../../src/core/event.ts";
import { redriveRefusal } from "../../src/features/redrive/core.ts";
import type { State } from "../../src/core/state.ts";
import { decideRedrive as redrivenRow } from "../../src/protocol/row-redrive.ts";
import { AT, BORN, IN_PHASE, RUN, row, view, EVENT } from "../support/states/states-and-events.ts";

const CRASHED = { code: "CrashLoop", message: "its processes died" };
const crashed = (from: State): State => fold(from, EVENT.decided({ kind: "abort", failure: CRASHED, next: "leave" }));

/** It fails there as the runner has it fail. */
function ended(from: State): State {
  const state = crashed(from);
  const stood = failedFrom(state);
  if (stood === null) throw new Error("its end has no way out");
  const marks = stood.started.map((call) => EVENT.outcomeLost(call));
  return foldAll(state, [...marks, { kind: "RunEnded", at: AT, status: "failed", failure: CRASHED, from: stood }]);
}

const back: Event = { ...EVENT.redriven, failure: CRASHED };

describe("a redriven run", () => {
  const phases = [
    ...(["Preparing", "AwaitingLLM", "RetryingLLM", "ExecutingTools", "AwaitingApproval", "Reflecting"] as const),
    ...(["Compacting", "ForceStop", "AwaitingReconcile"] as const),
  ];

  test.each(phases)("continues in the phase in which it failed: %s", (phase) => {
    const before = IN_PHASE[phase]();
    const after = fold(ended(before), back);
    expect(after.phase).toBe(phase);
    expect(after).toMatchObject({ failure: null, ending: null, spent: before.spent, restart: before.restart });
    expect(nextCommands(after, view({ epoch: 9 })).length).toBeGreaterThan(0);
  });

  test.each(["Paused", "AwaitingAgent"] as const)(
    "continues in the phase in which it was before it was %s",
    (phase) => {
      expect(fold(ended(IN_PHASE[phase]()), back)).toMatchObject({ phase: "ExecutingTools", pausedFrom: null });
    },
  );

  test("recovers started calls as after any death, and asks nothing else again", () => {
    const before = IN_PHASE.ExecutingTools();
    const statuses = (state: State) => Object.fromEntries(state.open.map(({ call, status }) => [call, status]));
    expect(statuses(ended(before))).toMatchObject({ c3: "unknown", c4: "unknown" });
    const after = fold(ended(before), back);
    expect(statuses(after)).toEqual(statuses(before));
    const keys = (state: State) => state.open.map(({ intent }) => intent?.key);
    expect(keys(after)).toEqual(keys(before));
    expect(nextCommands(after, view({ epoch: 9 }))).toContainEqual({ kind: "recover", calls: ["c3"] });
  });

  test("asks again about decisions that were not applied, and about gates that expired", () => {
    const before = IN_PHASE.AwaitingApproval();
    const [asked] = before.open.flatMap((open) => gateIn(open) ?? []);
    if (asked === undefined) throw new Error("nothing is asked");
    const approved: Event = {
      ...{ kind: "MessageAbsorbed", at: AT, stage: "taken", message: "m" },
      body: { kind: "decision", gate: asked.gate, decision: { as: "approve", args: null, by: "ann", note: null } },
    };
    const late = { ...back, at: asked.expiresAt };
    for (const after of [fold(ended(fold(before, approved)), back), fold(ended(before), late)]) {
      const open = after.open.find(({ call }) => asked.gate.endsWith(call));
      expect(open).toMatchObject({ status: "proposed", timesReopened: 1 });
      expect(open?.heldBy).toBeUndefined();
      expect(after.phase).toBe("ExecutingTools");
    }
    expect(fold(ended(before), back).open).toEqual(before.open);
  });

  test("requests budget again when a grant was not applied before the failure", () => {
    const before = foldAll(IN_PHASE.AwaitingLLM(), [EVENT.budgetRequested()]);
    const { extension } = before;
    if (extension?.gate == null) throw new Error("nothing is asked");
    const decision = { as: "approve", args: null, by: "ann", note: null, more: { beats: 2 } } as const;
    const given = { ...before, extension: { ...extension, gate: { ...extension.gate, decision } } };
    const after = fold(ended(given), back);
    expect(after).toMatchObject({ phase: "AwaitingLLM", extension: { questions: 1, granted: {}, gate: null } });
    expect(fold(ended(before), back)).toMatchObject({ phase: "AwaitingApproval", extension });
  });

  test("has no outage and no retries of before, and counts its redrives", () => {
    const outage = { since: AT - 9, attempts: 40 };
    const away = fold(IN_PHASE.RetryingLLM(), EVENT.decided({ kind: "retry", at: AT, outage }));
    const after = fold(ended(away), back);
    expect({ outage: after.outage, modelRetries: after.modelRetries }).toEqual({ outage: undefined, modelRetries: 0 });
    expect(after.redriven).toEqual({ times: 1, id: "r1" });
    const twice = fold(ended(after), { ...back, id: "r2" } as Event);
    expect(twice.redriven).toMatchObject({ times: 2, id: "r2" });
  });
});

describe("an end cannot be redriven", () => {
  const wrong = (state: State): void => {
    expect(redriveRefusal(state)).not.toBeNull();
    expect(() => fold(state, back)).toThrow(/has no way out|does not happen in/);
  };

  test("when the run caused it", () => {
    const state = foldAll(IN_PHASE.AwaitingLLM(), [
      EVENT.decided({ kind: "abort", failure: failure("NotDone") }),
      EVENT.failed,
    ]);
    expect(redriveRefusal(state)).toBe("NotInfrastructure");
    expect(failedFrom({ ...state, ending: { kind: "failed", failure: failure("NotDone") } })).toBeNull();
    wrong(state);
  });

  test("when effects were undone before it", () => {
    const state = foldAll(crashed(IN_PHASE.AwaitingLLM()), []);
    expect(failedFrom({ ...state, saga: { leftInPlace: [] } })).toBeNull();
    expect(redriveRefusal({ ...ended(IN_PHASE.AwaitingLLM()), saga: { leftInPlace: [] } })).toBe("Compensated");
  });

  test("when the run had children, because they were cancelled", () => {
    const { children } = IN_PHASE.AwaitingChildren();
    expect(redriveRefusal({ ...ended(IN_PHASE.AwaitingLLM()), children })).toBe("HasChildren");
  });

  test.each(["Completed", "Cancelled"] as const)("when it is %s", (phase) => wrong(IN_PHASE[phase]()));

  test("except by a redrive, which is the only event after such an end", () => {
    const state = foldAll(IN_PHASE.AwaitingLLM(), EVENT.modelUnavailable("AwaitingLLM"));
    for (const event of [
      EVENT.messageReceived("hello"),
      EVENT.paused,
      EVENT.decided({ kind: "cancel" }),
      EVENT.failed,
    ]) {
      expect(() => fold(state, event)).toThrow(/does not happen in Failed/);
    }
  });
});

const failure = (code: string) => ({ code, message: "" });

describe("the row of a redriven run", () => {
  const note = { id: "r1", by: "ada", why: "it is back" };
  const over = row({
    ...{
      status: "failed",
      phase: "Failed",
      epoch: 4,
      version: 7,
      chain: 2,
      chainClaims: 30,
      takeovers: 11,
      deaths: 11,
    },
    ...{ endNotified: true, expiresAtSec: 99, effectsSettleAt: AT + 5, wakeAt: AT },
  });
  const asked = { run: RUN, born: BORN, now: AT + 1, epoch: 4, version: 7, note, deadline: AT + 100 };

  test("has the next epoch and execution, no time to live, and the operator", () => {
    expect(redrivenRow(over, asked)).toEqual({
      kind: "redriven",
      row: {
        ...over,
        ...{
          status: "running",
          statusSince: AT + 1,
          claimedAt: AT + 1,
          epoch: 5,
          chain: 3,
          chainClaims: 0,
          wakeAt: null,
        },
        ...{ deaths: 0, endNotified: false, expiresAtSec: null, deadline: AT + 100, redrive: note },
      },
    });
  });

  test.each([
    ["completed", { status: "completed" }],
    ["cancelled", { status: "cancelled" }],
    ["at work", { status: "running" }],
    ["of another epoch", { epoch: 5 }],
    ["of another version", { version: 8 }],
  ] as const)("is not changed when it is %s", (_, change) => {
    const other = { ...over, ...change };
    expect(redrivenRow(other, asked)).toEqual({ kind: "late", row: other });
  });
});
