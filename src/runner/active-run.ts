/**
 * A run in the hands of one invocation: the committed row, the state with what was decided since, and the one way to
 * make that durable. Payload first, pointer last: a snapshot is stored before the row names it, so a crash leaves an
 * orphan and never a dangling pointer.
 */
import { type Seal, encodeJournal, encodeSnapshot } from "../codec/snapshot.ts";
import { Unreadable } from "../codec/canonical.ts";
import type { CommitRecord, Event } from "../core/event.ts";
import type { Json } from "../core/json.ts";
import { SIZES } from "../codec/limits.ts";
import type { Value } from "../core/message.ts";
import { type Command, type View, outstanding } from "../core/outstanding.ts";
import { PHASES, isTerminal } from "../core/phases.ts";
import type { CommitOutcome, Row, SnapshotPointer } from "../protocol/row.ts";
import type { State } from "../core/state.ts";
import { fold } from "../core/transition.ts";
import type { Invocation } from "../ports/tasks.ts";
import type { World } from "../ports/world.ts";
import { goesOnAsking, mayAsk } from "./asking.ts";
import { certainly, certainlyPut } from "./certain.ts";
import { noteEvent, noteStatus } from "./facts.ts";
import type { CommitCache } from "./history.ts";
import { snapshotKey } from "./keys.ts";
import { type Loaded, type SegmentCache, jsonOf } from "./load.ts";
import { keepValue, putSegments, putSnapshot } from "./put.ts";
import { nextSeal } from "./seal.ts";
import { redactionIn } from "./secrets.ts";
import { type UndebitedTime, deathsFound, debitTime, unseenMs } from "./time-at-work.ts";

/** Somebody else has the run: nothing more is written and nothing more is started. */
export class Fenced extends Error {
  override readonly name = "Fenced";
}

/** A snapshot that is stored, and what it says of its history. */
interface Put {
  readonly snapshot: SnapshotPointer;
  readonly seal: Seal;
}

/** What was decided and not yet committed. */
interface Mark {
  readonly state: State;
  readonly pending: readonly Event[];
  readonly time: UndebitedTime;
}

export interface CommitOptions {
  /** The invocation ends with this commit. */
  readonly release: boolean;
  /** Until when the run waits, for people and the sweeper. */
  readonly wakeAt?: number | null;
  /** Until when it may wait at all; counted from the commit unless told. */
  readonly deadline?: number;
  /** Refuse if a message came since the inbox was read. */
  readonly unlessStirred?: boolean;
  /** The run moves to the next execution of its chain. */
  readonly nextChain?: boolean;
  /** Nobody has to be told of this end. */
  readonly expiresAtSec?: number | null;
}

export class ActiveRun {
  readonly world: World;
  readonly invocation: Invocation;
  /** Model replies that this invocation brought in. */
  replies = 0;
  /** It ran tools that another invocation had released. */
  recovered = false;
  /** Calls of which a try may have left that gave no answer, here or before: nobody can say that they never began. */
  readonly unanswered = new Set<string>();
  /** What was recorded has to be durable before the model hears of it (rule 2). */
  commitFirst = false;
  /** Something outlived its timeout: this process has to end before it does anything else. */
  outlived: "no" | "code" | "tool" = "no";
  /** Where the run waits for code: this invocation has looked at what is deployed now. */
  looked = false;
  /** An agent of the run limits its time at work: what it spends is debited from here on. */
  countsTime = false;
  time: UndebitedTime;
  /** Model calls of dead invocations whose cost is not debited yet. */
  lostCalls: number;
  /** When the run had waited long enough, as the claim found it: this invocation's own commits move it on. */
  readonly waitsUntil: number;
  /** The row's `stirs` as it was before the inbox was last read. */
  stirsRead: number;
  #row: Row;
  #state: State;
  #committed: State;
  #pending: readonly Event[] = [];
  #journal: readonly CommitRecord[];
  /** What the row's snapshot says of its history. */
  #seal: Seal;
  readonly #stored: Set<string>;
  readonly #segments: SegmentCache;
  readonly #commits: CommitCache;
  readonly #versionAtClaim: number;
  #puts = 0;

