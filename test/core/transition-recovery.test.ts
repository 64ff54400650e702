/** Where each action of the recovery table leads from each phase. */
import { fold } from "../../src/features/compose.ts";
import { describe, expect, test } from "vitest";
import { InvariantViolated } from "../../src/core/ensure.ts";
import { PHASE_NAMES, isAside, isTerminal, mayFollow } from "../../src/core/phases.ts";
import type { Action } from "../../src/core/event.ts";
import { AT, FAILURE, IN_PHASE, EVENT } from "../support/states/states-and-events.ts";

describe.each(PHASE_NAMES)("in %s", (phase) => {
  test.each([
    "abort",
    "cancel",
    "takeover",
    "retry",
    "compact",
    "nudge",
    "again",
    "probe",
    "hold",
    "block",
    "askAgain",
    "postpone",
    "toolBack",
    "warn",
    "stop",
    "tell",
    "compensate",
    "undo",
    "restart",
    "force",
  ] as const)("recovery by %s leads to an allowed phase", (kind) => {
    const state = IN_PHASE[phase]();
    const actions: { readonly [K in Action["kind"]]: Action } = {
      abort: { kind: "abort", failure: FAILURE },
      takeover: { kind: "takeover", from: "owner", takeovers: 1 },
      retry: { kind: "retry", at: AT + 1_000, outage: { since: AT, attempts: 1 } },
      compact: { kind: "compact" },
      nudge: { kind: "nudge", text: "go on" },
      leaveOut: { kind: "leaveOut" },
      limitReply: { kind: "limitReply", tokensMax: 512 },
      again: { kind: "again", call: "c1" },
      cancel: { kind: "cancel" },
      probe: { kind: "probe", call: "c1", at: AT, tried: true },
      hold: { kind: "hold", to: "2" },
      block: { kind: "block", mends: "code", failure: FAILURE },
      askAgain: { kind: "askAgain", call: "c1", gate: "c1-g" },
      postpone: { kind: "postpone", call: "c1", after: "probe" },
      warn: { kind: "warn", expiresAt: AT },
      intrinsicChanged: { kind: "intrinsicChanged", changed: { intrinsic: "JSON.parse", tool: "t", epoch: 1 } },
      toolBack: { kind: "toolBack", call: "c1" },
      tell: { kind: "tell", call: "c4" },
      stop: { kind: "stop", failure: FAILURE, text: "You have to stop now." },
      compensate: { kind: "compensate" },
      undo: { kind: "undo", call: "c1" },
      restart: { kind: "restart", text: "Begin again." },
      tryAgain: { kind: "tryAgain", failure: FAILURE, try: 2, tries: 3 },
      force: { kind: "force" },
    };
    const decide = () => fold(state, EVENT.decided(actions[kind])).phase;
    const hasCalls = [
      "ExecutingTools",
      "AwaitingApproval",
      "AwaitingReconcile",
      "AwaitingChildren",
      "Paused",
      "AwaitingAgent",
    ].includes(phase);
    const leads = {
      abort: phase,
      cancel: phase,
      probe: hasCalls ? phase : null,
      takeover: phase,
      retry: ["AwaitingLLM", "RetryingLLM", "Compacting"].includes(phase) ? "RetryingLLM" : null,
      compact: ["AwaitingLLM", "RetryingLLM", "Compacting"].includes(phase) ? "Compacting" : null,
      nudge: !isAside(phase) && mayFollow(phase, "AwaitingLLM") ? "AwaitingLLM" : null,
      again: hasCalls ? phase : null,
      tell: phase === "ExecutingTools" || isAside(phase) ? phase : null,
      hold: "AwaitingAgent",
      block: "AwaitingAgent",
      leaveOut: phase,
      warn: phase,
      limitReply: phase,
      // No gate of these states asks again.
      askAgain: null,
      // No call of these states is known not to have begun.
      postpone: null,
      // No call of these states lacks its tool.
      toolBack: null,
      stop: ["AwaitingLLM", "RetryingLLM", "Compacting", "ForceStop"].includes(phase) ? "ForceStop" : null,
      // Calls of these states may be running: they are unknown before anything is undone.
      compensate: ["ExecutingTools", "AwaitingChildren", "Preparing", "Paused", "AwaitingAgent"].includes(phase)
        ? null
        : "ExecutingTools",
      // Nothing of these states can be undone.
      undo: null,
      // No end is decided.
      force: null,
      restart:
        phase !== "AwaitingChildren" && mayFollow(phase, "AwaitingLLM") && !isAside(phase) ? "AwaitingLLM" : null,
    }[kind];
    if (leads === null || isTerminal(phase)) expect(decide).toThrow(InvariantViolated);
    else expect(decide()).toBe(leads);
  });
});
