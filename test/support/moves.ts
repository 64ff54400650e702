/** The next moves of an invocation or an operator, for the walks of `arbitrary.ts`. */
import type { Event, ReplyPart } from "../../src/core/event.ts";
import { inline } from "../../src/core/message.ts";
import { type Command, type View, lacksTool } from "../../src/core/outstanding.ts";
import type { State } from "../../src/core/state.ts";
import { waitsForEarlierCall } from "../../src/core/calls/open-calls.ts";
import { accepts, foldAll } from "../../src/core/transition.ts";
import { upgradesOf } from "../../src/core/policy/upgrades.ts";
import type { Move } from "./move.ts";
import { compactable, summed } from "./compacting.ts";
import { AT, FAILURE, answer, cancelled, decided, heard, paused, resumed, stopped } from "./build.ts";
import {
  calls,
  decision,
  gated,
  intended,
  invoked,
  lostSight,
  reconciled,
  replied,
  resulted,
  says,
  startedEvent,
} from "./build.ts";

import { retryOf } from "./outage-moves.ts";
import { failedEnd, failureIn } from "./redrive-moves.ts";
import { upgraded } from "./upgrade-moves.ts";
import { textOf } from "./words.ts";
import { type SagaCommand, isOfSaga, undoEnds, undoEvents, wishes } from "./undo-moves.ts";

const move = (...events: readonly Event[]): Move => ({ events: () => events });

export function movesOf(command: Command, state: State, view: View): readonly Move[] {
  if (isOfSaga(command)) {
    // Many moves are possible at any time. An undo has several steps, and each must be taken now and then.
    const ways = undoEvents(command, state, view).map((events) => move(...events));
    return Array.from({ length: 4 }, () => ways).flat();
  }
  return movesOn(command, state, view);
}

function movesOn(command: Exclude<Command, SagaCommand>, state: State, view: View): readonly Move[] {
  switch (command.kind) {
    case "prepare":
      return [move(startedEvent), move(startedEvent), move(decided({ kind: "abort", failure: failureIn(state) }))];
    case "end":
      return state.ending?.kind === "failed" ? [move(...failedEnd(state, state.ending.failure))] : [move(cancelled)];
    case "cancel":
      return [move(...neverBegan(state, view), decided({ kind: "cancel" }))];
    case "pause":
      return [move(paused)];
    case "resume":
      return [move(resumed)];
    case "lookAgain":
      return [{ events: () => [], looks: true }, ...found(state)];
    case "probe":
      return command.calls.flatMap((call) => [
        move(reconciled(call, answer("succeeded"))),
        move(invoked(call, view.epoch)),
        move(lostSight(call, view.now + 30)),
      ]);
    case "askModel":
      return [
        ...replies(),
        move(...LOST),
        { events: (_, pick) => retryOf(state, view, pick) },
        ...stops(state),
        ...(compactable(state) ? [move(decided({ kind: "compact" })), move(decided({ kind: "compact" }))] : []),
      ];
    case "compact":
      return [move(summed(state)), move(...LOST), { events: (_, pick) => retryOf(state, view, pick) }];
    case "close":
      return [
        { events: (size, pick) => [replied([says(`Open is ${textOf(size, pick)}`)]), debit(pick % 100)] },
        move(replied([calls("late")])),
        move(...LOST, decided({ kind: "abort", failure: failureIn(state) })),
      ];
    case "judge":
      return [
        move({ kind: "RunEnded", at: AT, status: "completed", result: inline("done") }),
        move({ kind: "CheckFailed", at: AT, check: "c", why: "not yet" }, decided({ kind: "nudge", say: "go on" })),
        move(decided({ kind: "nudge", say: "go on" })),
      ];
    case "wait":
      return [{ events: () => [], waitsUntil: command.until }];
    case "reconcile": {
      const given = state.open.find(({ call }) => call === command.call)?.answer;
      if (given?.as === "compensate") return [move(decided({ kind: "abort", failure: FAILURE }))];
      return given ? [move(reconciled(command.call, given as ReturnType<typeof answer>))] : [];
    }
    case "decide":
    case "expireGate":
    case "giveUp":
      return decisionsOn(command, state);
    case "intend":
      return command.calls.flatMap((call) => intentsOf(call, state, view));
    case "perform":
      return command.calls.flatMap((call) => endsOf(call, state, view));
    case "recover":
      return command.calls.map((call) => recoveryOf(call, state, view));
    case "awaitAnswer":
      // Answers and requests come from outside; see below.
      return [];
  }
}

/** The answers of operators about an open call, or the lack of one in time. */
function decisionsOn(
  { kind, call }: Extract<Command, { readonly kind: "decide" | "expireGate" | "giveUp" }>,
  state: State,
): readonly Move[] {
  const open = state.open.find((each) => each.call === call);
  if (kind === "giveUp") {
    if (open?.otherwise === "tell") return [move(decided({ kind: "tell", call }))];
    const next = open?.otherwise === "fail" ? ({ next: "end" } as const) : {};
    return [move(decided({ kind: "abort", failure: FAILURE, ...next }))];
  }
  const gate = open?.gate;
  if (!gate) return [];
  const expired = { as: "deny", args: null, by: "expiry", note: null } as const;
  const decision = kind === "decide" ? gate.decision : expired;
  return decision === null ? [] : [move({ kind: "HumanApprovalReceived", at: AT, gate: gate.gate, call, decision })];
}

