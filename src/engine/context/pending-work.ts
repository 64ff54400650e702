/**
 * What one invocation has decided and not committed yet: the events, the resulting state, and the time and model calls
 * that they debit. Until a commit makes it durable, the invocation can go back to a restore point or drop everything.
 */
import { ensure } from "../../core/ensure.ts";
import type { Event } from "../../core/event.ts";
import type { State } from "../../core/state.ts";
import type { World } from "../../ports/world.ts";
import { asStored } from "../../codec/canonical.ts";
import { redactionIn } from "../../history/secrets.ts";
import type { CommittedRun } from "./committed-run.ts";
import { noteEvent } from "./telemetry-events.ts";
import { type UndebitedTime, msAtWork } from "./time-at-work.ts";
import { type UnaccountedCalls, unaccountedIn } from "./unaccounted-model-calls.ts";

/** A restore point: a copy of what was pending when it was made. */
export interface Mark {
  readonly state: State;
  readonly events: readonly Event[];
  readonly time: UndebitedTime;
  readonly modelCalls: UnaccountedCalls;
}

/** Holds the uncommitted events of one claimed run. */
export class PendingWork {
  readonly #world: World;
  readonly #committed: CommittedRun;
  #state: State;
  #events: readonly Event[] = [];
  #time: UndebitedTime;
  #modelCalls: UnaccountedCalls;
  #hasModelShare = false;
  #isConditional = false;
  #mustCommitFirst = false;
  #wakeCountRead: number;

  constructor(world: World, committed: CommittedRun, time: UndebitedTime) {
    this.#world = world;
    this.#committed = committed;
    this.#state = committed.state;
    this.#time = time;
    this.#wakeCountRead = committed.row.wakeCountSeen;
    this.#modelCalls = unaccountedIn(committed.row, committed.state);
  }

  /** The committed state with all pending events applied. */
  get state(): State {
    return this.#state;
  }

  /** The recorded events that no commit holds yet. */
  get events(): readonly Event[] {
    return this.#events;
  }

  /** Model calls that no debit contains yet. */
  get modelCalls(): UnaccountedCalls {
    return this.#modelCalls;
  }

  /** Whether this invocation has a share of its model's rate limit that no call has used. */
  get hasModelShare(): boolean {
    return this.#hasModelShare;
  }

  modelShareTaken(): void {
    this.#hasModelShare = true;
  }

  modelShareUsed(): void {
    this.#hasModelShare = false;
  }

  /** Whether the pending events are conditional: they hold only if no message has come since the inbox was read. */
  get isConditional(): boolean {
    return this.#isConditional;
  }

  /**
   * Whether the recorded events have to be durable before the model sees them (result before advance,
   * `docs/protocol.md`).
   */
  get mustCommitFirst(): boolean {
    return this.#mustCommitFirst;
  }

  requireCommit(): void {
    this.#mustCommitFirst = true;
  }

  /** The row's wake-up counter as it was before the inbox was last read. The next commit stores it as seen. */
  get wakeCountRead(): number {
    return this.#wakeCountRead;
  }

  noteInboxRead(wakeCount: number): void {
    this.#wakeCountRead = wakeCount;
  }

  /**
   * A model job has ended, and texts that the state had no room for beside it may be in the inbox. No wake-up comes for
   * them, so the last one counts as unseen until the inbox is read. False: the run was never woken, or is paused.
   */
  noteTextsLeft(): boolean {
    const { wakeCount, pause } = this.#committed.row;
    const mayBeLeft = wakeCount > 0 && !pause;
    if (mayBeLeft) this.#wakeCountRead = wakeCount - 1;
    return mayBeLeft;
  }

  /**
   * Applies an event to the state. Secrets in the event are replaced first. The event is applied as a reader of its
   * commit gets it: otherwise the order of its fields would differ, and with it the text that the model is shown.
   */
  record(given: Event): void {
    const event = asStored(redactionIn(this.#world).event(given));
    this.#state = this.#world.kernel.fold(this.#state, event);
    this.#events = [...this.#events, event];
    noteEvent(this.#world, { row: this.#committed.row, event, phase: this.#state.phase });
  }

  /**
   * Makes a restore point of what is pending. Events recorded after it are conditional: they hold only if no message
   * has come since the inbox was read.
   */
  mark(): Mark {
    this.#isConditional = true;
    return { state: this.#state, events: this.#events, time: this.#time, modelCalls: this.#modelCalls };
  }

  /** Goes back to the restore point: drops the events that were recorded after it. */
  restore({ state, events, time, modelCalls }: Mark): void {
    this.#isConditional = false;
    this.#state = state;
    this.#events = events;
    this.#time = time;
    this.#modelCalls = modelCalls;
  }

  /** Goes back to the committed state, and returns the dropped events. The inbox will be read again. */
  drop(): readonly Event[] {
    const dropped = this.#events;
    this.#isConditional = false;
    this.#state = this.#committed.state;
    this.#events = [];
    this.#wakeCountRead = this.#committed.row.wakeCountSeen;
    return dropped;
  }

  /** Returns the milliseconds at work that no event has debited, and resets them. The caller must debit them. */
  takeTime(now: number): number {
    const ms = msAtWork(this.#time, now);
    this.#time = { since: now, unseenMs: 0 };
    return ms;
  }

  /**
   * Returns how many model calls of earlier invocations no event has debited, and resets them. The caller must debit
   * them.
   */
  takeOthersCalls(): number {
    const { others } = this.#modelCalls;
    if (others > 0) this.#modelCalls = { ...this.#modelCalls, others: 0 };
    return others;
  }

  /** The model call of this invocation leaves the process now. */
  modelCallLeaves(): void {
    ensure(this.#modelCalls.own === "marked", "a model call leaves under a mark");
    this.#modelCalls = { ...this.#modelCalls, own: "left" };
    this.modelShareUsed();
  }

  /** The recorded events debit the model call of this invocation, or the call cost nothing. */
  modelCallSettled(): void {
    if (this.#modelCalls.own === "left") this.#modelCalls = { ...this.#modelCalls, own: "none" };
  }

  /** The pending events are being sent to the table. */
  sending(options: { readonly isConditional: boolean }): void {
    this.#isConditional = options.isConditional;
  }

  /** The table refused the commit because a message came. The events stay pending. */
  refused(): void {
    this.#isConditional = false;
  }

  /** The events are durable. `unaccountedModelCalls`: how many model calls the commit left marked in the row. */
  committed({ unaccountedModelCalls }: { readonly unaccountedModelCalls: number }): void {
    this.#isConditional = false;
    this.#events = [];
    this.#mustCommitFirst = false;
    const { own } = this.#modelCalls;
    this.#modelCalls = { others: 0, own: own === "left" ? "left" : unaccountedModelCalls > 0 ? "marked" : "none" };
  }
}
