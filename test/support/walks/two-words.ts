/**
 * What operators may say of a run, as changes of its state and its row, and the walk of a run that was told so: the first
 * operation that an invocation may record for each command, until the run has ended.
 */
import { nextCommands, fold, foldAll } from "../../../src/features/compose.ts";
import { upgradesOf } from "../../../src/core/policy/holds.ts";
import { gateIn } from "../../../src/core/calls/held-calls.ts";
import type { Event, MessageBody } from "../../../src/core/event.ts";
import { type View } from "../../../src/core/outstanding.ts";
import { PHASE_NAMES, type Phase, isTerminal } from "../../../src/core/phases.ts";
import { inline } from "../../../src/core/message.ts";
import { NOTHING_SPENT } from "../../../src/core/policy/budget.ts";
import type { State } from "../../../src/core/state.ts";
import { withChildren } from "../states/child-events.ts";
import { AT, IN_PHASE, answer, decision, stateAfter, EVENT } from "../states/states-and-events.ts";
import { operationsFor } from "./operations.ts";

/** A run, and what the row says of requests. */
export interface Run {
  readonly state: State;
  readonly view: View;
}

const message = (state: State, id: string, body: MessageBody): State =>
  fold(state, { kind: "MessageAbsorbed", at: AT, stage: "taken", message: `${id}#${state.absorbed.length}`, body });

const unknownIn = ({ open }: State) => open.find(({ status, answer: given }) => status === "unknown" && given === null);
const gateOf = (state: State) =>
  state.open.map(gateIn).find((gate) => gate !== null)?.gate ?? state.extension?.gate?.gate ?? null;

/** What an operator may say. Null: nothing of this run asks for it, so surfaces refuse it before any write. */
export const WORDS: { readonly [word: string]: (run: Run) => Run | null } = {
  cancel: ({ state, view: seen }) => ({ state, view: { ...seen, cancel: true } }),
  "cancel and undo": ({ state, view: seen }) => ({
    state: message(state, "undo", { kind: "compensate", next: "cancel", by: "ada" }),
    view: { ...seen, cancel: true },
  }),
  // Refused as late after a cancel, and before the run has started.
  restart: ({ state, view: seen }) =>
    (state.pausedFrom ?? state.phase) === "Preparing" || seen.cancel || state.compensate?.next === "cancel"
      ? null
      : {
          state: message(state, "undo", { kind: "compensate", next: "restart", by: "bob" }),
          view: { ...seen, pause: false },
        },
  pause: ({ state, view: seen }) => ({ state, view: { ...seen, pause: true } }),
  resume: ({ state, view: seen }) => ({ state, view: { ...seen, pause: false } }),
  approve: decides("approve"),
  deny: decides("deny"),
  "reconcile as failed": reconciles("failed"),
  "reconcile as succeeded": reconciles("succeeded"),
  text: ({ state, view: seen }) => ({
    state: message(state, "user", { kind: "user", text: "by train", by: "ada" }),
    view: seen,
  }),
  "accept an upgrade": ({ state, view: seen }) => {
    const { lack, questions } = upgradesOf(state);
    if (lack?.kind !== "upgrade") return null;
    return {
      state: message(state, "up", { kind: "upgrade", question: questions, to: lack.to, by: "ada" }),
      view: seen,
    };
  },
  assign: ({ state, view: seen }) => ({
    state: message(state, "assign", {
      ...{ kind: "assign", to: "eve", by: "ada" },
      number: (state.assigned?.number ?? 0) + 1,
    }),
    view: seen,
  }),
};

function decides(as: "approve" | "deny") {
  return ({ state, view: seen }: Run): Run | null => {
    const gate = gateOf(state);
    if (gate === null) return null;
    return { state: message(state, "gate", { kind: "decision", gate, decision: decision(as) }), view: seen };
  };
}

function reconciles(as: "failed" | "succeeded") {
  return ({ state, view: seen }: Run): Run | null => {
    const open = unknownIn(state);
    if (open === undefined) return null;
    const body = { kind: "reconcile", call: open.call, question: open.timesUnknown, answer: answer(as) } as const;
    return { state: message(state, "reconcile", body), view: seen };
  };
}

export const CANCELS = new Set(["cancel", "cancel and undo"]);

/** The states in which words come: one of each phase, and those in which an end is on its way. */
export const STATES: { readonly [where: string]: () => State } = {
  ...Object.fromEntries(
    PHASE_NAMES.filter((phase: Phase) => !isTerminal(phase)).flatMap((phase) => [
      [phase, IN_PHASE[phase]],
      ...(phase === "AwaitingChildren" || phase === "Preparing"
        ? []
        : [[`${phase}, children are out`, () => withChildren(IN_PHASE[phase]())] as const]),
    ]),
  ),
  "a gate of the budget": () => stateAfter(EVENT.started, EVENT.budgetRequested()),
  "a version to accept": () => foldAll(IN_PHASE.ExecutingTools(), [EVENT.holdDecided("2")]),
};

/** The run does its own work next. Neither word decides about that. */
const GOES_ON = new Set(["prepare", "askModel", "compact", "close", "judge", "lookAgain"]);

/** What an invocation does next; null: nothing that a word decides. */
export function step({ state, view: seen }: Run): Run | null {
  const [command] = nextCommands(state, seen);
  if (command === undefined || GOES_ON.has(command.kind)) return null;
  const now = { ...seen, now: seen.now + 1 };
  if (command.kind === "awaitAnswer") {
    const [child] = state.children;
    return child === undefined || command.until !== undefined ? null : { state: stopped(state, child.id), view: now };
  }
  const operations = operationsFor(command, state, seen);
  // The last way to conclude is a restart, which the walk allows twice.
  const chosen = command.kind === "conclude" ? operations.at(-1) : operations[0];
  if (chosen === undefined) return null;
  const events: readonly Event[] = chosen.events(3, 1);
  return {
    state: foldAll(state, events),
    view: { ...now, ...(chosen.looks === true && { looked: true }), now: chosen.waitsUntil ?? now.now },
  };
}

/** The report of a child that was asked to stop. */
function stopped(state: State, child: string): State {
  const body = { kind: "child", child, status: "cancelled", value: inline(null), spent: NOTHING_SPENT } as const;
  return foldAll(message(state, "child", body), [
    { kind: "BudgetDebited", at: AT, debit: NOTHING_SPENT, for: "a child run", child },
  ]);
}

const STEPS_MAX = 40;
/** The second word comes at once, or at one of the steps that follow the first one. */
export const PLACES = 6;

/** How a run that was told these words goes on. */
export function outcomeOf(run: Run): { readonly how: string; readonly state: State } {
  let at = run;
  for (let steps = 0; steps < STEPS_MAX; steps += 1) {
    const { state } = at;
    if (isTerminal(state.phase)) return { how: state.phase, state };
    if (state.restart > run.state.restart) return { how: "restarted", state };
    const next = step(at);
    if (next === null) return { how: state.phase, state };
    at = next;
  }
  return { how: "goes on", state: at.state };
}
