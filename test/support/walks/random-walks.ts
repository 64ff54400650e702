/**
 * Random valid runs. A walk starts with a new run and repeatedly does what some invocation
 * might do next: it records an outcome of an outstanding command, commits, or dies and is followed
 * by another invocation. Like the runner, it runs a call only when no event is uncommitted.
 */
import { nextCommands, transition, accepts } from "../../../src/features/compose.ts";
import fc from "fast-check";
import type { CommitRecord, Event } from "../../../src/core/event.ts";
import { type View } from "../../../src/core/outstanding.ts";
import { isTerminal } from "../../../src/core/phases.ts";
import type { State } from "../../../src/core/state.ts";
import { type Step as Outcome } from "../../../src/core/transition.ts";
import { AT, newState, decision, answer, EVENT } from "../states/states-and-events.ts";

import { operationsFor } from "./operations.ts";
import { redriveOf, failureIn } from "./redrives.ts";
import { type WalkOperation, operation } from "./operation.ts";
import { upgradesOf } from "../../../src/core/policy/holds.ts";
import { gateIn } from "../../../src/core/calls/held-calls.ts";
import { multibyteText } from "../values/multibyte-text.ts";
import { heldTexts } from "../../../src/core/policy/model-out.ts";
import { MENDS_NAMES } from "../../../src/core/policy/mends.ts";
import { CHILD_WALK } from "./child-operations.ts";
import { SAGA_WALK } from "./compensations.ts";
import { WAIT_WALK } from "./wait-operations.ts";

/** An operator accepts the version for which the run waits, now and then as an answer to another question. */
function acceptUpgradeOperations(state: State): readonly WalkOperation[] {
  const { lack, questions } = upgradesOf(state);
  if (lack?.kind !== "upgrade") return [];
  const body = { kind: "upgrade", to: lack.to, by: "ada" } as const;
  const ids = (question: number): readonly string[] =>
    Array.from({ length: state.absorbed.length + 1 }, (_, index) => `upgrade#${question}#${index}`);
  const id = (question: number): string => ids(question).find((each) => !state.absorbed.includes(each)) ?? "";
  return [questions, questions + 9].map((question) => ({
    events: () => [
      { kind: "MessageAbsorbed", at: AT, stage: "taken", message: id(question), body: { ...body, question } },
    ],
  }));
}

/** The operations that are possible whatever is outstanding. */
function operatorOperations(state: State, { pause }: View): readonly WalkOperation[] {
  const unanswered = state.open.filter((open) => open.status === "unknown" && open.answer === null);
  const undecided = state.open.map(gateIn).flatMap((gate) => (gate?.decision === null ? [gate.gate] : []));
  return [
    operation({ kind: "AgentChanged", at: AT, from: state.agentVersion, to: `${state.agentVersion}.1` }),
    operation(EVENT.decided({ kind: "takeover", from: "somebody", takeovers: 1 })),
    ...(accepts(state.phase, "RunPaused") && upgradesOf(state).questions < 2 && state.messages.length % 8 === 3
      ? [holdForAgent]
      : []),
    ...acceptUpgradeOperations(state),
    ...undecided.map((gate): WalkOperation => ({ events: (_, pick) => [decidedOn(gate, state, pick)] })),
    ...unanswered.map(({ call }): WalkOperation => ({ events: (_, pick) => [answered(call, state, pick)] })),
    {
      events: (size, pick) => [
        EVENT.messageReceived(
          multibyteText(size, pick),
          `${state.messages.length}-${state.absorbed.length}-${heldTexts(state).length}`,
        ),
      ],
    },
    ...CHILD_WALK.asides(state),
    ...WAIT_WALK.asides(state),
    ...(state.messages.length % 8 === 5 ? [operation(ignored)] : []),
    { events: () => [], asks: { pause: !pause } },
    ...SAGA_WALK.requests(state),
    ...(pause ? [{ events: () => [], asks: { pause: false } }] : []),
    ...state.absorbed.map((message) => operation({ kind: "MessageAbsorbed", at: AT, stage: "cleared", message })),
    ...(state.ending === null && state.messages.length > 8
      ? [
          operation(EVENT.decided({ kind: "abort", failure: failureIn(state) })),
          { events: () => [], asks: { cancel: true } },
        ]
      : []),
  ];
}

/**
 * The deployed agent does not fit the run, or an operator has to mend what fails, so its invocation does nothing more. Calls that it released stay open, and
 * belong to a lost invocation from here on.
 */
const holdForAgent: WalkOperation = {
  events: (_, pick) => [EVENT.decided(HOLDS[pick % HOLDS.length] as (typeof HOLDS)[number])],
  releases: true,
};

const TO_MEND = { code: "IntrinsicChanged", message: "the tool t changed JSON.parse" };

const HOLDS = [
  { kind: "hold", to: null },
  { kind: "hold", to: "next" },
  ...MENDS_NAMES.map((mends) => ({ kind: "block", mends, failure: TO_MEND }) as const),
] as const;

const ignored: Event = { kind: "DecisionIgnored", at: AT, gate: "c1-gate", as: "deny", by: "ada", why: "it ended" };

function decidedOn(gate: string, state: State, pick: number): Event {
  const as = (["approve", "deny", "edit"] as const)[pick % 3] ?? "deny";
  const ids = Array.from({ length: state.absorbed.length + 1 }, (_, index) => `gate#${gate}#${index}`);
  const message = ids.find((id) => !state.absorbed.includes(id)) ?? "";
  // Now and then the decision is about a gate that is not open.
  const meant = pick % 5 === 0 ? `${gate}-other` : gate;
  const body = { kind: "decision", gate: meant, decision: decision(as, multibyteText(9, pick)) } as const;
  return { kind: "MessageAbsorbed", at: AT, stage: "taken", message, body };
}