/** The code that the run waits for is deployed. */
function found(state: State): readonly Move[] {
  if (state.phase !== "AwaitingAgent") {
    const back = state.open.filter(lacksTool).map(({ call }) => decided({ kind: "toolBack", call }));
    return [{ ...move(...back), looks: true }];
  }
  const { lack } = upgradesOf(state);
  const to = lack?.kind === "upgrade" ? lack.to : `${state.agentVersion}.1`;
  return [
    { ...move(resumed), looks: true },
    { ...move({ kind: "AgentChanged", at: AT, from: state.agentVersion, to, by: "ada" }), looks: true },
    { ...move(decided({ kind: "hold", to: `${to}.1` })), looks: true },
  ];
}

/** The calls that this invocation released and did not start. */
const neverBegan = (state: State, { epoch }: View): readonly Event[] =>
  state.open
    .filter(
      ({ status, releasedBy, probeAt, tries, undoes }) =>
        undoes === undefined && status === "started" && releasedBy === epoch && !probeAt && !tries,
    )
    .map(({ call }) => ({ ...resulted(call, "NotStarted"), outcome: "failed" }) as Event);

/** The moves that are possible whatever is outstanding. */
export function asides(state: State, { pause }: View): readonly Move[] {
  const unanswered = state.open.filter((open) => open.status === "unknown" && open.answer === null);
  const undecided = state.open.flatMap(({ gate }) => (gate !== null && gate.decision === null ? [gate.gate] : []));
  return [
    move({ kind: "AgentChanged", at: AT, from: state.agentVersion, to: `${state.agentVersion}.1` }),
    move(decided({ kind: "takeover", from: "somebody", takeovers: 1 })),
    ...(accepts(state.phase, "RunPaused") && upgradesOf(state).asked < 2 && state.messages.length % 8 === 3
      ? [{ events: (_: number, pick: number) => [decided({ kind: "hold", to: pick % 2 === 0 ? null : "next" })] }]
      : []),
    ...upgraded(state),
    ...undecided.map((gate): Move => ({ events: (_, pick) => [decidedOn(gate, state, pick)] })),
    ...unanswered.map(({ call }): Move => ({ events: (_, pick) => [answered(call, state, pick)] })),
    { events: (size, pick) => [heard(textOf(size, pick), `${state.messages.length}-${state.absorbed.length}`)] },
    ...(state.children.length < 2
      ? [move({ kind: "ChildStarted", at: AT, child: `local-child${state.children.length}` })]
      : []),
    ...(state.messages.length % 8 === 5 ? [move(ignored)] : []),
    { events: () => [], asks: { pause: !pause } },
    ...wishes(state),
    ...(pause ? [{ events: () => [], asks: { pause: false } }] : []),
    ...state.absorbed.map((message) => move({ kind: "MessageAbsorbed", at: AT, stage: "cleared", message })),
    ...(state.ending === null && state.messages.length > 8
      ? [move(decided({ kind: "abort", failure: failureIn(state) })), { events: () => [], asks: { cancel: true } }]
      : []),
  ];
}

const ignored: Event = { kind: "DecisionIgnored", at: AT, gate: "c1-gate", as: "deny", by: "ada", why: "it ended" };

const debit = (tokensIn: number, toolCalls = 0): Event => ({
  kind: "BudgetDebited",
  at: AT,
  debit: toolCalls > 0 ? { toolCalls } : { tokensIn, tokensOut: 5, microUsd: 2 * tokensIn, beats: 1 },
  for: "test",
});

const LOST: readonly Event[] = [
  { kind: "ModelCallLost", at: AT, calls: 1, why: "its process ended" },
  { kind: "BudgetDebited", at: AT, debit: { tokensIn: 7, microUsd: 3 }, for: "lost" },
];

function replies(): readonly Move[] {
  const reply = (parts: (size: number, pick: number) => readonly ReplyPart[]): Move => ({
    events: (size, pick) => [replied(parts(size, pick)), debit(pick % 100)],
  });
  const many = (size: number, pick: number): ReplyPart[] =>
    ["a", "b", "c", "d"].slice(0, 1 + (pick % 4)).map((tool) => calls(tool, textOf(size, pick)));
  return [
    reply(many),
    reply((size, pick) => [says(textOf(size, pick)), ...many(size, pick)]),
    reply((size, pick) => [{ kind: "reasoning", text: textOf(size, pick), provider: null }, ...many(size, pick)]),
    reply((size, pick) => [says(`I am done. ${textOf(size, pick)}`)]),
    reply(() => []),
  ];
}

/** Only a run with completed calls can be in a loop. */
const stops = ({ messages }: State): readonly Move[] =>
  messages.length % 7 === 5 ? [move({ kind: "CrackSignalled", at: AT, crack: "runaway", why: "again" }, stopped)] : [];

