/** The next operations of an invocation, for the walks of `random-walks.ts`. */
import { EFFECT_NAMES, type Effect } from "../../../src/core/calls/effects.ts";
import { accepts, foldAll } from "../../../src/features/compose.ts";
import { upgradesOf } from "../../../src/core/policy/holds.ts";
import type { WaitCommand, ChildCommand, Command } from "../../../src/core/commands.ts";
import { gateIn } from "../../../src/core/calls/held-calls.ts";
import { waitsForChildren } from "../../../src/core/policy/ending.ts";
import type { Event, ReplyPart, EventOf, Failure } from "../../../src/core/event.ts";
import { inline } from "../../../src/core/message.ts";
import { type View, lacksTool } from "../../../src/core/outstanding.ts";
import { isModelOut } from "../../../src/core/policy/model-out.ts";
import type { State } from "../../../src/core/state.ts";
import { waitsForEarlierCall } from "../../../src/core/calls/open-calls.ts";
import { decideExpiry } from "../../../src/features/deadlines/core.ts";
import { type WalkOperation, operation } from "./operation.ts";
import { compactionEvent } from "../states/compactions.ts";
import { AT, FAILURE, answer, callPart, textPart, eventOf, EVENT } from "../states/states-and-events.ts";

import { failureIn } from "./redrives.ts";
import { multibyteText } from "../values/multibyte-text.ts";
import { type DetachedCallCommand, DETACHED_WALK } from "./detached-operations.ts";
import { type SagaCommand, SAGA_WALK } from "./compensations.ts";
import { compactionRangeOf } from "../../../src/features/compaction/range.ts";
import { unsummarised } from "../../../src/features/result-summaries/core.ts";
import { failedFrom } from "../../../src/core/policy/infrastructure.ts";
import { CHILD_WALK } from "./child-operations.ts";
import { WAIT_WALK } from "./wait-operations.ts";

const moved = () => eventOf("TopologyMoved", "AwaitingLLM") as EventOf<"TopologyMoved">;

/** Not in each state, so that some runs have no topology. */
const sections = ({ messages }: State): readonly WalkOperation[] => {
  const { length } = messages;
  return length % 5 === 3 ? [{ events: () => [{ ...moved(), progress: { length } }] }] : [];
};

const finished = ({ messages }: State): WalkOperation => {
  const { text: _, section: _opens, ...event } = moved();
  return { events: () => [{ ...event, final: messages.at(-1)?.id ?? "" }] };
};

/** Records the decided end like the runner: calls that may be running become unknown first. */
function failedEnd(state: State, failure: Failure): readonly Event[] {
  const from = failedFrom(state);
  if (from === null) return [{ kind: "RunEnded", at: AT, status: "failed", failure }];
  return [
    ...from.started.map((call) => EVENT.outcomeLost(call)),
    { kind: "RunEnded", at: AT, status: "failed", failure, from },
  ];
}

/** The model failed and is called again. */
function retryOf({ outage }: State, { now }: View, pick: number): readonly Event[] {
  const attempts = (outage?.attempts ?? 0) + 1;
  const bare = { since: outage?.since ?? now, attempts };
  const known = { ...bare, notBefore: now + 2_000 };
  const ways = [
    EVENT.decided({ kind: "retry", at: now + 1_000, outage: bare }),
    EVENT.decided({ kind: "retry", at: now + 1_000, outage: known }),
    EVENT.decided({ kind: "retry", at: now, outage: { ...known, model: 1, alarmed: true } }),
  ];
  return ways.slice(pick % ways.length).slice(0, 1);
}

/** The summaries that the state may get next: of the first result without one. */
const summariesIn = (state: State): readonly EventOf<"ResultSummarised">[] =>
  unsummarised(state)
    .slice(0, 1)
    .flatMap(({ call }) => [
      { ...EVENT.summarised, call },
      { ...EVENT.unsummarisable, call },
    ]);

const canCompact = (state: State): boolean => compactionRangeOf(state) !== null;

export function operationsFor(command: Command, state: State, view: View): readonly WalkOperation[] {
  if (SAGA_WALK.isOf(command)) {
    // Many operations are possible at any time. An undo has several steps, and each must be taken now and then.
    const ways = SAGA_WALK.events(command, state, view).map((events) => operation(...events));
    return Array.from({ length: 4 }, () => ways).flat();
  }
  if (CHILD_WALK.isOf(command)) return CHILD_WALK.moves(command, state, view);
  if (WAIT_WALK.isOf(command)) return WAIT_WALK.moves(command, state);
  if (DETACHED_WALK.isOf(command)) return DETACHED_WALK.moves(command);
  if (command.kind === "askModel" && isModelOut(state)) return DETACHED_WALK.submissions(state, view);
  return runnerOperations(command, state, view);
}

