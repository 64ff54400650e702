/** What a new version of its agent finds of a run, and what an operator's hold leaves of it. */
import { describe, expect, test } from "vitest";
import { applyAgentChange, holdForOperator, resumeAfterHold, withoutLack } from "../../src/core/policy/holds.ts";
import type { State } from "../../src/core/state.ts";
import { FAILURE, IN_PHASE } from "../support/states/states-and-events.ts";

const undo = [{ call: "c9", key: "key-c9", from: null }];

describe("a new version", () => {
  test("marks the calls that the older one intended, and what can be undone", () => {
    const changed = applyAgentChange({ ...IN_PHASE.ExecutingTools(), undo }, { to: "2" });
    const marks = changed.open.map(({ call, agentChanged = false }) => ({ call, agentChanged }));
    expect(marks).toEqual([
      { call: "c1", agentChanged: false },
      ...["c2", "c3", "c4", "c5"].map((call) => ({ call, agentChanged: true })),
    ]);
    expect(changed.undo).toEqual([{ ...undo[0], agentChanged: true }]);
  });

  test("leaves everything else as it is", () => {
    const before = IN_PHASE.AwaitingLLM();
    expect(applyAgentChange(before, { to: "2" })).toStrictEqual({ ...before, agentVersion: "2" });
    const price = { inUsd: 1, outUsd: 2 };
    expect(applyAgentChange(before, { to: "2", price })).toStrictEqual({ ...before, agentVersion: "2", price });
  });

  test("lets a run go on that waited for it", () => {
    const held: State = { ...IN_PHASE.AwaitingAgent(), cutReplies: 3 };
    const changed = applyAgentChange(held, { to: "2" });
    expect(changed).toMatchObject({ phase: "ExecutingTools", pausedFrom: null, upgrades: { lack: null } });
    expect(changed).not.toHaveProperty("cutReplies");
  });

  test("counts an acceptance once, and keeps one of another version", () => {
    const upgrades = { policy: "pin", questions: 1, lack: null, accepted: { to: "2", by: "ana" } } as const;
    const accepted: State = { ...IN_PHASE.AwaitingLLM(), upgrades };
    expect(applyAgentChange(accepted, { to: "2" }).upgrades).toEqual({ ...upgrades, accepted: null });
    expect(applyAgentChange(accepted, { to: "3" }).upgrades).toEqual(upgrades);
  });
});

test("an operator's hold says what to mend, and forgets what a refused request left out", () => {
  const before: State = { ...IN_PHASE.AwaitingLLM(), leavesOut: true, replyTokensMax: 9, modelRetries: 2 };
  const held = holdForOperator(before, { mends: "request", failure: FAILURE });
  expect(held).toMatchObject({
    phase: "AwaitingAgent",
    pausedFrom: "AwaitingLLM",
    modelRetries: 0,
    retryAt: null,
    upgrades: { questions: 1, lack: { kind: "operator", mends: "request", failure: FAILURE } },
  });
  for (const gone of ["leavesOut", "replyTokensMax", "outage"]) expect(held).not.toHaveProperty(gone);
});

test("an operator's hold keeps the phase that a run returns to, unless it retried its model", () => {
  const held = (phase: State["phase"]) =>
    holdForOperator({ ...IN_PHASE.AwaitingLLM(), phase }, { mends: "replies", failure: FAILURE }).pausedFrom;
  expect({ retrying: held("RetryingLLM"), closing: held("ForceStop") }).toEqual({
    retrying: "AwaitingLLM",
    closing: "ForceStop",
  });
});

test("a run without a phase to return to calls its model", () => {
  expect(resumeAfterHold({ ...IN_PHASE.AwaitingAgent(), pausedFrom: null })).toMatchObject({ phase: "AwaitingLLM" });
  expect(withoutLack(IN_PHASE.AwaitingLLM())).toEqual({});
});
