/**
 * What the features give to the rules: closed tables, which `src/features/compose.ts` fills. What is stored (events,
 * messages, fields of the state, their schemas) is the kernel's, so a feature that is not in a table does not compile, and
 * neither does a row of something that is not stored.
 */
import type { Child } from "./child.ts";
import type { ChildCommand, GateCommand, ModelCommand, WaitCommand } from "./commands.ts";
import type { Action, EventKind, EventOf, FeatureBodies, MessageBody } from "./event.ts";
import type { Phase } from "./phases.ts";
import type { State } from "./state.ts";

/** In which phases the event may happen, and what it changes. `live`: in every phase that is not terminal. */
export interface EventRow<K extends EventKind> {
  readonly in: "live" | readonly Phase[];
  readonly apply: (state: State, event: EventOf<K>) => State;
}
export type EventRows<K extends EventKind> = { readonly [E in K]: EventRow<E> };

/** The kinds of events whose rules are in features, and in the kernel. */
export type FeatureEventKind = keyof FeatureBodies;
export type KernelEventKind = Exclude<EventKind, FeatureEventKind>;

type MessageKind = MessageBody["kind"];
type BodyOf<K extends MessageKind> = Extract<MessageBody, { readonly kind: K }>;

/** Which message was absorbed, and when: epoch milliseconds. */
export interface Absorbed {
  readonly message: string;
  readonly at: number;
}

/** What a message changes when the run absorbs it. One that names nothing open changes nothing (schedule 29). */
export type MessageRows<K extends MessageKind> = {
  readonly [M in K]: (state: State, body: BodyOf<M>, absorbed: Absorbed) => State;
};
export type FeatureMessageKind = "answer" | "child" | "compensate" | "decision" | "signal" | "upgrade";
export type KernelMessageKind = Exclude<MessageKind, FeatureMessageKind>;

type ActionKind = Action["kind"];

/** When a recovery was decided, epoch milliseconds, and why. */
export interface Decided {
  readonly at: number;
  readonly why: string;
}

/** What a decision of the recovery table changes. */
export type ActionRows<K extends ActionKind> = {
  readonly [A in K]: (state: State, action: Extract<Action, { readonly kind: A }>, decided: Decided) => State;
};
export type FeatureActionKind = "askAgain" | "compensate" | "restart" | "tryAgain" | "undo";
export type KernelActionKind = Exclude<ActionKind, FeatureActionKind>;

/**
 * What features owe. `outstanding.ts` asks for each at one place of its order, which stays in the kernel: whether a gate
 * comes before a wait is no feature's business. Times are epoch milliseconds.
 */
export interface OwedByFeatures {
  /** After a human's reconciliation, and before anything new begins. `earliest`: a time that every clock has reached. */
  readonly gates: (state: State, earliest: number) => readonly GateCommand[];
  /** With the gates. `counted`: what nobody can set ends a wait for a time (schedule 234). */
  readonly waits: (
    state: State,
    times: { readonly counted: number; readonly earliest: number },
  ) => readonly WaitCommand[];
  /** After the intents of this beat, so that children work while the other calls of the reply run. */
  readonly children: (
    state: State,
    view: { readonly earliest: number; readonly lacksChild?: boolean; readonly cannotAskChild?: boolean },
  ) => readonly ChildCommand[];
  /** C7: before any other work, the children that are still to be asked to stop. */
  readonly lateChildren: (state: State) => readonly Child[];
  /** When a child that is waited for is too late: the run waits no longer than that. */
  readonly childDeadlines: (state: State) => readonly number[];
  /** The model call, or what the request that is out needs. */
  readonly model: (state: State, view: { readonly now: number; readonly hasSeenDetached?: boolean }) => ModelCommand;
}

/** All tables. Each row belongs to one feature. */
export interface FeatureTables {
  readonly events: EventRows<FeatureEventKind>;
  readonly messages: MessageRows<FeatureMessageKind>;
  readonly actions: ActionRows<FeatureActionKind>;
  readonly owed: OwedByFeatures;
}
