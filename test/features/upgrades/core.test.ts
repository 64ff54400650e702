/** A run that waits for a version of its agent: which answer lets it go on, and how often. */
import { fold } from "../../../src/features/compose.ts";
import { applyAgentChange, holdForAgent, holdForOperator, upgradesOf } from "../../../src/core/policy/holds.ts";
import { expect, test } from "vitest";
import { acceptUpgradeIn } from "../../../src/features/upgrades/core.ts";
import { withChangedIntrinsic } from "../../../src/core/policy/changed-intrinsics.ts";
import { IN_PHASE, EVENT } from "../../support/states/states-and-events.ts";

const asking = () => holdForAgent(IN_PHASE.AwaitingLLM(), { kind: "upgrade", to: "2" });
const answer = (question: number) => ({ kind: "upgrade", question, to: "2", by: "ana" }) as const;

test("each wait for an upgrade is a question of its own", () => {
  const first = asking();
  expect({ phase: first.phase, pausedFrom: first.pausedFrom, questions: upgradesOf(first).questions }).toEqual({
    phase: "AwaitingAgent",
    pausedFrom: "AwaitingLLM",
    questions: 1,
  });
  expect(upgradesOf(holdForAgent(first, { kind: "upgrade", to: "3" }))).toMatchObject({
    questions: 2,
    lack: { to: "3" },
  });
});

test("accepts an answer only to the open question", () => {
  expect(upgradesOf(acceptUpgradeIn(asking(), answer(1))).accepted).toEqual({ to: "2", by: "ana" });
  expect(acceptUpgradeIn(asking(), answer(2))).toEqual(asking());
  const absent = holdForAgent(IN_PHASE.AwaitingLLM(), { kind: "agent", why: "it is not deployed" });
  expect(acceptUpgradeIn(absent, answer(1))).toEqual(absent);
  const idle = IN_PHASE.AwaitingLLM();
  expect(acceptUpgradeIn(idle, answer(0))).toBe(idle);
});

test("continues in its phase at the price of the new version, and counts the answer once", () => {
  const price = { inUsd: 1, outUsd: 2 };
  const changed = applyAgentChange(acceptUpgradeIn(asking(), answer(1)), { to: "2", price });
  expect(changed).toMatchObject({ phase: "AwaitingLLM", pausedFrom: null, agentVersion: "2", price });
  expect(upgradesOf(changed)).toMatchObject({ accepted: null, lack: null, questions: 1 });
  const other = applyAgentChange(acceptUpgradeIn(asking(), answer(1)), { to: "3" });
  expect(upgradesOf(other).accepted).toEqual({ to: "2", by: "ana" });
  expect(applyAgentChange(changed, { to: "3" }).price).toEqual(price);
  expect(applyAgentChange(IN_PHASE.ExecutingTools(), { to: "3" }).phase).toBe("ExecutingTools");
});

test("forgets with each new version what an older one changed of the language, also before the start", () => {
  const changed = { intrinsic: "JSON.parse", tool: "t", epoch: 3 };
  const running = withChangedIntrinsic(IN_PHASE.ExecutingTools(), changed);
  expect(applyAgentChange(running, { to: "2" }).changedIntrinsics).toBeUndefined();
  const idle = withChangedIntrinsic(IN_PHASE.Preparing(), changed);
  expect(fold(idle, { ...EVENT.started, agentVersion: idle.agentVersion }).changedIntrinsics).toEqual([changed]);
  expect(fold(idle, { ...EVENT.started, agentVersion: "2" })).toMatchObject({
    agentVersion: "2",
    phase: "AwaitingLLM",
  });
  expect(fold(idle, { ...EVENT.started, agentVersion: "2" }).changedIntrinsics).toBeUndefined();
});

test("keeps an outage of its model while its code is to mend, and none once its model answers", () => {
  const failure = { code: "IntrinsicChanged", message: "the tool t changed JSON.parse" };
  const retrying = { ...IN_PHASE.RetryingLLM(), outage: { since: 1, attempts: 2 } };
  const { retryAt, outage } = retrying;
  expect(holdForOperator(retrying, { mends: "code", failure })).toMatchObject({
    ...{ phase: "AwaitingAgent", pausedFrom: "RetryingLLM", retryAt, outage },
    upgrades: { lack: { kind: "operator", mends: "code", failure } },
  });
  for (const mends of ["request", "replies"] as const) {
    const held = holdForOperator(retrying, { mends, failure });
    expect(held).toMatchObject({ phase: "AwaitingAgent", pausedFrom: "AwaitingLLM", retryAt: null });
    expect(held.outage).toBeUndefined();
  }
});