const WAYS = ["succeeded", "failed", "retry"] as const;

function answered(call: string, state: State, pick: number): Event {
  const question = state.open.find((open) => open.call === call)?.timesUnknown ?? 0;
  const open = state.open.find((each) => each.call === call);
  const ways = open?.intent?.undo === true ? (["compensate", "failed", "retry"] as const) : WAYS;
  const given = answer(ways[pick % 3] ?? "retry");
  const body = { kind: "reconcile", call, question, answer: given } as const;
  const ids = Array.from({ length: state.absorbed.length + 1 }, (_, index) => `reconcile#${call}#${question}#${index}`);
  const message = ids.find((id) => !state.absorbed.includes(id)) ?? "";
  // Now and then the answer is to a question that is not open.
  const said = pick % 5 === 0 ? { ...body, question: 99 } : body;
  return { kind: "MessageAbsorbed", at: AT, stage: "taken", message, body: said };
}
/** The effect of one event. */
interface WalkStep {
  readonly before: State;
  readonly event: Event;
  readonly view: View;
  readonly outcome: Outcome;
  /** The durable state when the event happened. */
  readonly committed: State;
}

export interface Walk {
  readonly strides: readonly WalkStep[];
  readonly commits: readonly CommitRecord[];
  /** The durable state after each commit; the first is the new run. */
  readonly states: readonly State[];
}

export interface Choice {
  readonly fate: "go" | "commit" | "die";
  readonly pick: number;
  readonly size: number;
}

const choice: fc.Arbitrary<Choice> = fc.record({
  fate: fc.constantFrom("go", "go", "go", "go", "go", "go", "commit", "commit", "die"),
  pick: fc.nat(1_000_000),
  size: fc.constantFrom(0, 3, 40, 400, 2_000),
});

/** The possible next operations of a run in this state. */
export const walksFrom = (start: State): fc.Arbitrary<Walk> =>
  fc.array(choice, { maxLength: 150, size: "max" }).map((choices) => walk(start, choices));

export const walks = walksFrom(newState());

/** The walk that these choices lead to. */
export function walk(start: State, choices: readonly Choice[]): Walk {
  const path = new Path(start);
  for (const each of choices) path.take(each);
  path.commit();
  return path;
}

class Path implements Walk {
  readonly strides: WalkStep[] = [];
  readonly commits: CommitRecord[] = [];
  readonly states: State[];
  #state: State;
  #pending: Event[] = [];
  #view: View = { now: AT, epoch: 1, effectsSettleAt: 0, cancel: false, pause: false, looked: false };

  constructor(start: State) {
    this.#state = deepFreeze(start);
    this.states = [this.#state];
  }

  take({ fate, pick, size }: Choice): void {
    this.#view = { ...this.#view, now: this.#view.now + 1 + (pick % 50) };
    if (fate === "commit") this.#release();
    if (fate === "die") this.#die();
    if (fate !== "go") return;
    if (isTerminal(this.#state.phase)) return this.#redrive(pick);
    const owed = nextCommands(this.#state, this.#view);
    const operations = [
      ...owed.flatMap((command) => operationsFor(command, this.#state, this.#view)),
      ...operatorOperations(this.#state, this.#view),
    ];
    const chosen = operations[pick % operations.length];
    if (chosen === undefined) return;
    this.#view = { ...this.#view, ...chosen.asks, looked: this.#view.looked || chosen.looks === true };
    if (chosen.waitsUntil !== undefined) this.#view = { ...this.#view, now: chosen.waitsUntil };
    if (chosen.performs === true) this.commit();
    for (const event of chosen.events(size, pick)) this.#record({ ...event, at: this.#view.now });
    if (chosen.releases === true) this.#handOver();
  }

  /** The end is committed; now and then an operator redrives the run, and the next invocation records that. */
  #redrive(pick: number): void {
    this.#release();
    const event = pick % 3 === 0 ? redriveOf(this.#state) : null;
    if (event === null) return;
    this.#view = { ...this.#view, epoch: this.#view.epoch + 1 };
    this.#record({ ...event, at: this.#view.now });
  }

  /** The next invocation claims the run. */
  #handOver(): void {
    this.#release();
    this.#view = { ...this.#view, epoch: this.#view.epoch + 1 };
  }

  /** The next invocation reads the deployed code again. */
  #release(): void {
    this.commit();
    this.#view = { ...this.#view, looked: false };
  }

  commit(): void {
    if (this.#pending.length === 0) return;
    const version = this.states.length;
    this.commits.push({ version, epoch: this.#view.epoch, events: this.#pending });
    this.states.push(this.#state);
    this.#pending = [];
  }

  /** The next owner starts from the committed state and knows until when the dead owner's effects may still land. */
  #die(): void {
    this.#state = this.states.at(-1) as State;
    this.#pending = [];
    const { now, epoch } = this.#view;
    this.#view = { ...this.#view, epoch: epoch + 1, effectsSettleAt: now + 100, looked: false };
  }

  #record(event: Event): void {
    const before = this.#state;
    const outcome = transition(before, deepFreeze(event), this.#view);
    this.strides.push({ before, event, view: this.#view, outcome, committed: this.states.at(-1) as State });
    this.#state = deepFreeze(outcome.state);
    this.#pending = [...this.#pending, event];
  }
}

/** Freezes states and events, so that code that changes them in place throws. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const each of Object.values(value)) deepFreeze(each);
  return Object.freeze(value);
}
