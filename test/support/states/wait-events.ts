/** Events and states of runs with calls that wait, for tests. */
import type { Event, EventOf } from "../../../src/core/event.ts";
import { newCall } from "../../../src/core/calls/open-calls.ts";
import { inline } from "../../../src/core/message.ts";
import type { Json } from "../../../src/core/json.ts";
import type { OpenCall, State } from "../../../src/core/state.ts";
import type { Wait, WaitKind, WaitTerms } from "../../../src/core/wait.ts";

const AT = 1_700_000_000_000;
const SHA = "0".repeat(64);

const WAIT_UNTIL = AT + 5_000;

const TERMS: { readonly [K in WaitKind]: WaitTerms } = {
  answer: { for: "answer", until: WAIT_UNTIL, atLimit: { kind: "tell" }, schema: { type: "object" } },
  event: { for: "event", event: "paid", until: null, atLimit: { kind: "tell" } },
  time: { for: "time", until: WAIT_UNTIL, atLimit: { kind: "tell" } },
};

const termsOf = (kind: WaitKind): WaitTerms => TERMS[kind];

const waitBegun = (call: string, kind: WaitKind = "answer", change: Partial<WaitTerms> = {}): EventOf<"WaitBegun"> => ({
  ...{ kind: "WaitBegun", at: AT, call, epoch: 1 },
  wait: { ...termsOf(kind), ...change },
});

const answerCame = (call: string, json: Json = { yes: true }, asked = 1, by = "ada"): Event => ({
  ...{ kind: "MessageAbsorbed", at: AT, stage: "taken", message: `answer#${call}#${asked}#${by}` },
  body: { kind: "answer", call, question: asked, value: inline(json), by },
});

const eventCame = (id: string, json: Json = null, event = "paid"): Event => ({
  ...{ kind: "MessageAbsorbed", at: AT, stage: "taken", message: `signal#${id}` },
  body: { kind: "signal", event, value: inline(json), by: "shop" },
});

const inputRefused = (call: string, asked = 1): EventOf<"InputRefused"> => ({
  ...{ kind: "InputRefused", at: AT, call, question: asked, by: "ada", why: "yes: expected boolean" },
});

const inputIgnored: EventOf<"InputIgnored"> = {
  ...{ kind: "InputIgnored", at: AT, for: "answer", name: "c8", by: "ada", why: "its question was closed" },
};

/** The same state with a call c8 that waits, and that was answered. */
export function withWait(state: State): State {
  const wait: Wait = {
    ...termsOf("answer"),
    from: AT,
    question: 1,
    given: { value: inline({ yes: true }), by: "ada" },
  };
  const waiting: OpenCall = {
    ...newCall("c8", "askHuman"),
    status: "started",
    intent: { effect: "none", key: "ask-c8", argsDigest: SHA },
    releasedBy: 1,
    heldBy: { ...wait, by: "wait" },
  };
  return { ...state, open: [...state.open, waiting] };
}

export const WAIT_EVENTS = { waitBegun, answerCame, eventCame, inputRefused, inputIgnored };
