/**
 * Calls that were agreed and did not begin, as changes of the state: no time was left for them, or their process has
 * to end. They keep their intent and their key, and a later beat releases them.  Schedule 210: a probe finds that a
 * call did not happen, and uses up the beat. If the call were settled as not started, its effect would be lost unless
 * the model asked again. Schedule 212: only the invocation that released a call knows that it did not begin. A later
 * one cannot know it, so it decides by the effect table.
 */
import { ensure } from "../ensure.ts";
import type { Action } from "../event.ts";
import { BOUNDS } from "../limits.ts";
import type { OpenCall, State } from "../state.ts";
import { isReleased, withoutHold } from "./held-calls.ts";
import { afterCalls, isNext, updateCall } from "./open-calls.ts";

type Postpone = Extract<Action, { readonly kind: "postpone" }>;

/** Postpones the call. It is permitted then, unless an earlier try of it may still take effect. */
export function postponeCall(state: State, { call, after, missed }: Postpone): State {
  return afterCalls(
    updateCall(state, call, (open) => {
      ensure(open.intent !== null, `call ${call} is postponed without an intent`);
      ensure(isKnownUnbegun(open, after), `call ${call} may have begun, so it is not postponed`);
      const before = open.postponed;
      const postponed = {
        missed: (before?.missed ?? 0) + (missed === true ? 1 : 0),
        ...((after !== "intent" || wasDebited(open)) && { released: true as const }),
        ...((after === "probe" || before?.begunBefore === true) && { begunBefore: true as const }),
      };
      if (after === "intent" || after === "retry") return { ...open, postponed };
      return { ...open, status: "permitted", releasedBy: null, probeAt: null, postponed };
    }),
  );
}

/** What the state says of the call agrees with how the invocation knows that it did not begin. */
function isKnownUnbegun(open: OpenCall, after: Postpone["after"]): boolean {
  if (after === "intent") return isNext(open);
  return isReleased(open) && (after === "probe" || open.probeAt === null);
}

/** The call after a human said that it did not happen, and that it is to be made: the next release performs it. */
export function permitAgain(call: OpenCall): OpenCall {
  const { unbegun: _, postponed, ...rest } = withoutChild(call);
  const again = { status: "permitted", releasedBy: null, answer: null, reconcilableFrom: null } as const;
  return { ...rest, ...again, ...(postponed !== undefined && { postponed: { ...postponed, missed: 0 } }) };
}

/** A hand-off that is made again gets a child of its own, so how many it had is kept. */
function withoutChild(call: OpenCall): OpenCall {
  return call.heldBy?.by === "child" ? { ...withoutHold(call), attempts: call.heldBy.try } : call;
}

/** The call after an attempt that gave no final outcome. It began, so it is not postponed any more. */
export function afterAttempt(call: OpenCall): OpenCall {
  const { postponed: _, ...rest } = call;
  return { ...rest, attempts: call.attempts + 1 };
}

/** The beat that cannot start it now is one too many. */
export const isMissedTooOften = ({ postponed }: OpenCall): boolean =>
  (postponed?.missed ?? 0) + 1 >= BOUNDS.missedBeatsMax;

/** An earlier release of the call was debited. */
export const wasDebited = ({ postponed, timesUnknown }: OpenCall): boolean =>
  postponed === undefined ? timesUnknown > 0 : postponed.released === true;
