/**
 * A run in the hands of one invocation: what is committed of it, what is pending, and what this invocation has noticed.
 * Each part has one owner that keeps its fields to itself; this class puts them together for the steps of the loop.
 */
import type { Event } from "../../core/event.ts";
import type { Json } from "../../core/json.ts";
import { SIZES } from "../../codec/limits.ts";
import type { Value } from "../../core/message.ts";
import { type Command, type View, outstanding } from "../../core/outstanding.ts";
import type { Row } from "../../protocol/row.ts";
import type { State } from "../../core/state.ts";
import type { Invocation } from "../../ports/tasks.ts";
import type { World } from "../../ports/world.ts";
import type { CommitCache } from "../../history/commits.ts";
import { type Loaded, type SegmentCache, jsonOf } from "../../history/load.ts";
import { keepValue } from "../../history/write-objects.ts";
import { type CommitResult, commit } from "./commit.ts";
import type { CommitOptions } from "./commit-request.ts";
import { CommittedRun } from "./committed-run.ts";
import { recordLostCalls } from "./debits.ts";
import { Noticed } from "./noticed.ts";
import { type Mark, PendingWork } from "./pending-work.ts";
import type { RunParts } from "./run-parts.ts";
import { undebitedTime } from "./time-at-work.ts";

export class ActiveRun implements RunParts {
  readonly world: World;
  readonly invocation: Invocation;
  readonly committed: CommittedRun;
  readonly pending: PendingWork;
  readonly noticed: Noticed;

  constructor(options: {
    world: World;
    invocation: Invocation;
    loaded: Loaded;
    segments: SegmentCache;
    commits: CommitCache;
    /** When it began to claim the run; now, unless told. */
    since?: number;
  }) {
    const { world, invocation, loaded } = options;
    const { row } = loaded;
    this.world = world;
    this.invocation = invocation;
    this.committed = new CommittedRun(world, options);
    this.noticed = new Noticed(row);
    const time = undebitedTime(row, { since: options.since ?? this.now, limits: world.limits });
    this.pending = new PendingWork(world, this.committed, time);
  }

  get row(): Row {
    return this.committed.row;
  }

  get state(): State {
    return this.pending.state;
  }

  get now(): number {
    return this.world.clock.now();
  }

  /** What is left for work before this invocation has to commit and release. */
  get leftMs(): number {
    return this.invocation.deadline - this.world.limits.drainMs - this.now;
  }

  get hasPending(): boolean {
    return this.pending.events.length > 0;
  }

  /** An invocation that did nothing yet must not hand over for lack of time: the next one would do the same. */
  get moved(): boolean {
    return this.noticed.replies > 0 || this.committed.hasAdvanced;
  }

  view(): View {
    const { epoch, quietUntil, cancel, pause } = this.row;
    return {
      now: this.now,
      earliest: this.world.clock.earliest(),
      epoch,
      quietUntil,
      cancel,
      pause,
      looked: this.noticed.hasCheckedDeployment,
    };
  }

  owed(): readonly Command[] {
    return outstanding(this.state, this.view());
  }

  /** Secrets in the event are replaced before anything follows from it. */
  record(event: Event): void {
    this.pending.record(event);
  }

  /** What is recorded from here on is decided on the condition that no message came since the inbox was read. */
  mark(): Mark {
    return this.pending.mark();
  }

  /** Forgets what was recorded since. */
  restore(mark: Mark): void {
    this.pending.restore(mark);
  }

  /**
   * Forgets what is not committed, but for what it cost: replies that are dropped count as lost, at what they cost. What was
   * read of the inbox is read again.
   */
  rewind(why: string): void {
    const dropped = this.pending.drop();
    this.noticed.noteInboxRead(this.row.stirsSeen);
    const replies = dropped.filter(({ kind }) => kind === "ModelCallCompleted" || kind === "Compacted").length;
    if (replies > 0) recordLostCalls(this, { calls: replies, why });
    for (const cost of dropped.filter(isCost)) this.record(cost);
  }

  json(value: Value): Promise<Json> {
    return jsonOf(this.world.objects, this.row, value);
  }

  /** The value to record in the transcript; what is large is stored first. */
  keep(json: Json): Promise<Value> {
    return keepValue(this.world, this.row, { json, inlineMax: SIZES.inlineBytesMax });
  }

  /** The value to record in the state itself. */
  keepSmall(json: Json): Promise<Value> {
    return keepValue(this.world, this.row, { json, inlineMax: SIZES.stateValueBytesMax });
  }

  /** Makes everything pending durable under this epoch, or says why it did not (`commit.ts`). */
  commit(options: CommitOptions): Promise<CommitResult> {
    return commit(this, options);
  }

  /** Makes what is pending durable and goes on. The caller decides again: the row may bring news, such as a cancel. */
  async commitPending(): Promise<void> {
    await this.commit({ release: false });
  }
}

/** What a commit costs whatever becomes of the rest; a call that is not released costs nothing. */
const isCost = (event: Event): boolean =>
  event.kind === "ModelCallLost" || (event.kind === "BudgetDebited" && event.debit.toolCalls === undefined);