const beginnings = (state: State, { now }: View): readonly WalkOperation[] => [
  operation(EVENT.started),
  operation(EVENT.started, EVENT.recalled),
  operation({ ...EVENT.started, deadline: { at: now + 900, endBy: now + 1_200, onExpiry: "undo" } }),
  operation(EVENT.decided({ kind: "abort", failure: failureIn(state) })),
];

const closingOperations = (state: State): readonly WalkOperation[] => [
  { events: (size, pick) => [EVENT.replied([textPart(`Open is ${multibyteText(size, pick)}`)]), debit(pick % 100)] },
  operation(EVENT.replied([callPart("late")])),
  operation(...LOST, EVENT.decided({ kind: "abort", failure: failureIn(state) })),
];

/** Schedule 254: a part may follow while a child is out that is not waited for, and the end may not. */
const verdictOperations = (state: State): readonly WalkOperation[] => [
  ...(waitsForChildren(state)
    ? []
    : [
        operation({ kind: "RunEnded", at: AT, status: "completed", result: inline("done") }),
        operation(EVENT.learned, { kind: "RunEnded", at: AT, status: "completed", result: inline("done") }),
      ]),
  operation(
    { kind: "CheckFailed", at: AT, check: "c", why: "not yet" },
    EVENT.decided({ kind: "nudge", text: "go on" }),
  ),
  operation(EVENT.decided({ kind: "nudge", text: "go on" })),
  ...sections(state),
  ...(state.messages.length % 3 === 0 ? [finished(state)] : []),
];

const probeOperations = (call: string, view: View): readonly WalkOperation[] => [
  operation(EVENT.reconciled(call, answer("succeeded"))),
  {
    events: (_, pick) => [
      pick % 5 === 0 ? EVENT.decided({ kind: "postpone", call, after: "probe" }) : EVENT.invoked(call, view.epoch),
    ],
  },
  operation(EVENT.outcomeLost(call, view.now + 30)),
];

