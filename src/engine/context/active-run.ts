/**
 * One run while one invocation works on it: its committed part, its pending part and what the invocation has noticed.
 * Each part has one owning class that keeps its fields private. This class combines the parts for the steps of the
 * loop.
 */
import type { Command } from "../../core/commands.ts";
import type { Event } from "../../core/event.ts";
import type { Json } from "../../core/json.ts";
import { SIZES } from "../../codec/limits.ts";
import type { Value } from "../../core/message.ts";
import { isModelOut } from "../../core/policy/model-out.ts";
import type { View } from "../../core/outstanding.ts";
import type { Row } from "../../protocol/row.ts";
import type { State } from "../../core/state.ts";
import type { Agent } from "../../ports/agent.ts";
import type { Invocation } from "../../ports/tasks.ts";
import type { World } from "../../ports/world.ts";
import type { CommitCache } from "../../history/commits.ts";
import { type Loaded, type SegmentCache, jsonOf } from "../../history/load.ts";
import { keepValue } from "../../history/write-objects.ts";
import { type CommitResult, commit } from "./commit.ts";
import type { CommitOptions } from "./commit-request.ts";
import { CommittedRun } from "./committed-run.ts";
import { recordLostCalls } from "./debits.ts";
import { type Next, NOTHING_SEEN, type SeenSoFar, seenAfter } from "./next.ts";
import { Noticed } from "./noticed.ts";
import { type Mark, PendingWork } from "./pending-work.ts";
import { type AgentTerms, type RunParts, termsWith } from "./run-parts.ts";
import { undebitedTime } from "./time-at-work.ts";
import type { InvocationTrace } from "./trace.ts";

/** A claimed and loaded run. The steps read it, record events in it and commit it. */
export class ActiveRun implements RunParts {
  readonly world: World;
  readonly invocation: Invocation;
  readonly committed: CommittedRun;
  readonly pending: PendingWork;
  readonly noticed: Noticed;
  readonly parsedInputs = new ParsedInputs();
  readonly trace: InvocationTrace | null;
  #seen = NOTHING_SEEN;
  #terms: AgentTerms | null = null;

  constructor(options: {
    world: World;
    invocation: Invocation;
    loaded: Loaded;
    segments: SegmentCache;
    commits: CommitCache;
    /** When this invocation began to claim the run, in epoch milliseconds. The default is now. */
    since?: number;
    trace?: InvocationTrace | null;
  }) {
    const { world, invocation, loaded, trace = null } = options;
    const { row } = loaded;
    this.world = world;
    this.invocation = invocation;
    this.committed = new CommittedRun(world, options);
    this.noticed = new Noticed();
    this.trace = trace;
    const time = undebitedTime(row, { since: options.since ?? this.now, limits: world.limits });
    this.pending = new PendingWork(world, this.committed, time);
  }

  get row(): Row {
    return this.committed.row;
  }

  /** The committed state with all pending events applied. */
  get state(): State {
    return this.pending.state;
  }

  get now(): number {
    return this.world.clock.now();
  }

  /** Milliseconds for further work. After them this invocation has to commit and release the run. */
  get leftMs(): number {
    const { deadline } = this.invocation;
    return this.noticed.isHeldOn ? 0 : deadline - this.world.limits.drainMs - this.now;
  }

  /** What the steps of this invocation have seen. */
  get seen(): SeenSoFar {
    return this.#seen;
  }

  /** A step has ended. */
  stepEnded(next: Next): void {
    this.#seen = seenAfter(this.#seen, next);
  }

  /** What the agent that this invocation uses now declares. */
  get terms(): AgentTerms | null {
    return this.#terms;
  }

  /** From now on this agent is used. `summaryCharacters`: as before, where it is left out. */
  use(agent: Pick<Agent, "price" | "budget" | "checkpoint">, summaryCharacters?: number): void {
    this.#terms = termsWith(this.#terms, agent, summaryCharacters);
  }

  /** Whether events are recorded that no commit holds yet. */
  get hasPending(): boolean {
    return this.pending.events.length > 0;
  }

  /**
   * Whether this invocation has made progress: it got a model reply, or it has committed. An invocation without
   * progress must not release the run for lack of time. The next invocation would have no more time, so the run would
   * never advance.
   */
  get moved(): boolean {
    return this.seen.replies > 0 || this.committed.hasAdvanced;
  }

