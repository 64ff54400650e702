/**
 * Random valid runs. A walk starts with a new run and repeatedly does what some invocation
 * might do next: it records an outcome of an outstanding command, commits, or dies and is followed
 * by another invocation. Like the runner, it runs a call only when no event is uncommitted.
 */
import { nextCommands, transition } from "../../../src/features/compose.ts";
import fc from "fast-check";
import type { CommitRecord, Event } from "../../../src/core/event.ts";
import { type View } from "../../../src/core/outstanding.ts";
import { isTerminal } from "../../../src/core/phases.ts";
import type { State } from "../../../src/core/state.ts";
import { type Step as Outcome } from "../../../src/core/transition.ts";
import { AT, newState } from "../states/states-and-events.ts";

import { operationsFor } from "./operations.ts";
import { operatorOperations } from "./operators.ts";
import { redriveOf } from "./redrives.ts";
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
