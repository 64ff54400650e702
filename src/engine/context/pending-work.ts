/**
 * What one invocation has decided and not committed yet: the events, the state that they lead to, and what they account
 * for. All of it can be taken back to a mark, or dropped, until a commit makes it durable.
 */
import { ensure } from "../../core/ensure.ts";
import type { Event } from "../../core/event.ts";
import type { State } from "../../core/state.ts";
import { fold } from "../../core/transition.ts";
import type { World } from "../../ports/world.ts";
import { redactionIn } from "../../history/secrets.ts";
import type { CommittedRun } from "./committed-run.ts";
import { noteEvent } from "./telemetry-events.ts";
import { type UndebitedTime, msAtWork } from "./time-at-work.ts";
import { type UnaccountedCalls, unaccountedIn } from "./unaccounted-model-calls.ts";

/** What was pending when it was made. */
export interface Mark {
  readonly state: State;
  readonly events: readonly Event[];
  readonly time: UndebitedTime;
  readonly modelCalls: UnaccountedCalls;
}

export class PendingWork {
  readonly #world: World;
  readonly #committed: CommittedRun;
  #state: State;
  #events: readonly Event[] = [];
  #time: UndebitedTime;
  #modelCalls: UnaccountedCalls;
  #isConditional = false;

  constructor(world: World, committed: CommittedRun, time: UndebitedTime) {
    this.#world = world;
    this.#committed = committed;
    this.#state = committed.state;
    this.#time = time;
    this.#modelCalls = unaccountedIn(committed.row);
  }

  /** The committed state with what is pending. */
  get state(): State {
    return this.#state;
  }

  /** Decided, and not yet durable. */
  get events(): readonly Event[] {
    return this.#events;
  }

  get modelCalls(): UnaccountedCalls {
    return this.#modelCalls;
  }

  /** What is pending since the mark was decided on the condition that no message came since the inbox was read. */
  get isConditional(): boolean {
    return this.#isConditional;
  }

  /** Secrets in the event are replaced before anything follows from it. */
  record(given: Event): void {
    const event = redactionIn(this.#world).event(given);
    this.#state = fold(this.#state, event);
    this.#events = [...this.#events, event];
    noteEvent(this.#world, { row: this.#committed.row, event, phase: this.#state.phase });
  }

  /** What is recorded from here on is decided on the condition that no message came since the inbox was read. */
  mark(): Mark {
    this.#isConditional = true;
    return { state: this.#state, events: this.#events, time: this.#time, modelCalls: this.#modelCalls };
  }

  /** Forgets what was recorded since. */
  restore({ state, events, time, modelCalls }: Mark): void {
    this.#isConditional = false;
    this.#state = state;
    this.#events = events;
    this.#time = time;
    this.#modelCalls = modelCalls;
  }

  /** Goes back to the committed state, and returns the events that are dropped. */
  drop(): readonly Event[] {
    const dropped = this.#events;
    this.#isConditional = false;
    this.#state = this.#committed.state;
    this.#events = [];
    return dropped;
  }

  /** Milliseconds at work that no event has debited; the caller debits them. */
  takeTime(now: number): number {
    const ms = msAtWork(this.#time, now);
    this.#time = { since: now, unseenMs: 0 };
    return ms;
  }

  /** Model calls of earlier invocations that no event has debited; the caller debits them. */
  takeOthersCalls(): number {
    const { others } = this.#modelCalls;
    if (others > 0) this.#modelCalls = { ...this.#modelCalls, others: 0 };
    return others;
  }

  /** The call of this invocation leaves. */
  modelCallLeaves(): void {
    ensure(this.#modelCalls.own === "marked", "a model call leaves under a mark");
    this.#modelCalls = { ...this.#modelCalls, own: "left" };
  }

  /** The call of this invocation is accounted for by what is recorded, or cost nothing. */
  modelCallSettled(): void {
    if (this.#modelCalls.own === "left") this.#modelCalls = { ...this.#modelCalls, own: "none" };
  }

  /** What is pending is sent to the table. */
  sending(options: { readonly isConditional: boolean }): void {
    this.#isConditional = options.isConditional;
  }

  /** The table refused it, since a message came; what is pending stays. */
  refused(): void {
    this.#isConditional = false;
  }

  /** It is durable. `asks`: the model calls that the commit left marked in the row. */
  committed({ asks }: { readonly asks: number }): void {
    this.#isConditional = false;
    this.#events = [];
    const { own } = this.#modelCalls;
    this.#modelCalls = { others: 0, own: own === "left" ? "left" : asks > 0 ? "marked" : "none" };
  }
}