  /** What the decision about the next command needs to know besides the state. */
  view(): View {
    const { epoch, effectsSettleAt, cancel, pause } = this.row;
    const { looked, hasSeenDetached, lacksChild, cannotAskChild, hasJudged } = this.seen;
    const counted = this.world.clock.counted?.();
    return {
      now: this.now,
      earliest: this.world.clock.earliest(),
      ...(counted !== undefined && { counted }),
      epoch,
      effectsSettleAt,
      cancel,
      pause,
      looked,
      hasSeenDetached,
      lacksChild,
      cannotAskChild,
      hasJudged,
    };
  }

  /**
   * The commands that are due now, in the order in which they have to run. The list is empty when the run has ended.
   */
  owed(): readonly Command[] {
    return this.world.kernel.nextCommands(this.state, this.view());
  }

  /** Applies an event to the state and keeps it pending until a commit. Secrets in the event are replaced first. */
  record(event: Event): void {
    this.pending.record(event);
  }

  /**
   * Makes a restore point of what is pending. Events recorded after it are conditional: they hold only if no message
   * has come since the inbox was read.
   */
  mark(): Mark {
    return this.pending.mark();
  }

  /** Goes back to the restore point: drops the events that were recorded after it. */
  restore(mark: Mark): void {
    this.pending.restore(mark);
  }

  /**
   * Drops all pending events except those that debit costs. Dropped model replies are recorded as lost, with their
   * cost. The inbox will be read again. Schedule 199: if a model job is out again, what it cost is dropped with its reply
   * or end. Either comes again, and debits it then. No other model call can have left before the commit of that end.
   */
  rewind(why: string): void {
    const dropped = this.pending.drop();
    const isOut = isModelOut(this.state);
    const replies = isOut ? 0 : dropped.filter(isReply).length;
    if (replies > 0) recordLostCalls(this, { calls: replies, why });
    for (const cost of dropped.filter(isOut ? isTime : isCost)) this.record(cost);
  }

  json(value: Value): Promise<Json> {
    return jsonOf(this.world.objects, this.row, value);
  }

  /** Returns the value to record in the transcript. A large value is stored as an object first. */
  keep(json: Json): Promise<Value> {
    return keepValue(this.world, this.row, { json, inlineMax: SIZES.inlineBytesMax });
  }

  /** Returns the value to record in the state itself. The inline limit is smaller than that of `keep`. */
  keepSmall(json: Json): Promise<Value> {
    return keepValue(this.world, this.row, { json, inlineMax: SIZES.stateValueBytesMax });
  }

  /** Makes everything pending durable under this epoch, or returns why it did not (`commit.ts`). */
  commit(options: CommitOptions): Promise<CommitResult> {
    return commit(this, options);
  }

  /**
   * Commits everything pending without releasing the run. The caller then decides again, because the row may bring
   * news, such as a cancel.
   */
  async commitPending(): Promise<void> {
    await this.commit({ release: false });
  }
}

/** Whether the event records a reply of a model. */
const isReply = (event: Event): boolean =>
  event.kind === "ModelCallCompleted" ||
  event.kind === "Compacted" ||
  (event.kind === "ResultSummarised" && event.model !== undefined);

/**
 * Whether the event debits a cost that stays due when other events are dropped. A tool call that was not released costs
 * nothing. What a child spent is debited again with its report, which is read again.
 */
const isCost = (event: Event): boolean =>
  event.kind === "ModelCallLost" ||
  (event.kind === "BudgetDebited" && event.debit.toolCalls === undefined && event.child === undefined);

const isTime = (event: Event): boolean => event.kind === "BudgetDebited" && event.debit.wallMs !== undefined;

/**
 * The results of parses that this process holds, by call. A result that is not JSON cannot be recorded, so only the
 * invocation that made it can use it.
 */
interface Held {
  /** Of the arguments that were parsed. */
  readonly argsDigest: string;
  readonly value: unknown;
  /** Of the projection of the value when it was made. A function of the tool may have changed the value since. */
  readonly projection: string;
}

class ParsedInputs {
  readonly #held = new Map<string, Held>();

  hold(call: string, held: Held): void {
    this.#held.set(call, held);
  }

  /** What was made of these arguments; null if this process did not parse them. */
  find(call: string, argsDigest: string): Held | null {
    const held = this.#held.get(call);
    return held?.argsDigest === argsDigest ? held : null;
  }
}
