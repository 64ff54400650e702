/**
 * The ledger of outside effects: what is owed for a call, and the resume table. What happens to a call that a crash
 * left open is computed from how its tool may be repeated, never guessed (seed 4).
 */
import type { Effect } from "../event.ts";
import { BOUNDS } from "../limits.ts";
import type { Value } from "../message.ts";
import { ensure } from "../ensure.ts";
import type { OpenCall, State } from "../state.ts";

export interface ResumeRow {
  readonly effect: Effect;
  /** What a new owner does with a call that another invocation released and nobody settled. */
  readonly onCrash: "again" | "probe" | "ask";
  /** What follows a try that ended without an answer, and what follows the last one. */
  readonly onTimeout: "again" | "probe" | "ask";
  readonly afterLastTry: "tell" | "ask";
  readonly inWords: string;
}

const AGAIN = { onCrash: "again", onTimeout: "again", afterLastTry: "tell" } as const;

/**
 * One row per effect. `probe` asks the other side; `again` is always with the same key; `ask` blocks the run until a person or a policy says what
 * happened; `tell` lets the model go on, knowing that the outcome is unknown.
 */
export const RESUME: { readonly [E in Effect]: ResumeRow } = {
  none: { effect: "none", ...AGAIN, inWords: "runs again at once" },
  keyed: { effect: "keyed", ...AGAIN, inWords: "runs again at once with the same key" },
  probed: {
    ...{ effect: "probed", onCrash: "probe", onTimeout: "probe", afterLastTry: "ask" },
    inWords: "asks the other side; if it did not happen, runs again with the same key",
  },
  unsafe: {
    ...{ effect: "unsafe", onCrash: "ask", onTimeout: "ask", afterLastTry: "ask" },
    inWords: "never runs again by itself: blocked until it is reconciled",
  },
};

/** From what may be repeated freely to what may not be repeated at all. */
const STRICTNESS: readonly Effect[] = ["none", "keyed", "probed", "unsafe"];

/**
 * The call as it may be repeated by code whose tool says `effect` today. Of that and of what its tool said when it was
 * released the stricter counts: the call went out under the one, and would be repeated under the other.
 */
export function asDeclared(call: OpenCall, effect: Effect): OpenCall {
  const { intent } = call;
  const isStricter = intent !== null && STRICTNESS.indexOf(effect) > STRICTNESS.indexOf(intent.effect);
  return isStricter ? { ...call, intent: { ...intent, effect } } : call;
}

/** A crash found the call open. Without its tool nobody can repeat it. */
export function afterCrash(call: OpenCall, toolKnown: boolean): "again" | "probe" | "ask" {
  return toolKnown && call.intent !== null ? RESUME[call.intent.effect].onCrash : "ask";
}

/** A try ended without an answer: a timeout, or a tool that says it cannot tell. */
export function afterSilence(call: OpenCall): "again" | "probe" | "ask" | "tell" {
  const row = RESUME[call.intent?.effect ?? "unsafe"];
  return call.tries + 1 < BOUNDS.callTriesMax ? row.onTimeout : row.afterLastTry;
}

/**
 * The arguments of a call: what a person gave it, or else from the reply that proposed it. Those of an undo are those of
 * what it undoes.
 */
export function argsOf(state: State, call: string): Value {
  const { edited = null } = state.open.find((open) => open.call === call) ?? {};
  return edited ?? proposedArgsOf(state, call);
}

/** The same without what a person gave an open call. */
export function proposedArgsOf(state: State, call: string): Value {
  const of = state.open.find((open) => open.call === call)?.undoes ?? call;
  for (const { parts } of state.messages.toReversed()) {
    for (const part of parts) {
      if (part.kind === "result" && part.call === of && part.edited !== null) return part.edited;
      if (part.kind === "call" && part.call === of) return part.args;
    }
  }
  ensure(false, `no reply proposed call ${of}`);
}

/** What a call came to, where it succeeded; null where nobody knows whether it happened. */
export function resultOf({ messages }: State, call: string): Value | null {
  const results = messages.flatMap(({ parts }) => parts.filter((part) => part.kind === "result"));
  const found = results.find((part) => part.call === call);
  return found?.outcome === "succeeded" ? found.value : null;
}

/** Only the epoch that released it may start it: anybody else cannot know whether it was started. */
export const startsOnce = (call: OpenCall): boolean =>
  call.intent?.effect === "unsafe" || call.intent?.effect === "probed";