  constructor(options: {
    world: World;
    invocation: Invocation;
    loaded: Loaded;
    segments: SegmentCache;
    commits: CommitCache;
    /** When it began to claim the run; now, unless told. */
    since?: number;
    /** Its claim found an owner. */
    overtook?: boolean;
  }) {
    const { row, state, snapshot, journal, stored } = options.loaded;
    this.world = options.world;
    this.invocation = options.invocation;
    this.stirsRead = row.stirsSeen;
    this.waitsUntil = row.deadline;
    this.#row = row;
    this.#state = state;
    this.#committed = state;
    this.#journal = journal;
    this.#stored = new Set(stored);
    this.#seal = { sealed: snapshot.sealed, unsealed: snapshot.unsealed };
    this.#segments = options.segments;
    this.#commits = options.commits;
    this.#commits.add(row.snapshot.digest, snapshot);
    // Whoever claimed since the last commit found the run where it is now; if the model is next, they may have asked.
    const asks = mayAsk(this.#state.pausedFrom ?? this.#state.phase, this.owed()[0]);
    // The last claim is this invocation's own, unless it was handed the run and owns nothing.
    const own = row.owner === null ? 0 : 1;
    this.lostCalls = asks ? row.claims - own : 0;
    const since = options.since ?? this.now;
    const dead = deathsFound(row, { own, overtook: options.overtook === true });
    this.time = { since, unseenMs: unseenMs(row, { dead, now: since, limits: this.world.limits }) };
    this.#versionAtClaim = row.version;
  }

  get row(): Row {
    return this.#row;
  }

  get state(): State {
    return this.#state;
  }

  get now(): number {
    return this.world.clock.now();
  }

  /** What is left for work before this invocation has to commit and release. */
  get leftMs(): number {
    return this.invocation.deadline - this.world.limits.drainMs - this.now;
  }

  /** Turns of plan, act and observe that this invocation brought to an end. */
  get turns(): number {
    return this.replies + (this.recovered && this.replies === 0 ? 1 : 0);
  }

  /** Decided, and not yet durable. */
  get pending(): readonly Event[] {
    return this.#pending;
  }

  get hasPending(): boolean {
    return this.#pending.length > 0;
  }

  /** An invocation that did nothing yet must not hand over for lack of time: the next one would do the same. */
  get moved(): boolean {
    return this.replies > 0 || this.#row.version > this.#versionAtClaim;
  }

  view(): View {
    const { epoch, quietUntil, cancel, pause } = this.#row;
    return { now: this.now, epoch, quietUntil, cancel, pause, looked: this.looked };
  }

  owed(): readonly Command[] {
    return outstanding(this.#state, this.view());
  }

  /** What is a secret in it is replaced before anything follows from it. */
  record(given: Event): void {
    const event = redactionIn(this.world).event(given);
    this.#state = fold(this.#state, event);
    this.#pending = [...this.#pending, event];
    noteEvent(this.world, { row: this.#row, event, phase: this.#state.phase });
  }

  mark(): Mark {
    return { state: this.#state, pending: this.#pending, time: this.time };
  }

  restore(mark: Mark): void {
    this.#state = mark.state;
    this.#pending = mark.pending;
    this.time = mark.time;
  }

  /** Forgets whatever is not committed, but for what it cost. */
  rewind(): void {
    const debits = this.#pending.filter((event) => event.kind === "BudgetDebited");
    this.restore({ state: this.#committed, pending: [], time: this.time });
    for (const debit of debits) this.record(debit);
  }

  json(value: Value): Promise<Json> {
    return jsonOf(this.world.objects, this.#row, value);
  }

  /** The value to record in the transcript; what is large is stored first. */
  keep(json: Json): Promise<Value> {
    return keepValue(this.world, this.#row, { json, inlineMax: SIZES.inlineBytesMax });
  }

  /** The value to record in the state itself. */
  keepSmall(json: Json): Promise<Value> {
    return keepValue(this.world, this.#row, { json, inlineMax: SIZES.stateValueBytesMax });
  }

  /**
   * Makes everything decided so far durable under this epoch. Throws `Fenced` where another epoch has the run, and
   * `StateTooLarge` before anything is written.
   */
  async commit(options: CommitOptions): Promise<"committed" | "stirred"> {
    const row = this.#row;
    const version = row.version + 1;
    if (this.hasPending && !isTerminal(this.#state.phase)) debitTime(this);
    const added = this.hasPending ? [{ version, epoch: row.epoch, events: this.#pending }] : [];
    const commits = [...this.#journal, ...added];
    const journal = commits.length > 0 ? encodeJournal(commits) : null;
    const fits = (journal?.byteLength ?? 0) <= SIZES.journalBytesMax;
    const checkpoint = commits.length > 0 && (options.release || !fits);
    const put = checkpoint ? await this.#put(version, commits) : { snapshot: row.snapshot, seal: this.#seal };
    const { snapshot, seal } = put;
    const phase = this.#state.phase;
    const commit = {
      ...{ run: row.run, born: row.born, now: this.now, epoch: row.epoch, version: row.version, snapshot, phase },
      ...{ wakeAt: null, unlessStirred: false, nextChain: false, expiresAtSec: null },
      deadline: this.now + this.world.limits.idleRunMs,
      ...options,
      commitId: this.world.random.hex().slice(0, 16),
      agentVersion: this.#state.agentVersion,
      journal: checkpoint ? null : journal,
      spent: this.#state.spent,
      status: PHASES[phase].status,
      stirsSeen: this.stirsRead,
      lostCalls: this.lostCalls + (goesOnAsking(this.#state, options) ? 1 : 0),
      raiseQuiet: this.outlived === "tool",
    };
    const epochAfter = commit.epoch + (commit.nextChain ? 1 : 0);
    const outcome = await certainly<CommitOutcome>(
      () => this.world.table.commit(commit),
      (found) => {
        // Schedule 47: it landed, and somebody else has claimed since. Going on with that row would be going on under the
        // other one's epoch, so it stays fenced.
        const isMine = found.commitId === commit.commitId && found.epoch === epochAfter;
        return isMine ? { kind: "committed", row: found } : null;
      },
    );
    if (outcome.kind === "missing") throw new Fenced("the run is gone");
    if (outcome.kind === "fenced") throw new Fenced(`epoch ${row.epoch} is over, epoch ${outcome.row.epoch} has it`);
    if (outcome.kind === "unreadable") throw new Unreadable(`run ${row.run} has format ${outcome.row.format} now`);
    this.#row = outcome.row;
    if (outcome.kind === "stirred") return "stirred";
    noteStatus(this.world, { from: row, to: outcome.row, code: this.#state.failure?.code ?? null });
    this.#committed = this.#state;
    this.#pending = [];
    this.commitFirst = false;
    this.#journal = checkpoint ? [] : commits;
    this.#seal = seal;
    if (checkpoint) this.#commits.add(snapshot.digest, { previous: row.snapshot, commits });
    return "committed";
  }

  /** Makes what was decided durable and goes on. What the row brings back, such as a cancel, is to be looked at again. */
  async commitPending(): Promise<void> {
    await this.commit({ release: false });
  }

  /** Stores the snapshot of this version, and before it whatever it names and nobody stored yet. */
  async #put(version: number, commits: readonly CommitRecord[]): Promise<Put> {
    const { objects } = this.world;
    const row = this.#row;
    const known = { world: this.world, row, seal: this.#seal, cache: this.#commits };
    const { seal, object } = await nextSeal({ ...known, leftMs: () => this.leftMs });
    const content = { version, previous: row.snapshot, seal, commits, state: this.#state };
    const { digest, bytes, segments } = encodeSnapshot(content);
    if (object !== null) await certainlyPut(() => objects.put(object.key, object.bytes));
    const unknown = segments.filter(({ ref }) => !this.#stored.has(ref.sha256));
    await putSegments(objects, row, unknown);
    for (const segment of unknown) {
      this.#stored.add(segment.ref.sha256);
      this.#segments.add(segment);
    }
    this.#puts += 1;
    const key = snapshotKey(row, { version, epoch: row.epoch, put: this.#puts });
    await putSnapshot(objects, { key, bytes });
    return { snapshot: { version, key, digest }, seal };
  }
}