function runnerOperations(
  command: Exclude<Command, SagaCommand | ChildCommand | WaitCommand | DetachedCallCommand>,
  state: State,
  view: View,
): readonly WalkOperation[] {
  switch (command.kind) {
    case "prepare":
      return beginnings(state, view);
    case "end":
      return state.ending?.kind === "failed"
        ? [operation(...failedEnd(state, state.ending.failure))]
        : [operation(EVENT.cancelled)];
    case "cancel":
      return [operation(...neverBegan(state, view), EVENT.decided({ kind: "cancel" }))];
    case "pause":
      return [operation(EVENT.paused)];
    case "resume":
      return [operation(EVENT.resumed)];
    case "lookAgain":
      return [{ events: () => [], looks: true }, ...found(state)];
    case "probe":
      return command.calls.flatMap((call) => probeOperations(call, view));
    case "askModel":
      return [
        ...replies(),
        ...DETACHED_WALK.submissions(state, view),
        ...summariesIn(state).map((event) => operation(event, debit(3))),
        operation(...LOST),
        { events: (_, pick) => retryOf(state, view, pick) },
        ...stops(state),
        ...sections(state),
        operation(EVENT.chose),
        operation(EVENT.leftOut),
        ...(state.messages.some(({ role }) => role === "assistant") ? [operation(EVENT.stopped)] : []),
        ...(canCompact(state)
          ? [operation(EVENT.decided({ kind: "compact" })), operation(EVENT.decided({ kind: "compact" }))]
          : []),
      ];
    case "compact":
      return [
        operation(compactionEvent(state)),
        operation(...LOST),
        { events: (_, pick) => retryOf(state, view, pick) },
      ];
    case "close":
      return closingOperations(state);
    case "judge":
      return verdictOperations(state);
    case "wait":
      return [{ events: () => [], waitsUntil: command.until }];
    case "reconcile": {
      const given = state.open.find(({ call }) => call === command.call)?.answer;
      if (given?.as === "compensate") return [operation(EVENT.decided({ kind: "abort", failure: FAILURE }))];
      return given ? [operation(EVENT.reconciled(command.call, given as ReturnType<typeof answer>))] : [];
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
    case "expire":
      return [operation(decideExpiry(state, view.now))];
    case "awaitAnswer":
      // Answers and requests come from outside; see below.
      return command.until === undefined ? [] : [{ events: () => [], waitsUntil: command.until }];
  }
}

/** The answers of operators about an open call, or the lack of one in time. */
function decisionsOn(
  { kind, call }: Extract<Command, { readonly kind: "decide" | "expireGate" | "giveUp" }>,
  state: State,
): readonly WalkOperation[] {
  const open = state.open.find((each) => each.call === call);
  if (kind === "giveUp") {
    if (open?.onUnknown === "tell") return [operation(EVENT.decided({ kind: "tell", call }))];
    const next = open?.onUnknown === "fail" ? ({ next: "end" } as const) : {};
    return [operation(EVENT.decided({ kind: "abort", failure: FAILURE, ...next }))];
  }
  const gate = open === undefined ? null : gateIn(open);
  if (gate === null) return [];
  const expired = { as: "deny", args: null, by: "expiry", note: null } as const;
  const decision = kind === "decide" ? gate.decision : expired;
  return decision === null
    ? []
    : [operation({ kind: "HumanApprovalReceived", at: AT, gate: gate.gate, call, decision })];
}

/** The code that the run waits for is deployed. */
function found(state: State): readonly WalkOperation[] {
  if (state.phase !== "AwaitingAgent") {
    const back = state.open.filter(lacksTool).map(({ call }) => EVENT.decided({ kind: "toolBack", call }));
    return [{ ...operation(...back), looks: true }];
  }
  const { lack } = upgradesOf(state);
  const to = lack?.kind === "upgrade" ? lack.to : `${state.agentVersion}.1`;
  return [
    { ...operation(EVENT.resumed), looks: true },
    { ...operation({ kind: "AgentChanged", at: AT, from: state.agentVersion, to, by: "ada" }), looks: true },
    { ...operation(EVENT.decided({ kind: "hold", to: `${to}.1` })), looks: true },
  ];
}

/** The calls that this invocation released and did not start. */
const neverBegan = (state: State, { epoch }: View): readonly Event[] =>
  state.open
    .filter(
      ({ status, releasedBy, probeAt, attempts, undoes, heldBy }) =>
        undoes === undefined &&
        heldBy === undefined &&
        status === "started" &&
        releasedBy === epoch &&
        !probeAt &&
        !attempts,
    )
    .map(({ call }) => ({ ...EVENT.resulted(call, "NotStarted"), outcome: "failed" }) as Event);

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

function replies(): readonly WalkOperation[] {
  const reply = (parts: (size: number, pick: number) => readonly ReplyPart[]): WalkOperation => ({
    events: (size, pick) => [EVENT.replied(parts(size, pick)), debit(pick % 100)],
  });
  const many = (size: number, pick: number): ReplyPart[] =>
    ["a", "b", "c", "d"].slice(0, 1 + (pick % 4)).map((tool) => callPart(tool, multibyteText(size, pick)));
  return [
    reply(many),
    reply((size, pick) => [textPart(multibyteText(size, pick)), ...many(size, pick)]),
    reply((size, pick) => [
      { kind: "reasoning", text: multibyteText(size, pick), provider: null },
      ...many(size, pick),
    ]),
    reply((size, pick) => [textPart(`I am done. ${multibyteText(size, pick)}`)]),
    reply(() => []),
  ];
}

/** Only a run with completed calls can be in a loop. */
const stops = ({ messages }: State): readonly WalkOperation[] =>
  messages.length % 7 === 5
    ? [
        operation(
          { kind: "CrackSignalled", at: AT, crack: "runaway", why: "again", times: 1, section: 0 },
          EVENT.stopDecided,
        ),
      ]
    : [];

const effectOf = (call: string, state: State) => state.open.find((open) => open.call === call)?.intent?.effect;

/** It can be undone, and its schema made something else of its arguments. */
const MARKS = { undo: true, parsed: { as: "value", json: inline({ stamp: 1 }) } } as const;

function intentsOf(call: string, state: State, view: View): readonly WalkOperation[] {
  const open = state.open.find((each) => each.call === call);
  const isNew = open?.intent === null || (open?.edited ?? null) !== null;
  const released = (effect: Effect, marks: object = {}): WalkOperation => {
    const intent = isNew ? [{ ...EVENT.intended(call, effect), ...marks } as Event] : [];
    const after = foldAll(state, intent).open;
    const waits = after.some((each) => each.call === call && waitsForEarlierCall(after, each));
    return operation(...intent, ...(waits ? [] : [EVENT.invoked(call, view.epoch), debit(0, 1)]));
  };
  const isJudged = open?.intent !== null;
  if (open?.undoes !== undefined) {
    return EFFECT_NAMES.filter((effect) => !isJudged || effect === open.intent?.effect).map((effect) =>
      released(effect),
    );
  }
  // Calls are judged in the order of the reply; here a call may be too late to ask for approval.
  const mayGate = !isJudged && accepts(foldAll(state, [EVENT.intended(call, "unsafe")]).phase, "ApprovalRequested");
  return [
    // Other arguments make another intent; the tool and its effect class stay.
    ...EFFECT_NAMES.filter((effect) => !isJudged || effect === open?.intent?.effect).map((effect) => released(effect)),
    ...(isJudged ? [] : [released("keyed", { alone: true, business: true }), released("keyed", MARKS)]),
    ...(isJudged ? [] : [released("unsafe", { undo: true })]),
    ...(mayGate ? [operation(EVENT.intended(call, "unsafe"), gatedUntil(call, view.now + 40))] : []),
    ...(isJudged || waitsFirst(call, state)
      ? []
      : [
          operation(EVENT.intended(call, "keyed"), CHILD_WALK.dispatch(call, 1, state, view), debit(0, 1)),
          {
            events: (_: number, pick: number) => [
              EVENT.intended(call, "none"),
              WAIT_WALK.wait(call, view, pick),
              debit(0, 1),
            ],
          },
        ]),
    ...(isNew ? [operation({ ...EVENT.resulted(call, "refused"), outcome: "failed" } as Event)] : []),
  ];
}

/** The call may not be released before another one. */
const waitsFirst = (call: string, state: State): boolean => {
  const after = foldAll(state, [EVENT.intended(call, "keyed")]).open;
  return after.some((each) => each.call === call && waitsForEarlierCall(after, each));
};

function endsOf(call: string, state: State, view: View): readonly WalkOperation[] {
  const effect = effectOf(call, state);
  const isUnsafe = effect === "unsafe";
  const probed = EVENT.decided({ kind: "probe", call, at: view.now + 30, tried: true });
  const again = effect === "probed" ? probed : EVENT.decided({ kind: "again", call });
  if (call.startsWith("undo-")) return SAGA_WALK.outcomes(call, { isUnsafe, again, view });
  const otherwise = (["ask", "tell", "fail", "compensate"] as const)[state.messages.length % 4];
  const silent = isUnsafe ? ({ ...EVENT.outcomeLost(call, view.now + 30), onUnknown: otherwise } as Event) : again;
  const exists = { ...EVENT.reconciled(call, answer("succeeded")), evidence: "it exists", externalId: "x" } as Event;
  return [
    {
      performs: true,
      // Some results are too long to show, and get a summary before the next reply.
      events: (size, pick) => [
        pick % 3 === 0 ? EVENT.resultedLarge(call) : EVENT.resulted(call, multibyteText(size, pick)),
      ],
    },
    { performs: true, events: () => [silent] },
    ...(isUnsafe ? [] : [{ performs: true, events: () => [EVENT.outcomeLost(call, null)] }]),
    ...(isUnsafe ? [] : [{ performs: true, events: () => [exists] }]),
    ...(state.messages.length % 4 === 3 ? [postponement(call, state)] : []),
  ];
}

/** No time is left for the call. Now and then that was so for long, and an operator is asked. */
function postponement(call: string, state: State): WalkOperation {
  const missed = EVENT.decided({ kind: "postpone", call, after: "release", missed: true });
  const isLast = (state.open.find((open) => open.call === call)?.postponed?.missed ?? 0) >= 2;
  return operation(missed, ...(isLast ? [{ ...EVENT.outcomeLost(call, AT), unbegun: true } as Event] : []));
}

function recoveryOf(call: string, state: State, view: View): WalkOperation {
  const effect = effectOf(call, state);
  const at = view.effectsSettleAt + 30;
  if (call === "c3" && effect !== "unsafe")
    return operation({ ...EVENT.outcomeLost(call, at), toolGone: true } as Event);
  if (effect === "probed") return operation(EVENT.decided({ kind: "probe", call, at, tried: false }));
  return operation(effect === "unsafe" ? EVENT.outcomeLost(call, at) : EVENT.invoked(call, view.epoch));
}

const gatedUntil = (call: string, expiresAt: number): Event => ({ ...EVENT.gateOpened(call), expiresAt }) as Event;
