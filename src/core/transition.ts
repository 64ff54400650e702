/**
 * `createKernel(tables)`: the rules, made of the rows of the kernel and of those of the features. `transition(state, event)`
 * is the only way to derive the next state. It is pure. An event that the current phase does not accept is a bug in cairn
 * and stops the run before anything is committed.
 */
import { KERNEL_ACTIONS } from "./actions.ts";
import type { Command } from "./commands.ts";
import { ensure } from "./ensure.ts";
import { KERNEL_EVENTS } from "./event-rows.ts";
import type { Action, Event, EventKind, MessageBody } from "./event.ts";
import type { Absorbed, Decided, EventRow, EventRows, FeatureTables } from "./features.ts";
import { assertState } from "./invariants.ts";
import { KERNEL_MESSAGES } from "./message-rows.ts";
import { type View, commandsBy } from "./outstanding.ts";
import { type Phase, isTerminal, mayFollow, mayRedrive } from "./phases.ts";
import type { State } from "./state.ts";

export interface Step {
  readonly state: State;
  /** The commands that are outstanding after the event, for the invocation of `view`. */
  readonly commands: readonly Command[];
}

/** The rules of a run. */
export interface Kernel {
  /** The row of each event: in which phases it may happen. */
  readonly rows: EventRows<EventKind>;
  readonly accepts: (phase: Phase, kind: EventKind) => boolean;
  /** The state after the event. Throws `InvariantViolated` if the phase does not accept the event. */
  readonly fold: (state: State, event: Event) => State;
  readonly foldAll: (state: State, events: readonly Event[]) => State;
  /** The outstanding commands in order of execution; empty for a run that has ended. */
  readonly nextCommands: (state: State, view: View) => readonly Command[];
  readonly transition: (state: State, event: Event, view: View) => Step;
}

export function createKernel(tables: FeatureTables): Kernel {
  const rows: EventRows<EventKind> = {
    ...KERNEL_EVENTS,
    ...tables.events,
    MessageAbsorbed: { in: "live", apply: absorbing(tables) },
    RecoveryDecided: { in: "live", apply: deciding(tables) },
  };
  const accepts = (phase: Phase, kind: EventKind): boolean => {
    const { in: phases } = rows[kind];
    return phases === "live" ? !isTerminal(phase) : phases.includes(phase);
  };
  const fold = (state: State, event: Event): State => {
    ensure(accepts(state.phase, event.kind), `${event.kind} does not happen in ${state.phase}`);
    // The table is typed by kind, which TypeScript cannot follow from `event.kind`. The same holds for the two below.
    const { apply } = rows[event.kind] as EventRow<EventKind>;
    const next = apply(state, event);
    const mayGo = event.kind === "RunRedriven" ? mayRedrive : mayFollow;
    ensure(mayGo(state.phase, next.phase), `${next.phase} does not follow ${state.phase}`);
    assertState(state, next);
    return next;
  };
  const nextCommands = (state: State, view: View): readonly Command[] => commandsBy(tables.owed, state, view);
  return {
    rows,
    accepts,
    fold,
    foldAll: (state, events) => events.reduce(fold, state),
    nextCommands,
    transition: (state, event, view) => {
      const next = fold(state, event);
      return { state: next, commands: nextCommands(next, view) };
    },
  };
}

/** `cleared`: the inbox item is gone, so its ID leaves the state. */
function absorbing({ messages }: FeatureTables): EventRow<"MessageAbsorbed">["apply"] {
  const rows = { ...KERNEL_MESSAGES, ...messages };
  return (state, event) => {
    if (event.stage === "cleared") {
      return { ...state, absorbed: state.absorbed.filter((id) => id !== event.message) };
    }
    const { message, body, at } = event;
    ensure(!state.absorbed.includes(message), `message ${message} is absorbed twice`);
    const absorb = rows[body.kind] as (state: State, body: MessageBody, absorbed: Absorbed) => State;
    return absorb({ ...state, absorbed: [...state.absorbed, message] }, body, { message, at });
  };
}

function deciding({ actions }: FeatureTables): EventRow<"RecoveryDecided">["apply"] {
  const rows = { ...KERNEL_ACTIONS, ...actions };
  return (state, { action, at, why }) => {
    const decide = rows[action.kind] as (state: State, action: Action, decided: Decided) => State;
    return decide(state, action, { at, why });
  };
}