const EFFECTS = ["none", "keyed", "probed", "unsafe"] as const;

const effectOf = (call: string, state: State) => state.open.find((open) => open.call === call)?.intent?.effect;

function intentsOf(call: string, state: State, view: View): readonly Move[] {
  const open = state.open.find((each) => each.call === call);
  const isNew = open?.intent === null || (open?.edited ?? null) !== null;
  const released = (effect: (typeof EFFECTS)[number], marks: object = {}): Move => {
    const intent = isNew ? [{ ...intended(call, effect), ...marks } as Event] : [];
    const after = foldAll(state, intent).open;
    const waits = after.some((each) => each.call === call && waitsForEarlierCall(after, each));
    return move(...intent, ...(waits ? [] : [invoked(call, view.epoch), debit(0, 1)]));
  };
  const isJudged = open?.intent !== null;
  if (open?.undoes !== undefined) {
    return EFFECTS.filter((effect) => !isJudged || effect === open.intent?.effect).map((effect) => released(effect));
  }
  // Calls are judged in the order of the reply; here a call may be too late to ask for approval.
  const mayGate = !isJudged && accepts(foldAll(state, [intended(call, "unsafe")]).phase, "ApprovalRequested");
  return [
    // Other arguments make another intent; the tool and its effect class stay.
    ...EFFECTS.filter((effect) => !isJudged || effect === open?.intent?.effect).map((effect) => released(effect)),
    ...(isJudged ? [] : [released("keyed", { alone: true, business: true }), released("keyed", { undo: true })]),
    ...(isJudged ? [] : [released("unsafe", { undo: true })]),
    ...(mayGate ? [move(intended(call, "unsafe"), gatedUntil(call, view.now + 40))] : []),
    ...(isNew ? [move({ ...resulted(call, "refused"), outcome: "failed" } as Event)] : []),
  ];
}

function endsOf(call: string, state: State, view: View): readonly Move[] {
  const effect = effectOf(call, state);
  const isUnsafe = effect === "unsafe";
  const probed = decided({ kind: "probe", call, at: view.now + 30, tried: true });
  const again = effect === "probed" ? probed : decided({ kind: "again", call });
  if (call.startsWith("undo-")) return undoEnds(call, { isUnsafe, again, view });
  const otherwise = (["ask", "tell", "fail", "compensate"] as const)[state.messages.length % 4];
  const silent = isUnsafe ? ({ ...lostSight(call, view.now + 30), otherwise } as Event) : again;
  const exists = { ...reconciled(call, answer("succeeded")), evidence: "it exists", externalId: "x" } as Event;
  return [
    { performs: true, events: (size, pick) => [resulted(call, textOf(size, pick))] },
    { performs: true, events: () => [silent] },
    ...(isUnsafe ? [] : [{ performs: true, events: () => [lostSight(call, null)] }]),
    ...(isUnsafe ? [] : [{ performs: true, events: () => [exists] }]),
  ];
}

function recoveryOf(call: string, state: State, view: View): Move {
  const effect = effectOf(call, state);
  const at = view.effectsSettleAt + 30;
  if (call === "c3" && effect !== "unsafe") return move({ ...lostSight(call, at), toolGone: true } as Event);
  if (effect === "probed") return move(decided({ kind: "probe", call, at, tried: false }));
  return move(effect === "unsafe" ? lostSight(call, at) : invoked(call, view.epoch));
}

const gatedUntil = (call: string, expiresAt: number): Event => ({ ...gated(call), expiresAt }) as Event;

function decidedOn(gate: string, state: State, pick: number): Event {
  const as = (["approve", "deny", "edit"] as const)[pick % 3] ?? "deny";
  const ids = Array.from({ length: state.absorbed.length + 1 }, (_, index) => `gate#${gate}#${index}`);
  const message = ids.find((id) => !state.absorbed.includes(id)) ?? "";
  // Now and then the decision is about a gate that is not open.
  const meant = pick % 5 === 0 ? `${gate}-other` : gate;
  const body = { kind: "decision", gate: meant, decision: decision(as, textOf(9, pick)) } as const;
  return { kind: "MessageAbsorbed", at: AT, stage: "taken", message, body };
}

const WAYS = ["succeeded", "failed", "retry"] as const;

function answered(call: string, state: State, pick: number): Event {
  const asked = state.open.find((open) => open.call === call)?.asked ?? 0;
  const open = state.open.find((each) => each.call === call);
  const ways = open?.intent?.undo === true ? (["compensate", "failed", "retry"] as const) : WAYS;
  const given = answer(ways[pick % 3] ?? "retry");
  const body = { kind: "reconcile", call, asked, answer: given } as const;
  const ids = Array.from({ length: state.absorbed.length + 1 }, (_, index) => `reconcile#${call}#${asked}#${index}`);
  const message = ids.find((id) => !state.absorbed.includes(id)) ?? "";
  // Now and then the answer is to a question that is not open.
  const said = pick % 5 === 0 ? { ...body, asked: 99 } : body;
  return { kind: "MessageAbsorbed", at: AT, stage: "taken", message, body: said };
}
