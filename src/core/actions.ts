/** What the decisions of the recovery table change, apart from those of features. */
import { settleHeld } from "./calls/held-ends.ts";
import { afterCalls, message, settleCall, updateCall } from "./calls/open-calls.ts";
import { afterAttempt, permitAgain, postponeCall } from "./calls/postponed.ts";
import { ensure } from "./ensure.ts";
import type { ActionRows, KernelActionKind } from "./features.ts";
import { inline, text } from "./message.ts";
import { lacksTool } from "./outstanding.ts";
import { withChangedIntrinsic } from "./policy/changed-intrinsics.ts";
import { holdForAgent, holdForOperator } from "./policy/holds.ts";
import { endOutage, withRetry } from "./policy/outage.ts";
import { beginStopping } from "./policy/stopping.ts";
import { beginCompaction } from "./policy/window.ts";

export const KERNEL_ACTIONS: ActionRows<KernelActionKind> = {
  retry: withRetry,
  compact: beginCompaction,
  nudge: (state, action, { at }) => ({
    ...endOutage(state, at),
    phase: "AwaitingLLM",
    nudges: state.nudges + (action.isCut === true ? 0 : 1),
    messages: [...state.messages, message(state, at, "cairn", "user", [text(action.text)])],
  }),
  stop: (state, action, { at }) => beginStopping(state, { ...action, at }),
  abort: (state, action, { at }) => ({ ...settleHeld(state, "child", at), ending: { ...action, kind: "failed" } }),
  force: (state) => {
    ensure(state.ending !== null, "only a decided end is forced");
    return { ...state, ending: { ...state.ending, forced: true } };
  },
  cancel: (state, _, { at }) => ({
    ...settleHeld(settleHeld(state, "child", at), "wait", at),
    ending: { kind: "cancelled" },
  }),
  probe: (state, action) =>
    updateCall(state, action.call, (open) => ({
      ...(action.tried ? afterAttempt(open) : open),
      probeAt: action.at,
      ...(action.restored === undefined ? {} : { restored: action.restored }),
    })),
  again: (state, { call }) => updateCall(state, call, afterAttempt),
  postpone: postponeCall,
  tell: (state, action, { at, why }) => {
    const { status } = state.open.find(({ call }) => call === action.call) ?? {};
    ensure(status === "unknown", `call ${action.call} is not unknown`);
    return settleCall(state, action.call, { outcome: "unknown", value: inline(why), at });
  },
  hold: (state, { to }, { why }) => holdForAgent(state, to === null ? { kind: "agent", why } : { kind: "upgrade", to }),
  block: holdForOperator,
  intrinsicChanged: (state, { changed }) => withChangedIntrinsic(state, changed),
  leaveOut: (state) => ({ ...state, leavesOut: true }),
  limitReply: (state, { tokensMax }) => ({ ...state, replyTokensMax: tokensMax }),
  warn: (state, { expiresAt }) => (expiresAt === null ? state : { ...state, warnedOf: expiresAt }),
  toolBack: (state, action) =>
    afterCalls(
      updateCall(state, action.call, (open) => {
        ensure(lacksTool(open), `call ${action.call} waits for no tool`);
        if (open.unbegun !== undefined) return { ...permitAgain(open), toolGone: false };
        return { ...open, status: "started", toolGone: false, reconcilableFrom: null };
      }),
    ),
  takeover: (state) => state,
};
