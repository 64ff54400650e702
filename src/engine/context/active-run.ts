/**
 * A run in the hands of one invocation: the committed row, the state with what was decided since, and the one way to make
 * that durable. Payload first, pointer last: a crash leaves an object that no row names, and never the other way round.
 */
import { Unreadable } from "../../codec/canonical.ts";
import { checkedCommit } from "../../codec/checksum.ts";
import { RowNewer } from "../../codec/row.ts";
import { type Seal, encodeJournal } from "../../codec/snapshot.ts";
import type { CommitRecord, Event } from "../../core/event.ts";
import type { Json } from "../../core/json.ts";
import { SIZES } from "../../codec/limits.ts";
import { levelIn, neededLevel } from "../../core/levels.ts";
import type { Value } from "../../core/message.ts";
import { type Command, type View, outstanding } from "../../core/outstanding.ts";
import { isTerminal } from "../../core/phases.ts";
import type { Price } from "../../core/policy/price.ts";
import { type Commit, type CommitOutcome, type Row, hasEnded } from "../../protocol/row.ts";
import type { State } from "../../core/state.ts";
import { fold } from "../../core/transition.ts";
import type { Invocation } from "../../ports/tasks.ts";
import type { World } from "../../ports/world.ts";
import { certainly, patient } from "../../history/resolve-ambiguous-write.ts";
import { type ObjectCaches, type Storing, storeSnapshot } from "../../history/checkpoint.ts";
import { clearTaken, takenIn } from "./clear-absorbed.ts";
import { type CommitOptions, commitRequest, isCost } from "./commit-request.ts";
import { noteCommit, noteEvent } from "./telemetry-events.ts";
import { Fenced } from "./fenced.ts";
import type { CommitCache } from "../../history/commits.ts";
import { type Loaded, type SegmentCache, jsonOf } from "../../history/load.ts";
import { keepValue } from "../../history/write-objects.ts";
import { redactionIn } from "../../history/secrets.ts";
import { type UndebitedTime, debitTime, undebitedTime } from "./time-at-work.ts";
import { assertMaySeal, signIn } from "../../history/vouch.ts";
import { type UnaccountedCalls, debitOthers, recordLostCalls, unaccountedIn } from "./unaccounted-model-calls.ts";

/** What was decided and not yet committed. */
interface Mark {
  readonly state: State;
  readonly pending: readonly Event[];
  readonly time: UndebitedTime;
  readonly modelCalls: UnaccountedCalls;
}

export class ActiveRun {
  readonly world: World;
  readonly invocation: Invocation;
  /** Model replies that this invocation brought in. */
  replies = 0;
  /** It ran tools that another invocation had released. */
  recovered = false;
  /** Calls of which a try may have left that gave no answer, here or before: none of them is known not to have begun. */
  readonly unanswered = new Set<string>();
  /** What is pending since `mark` was decided on the condition that no message came since the inbox was read. */
  isConditional = false;
  /** Messages whose inbox items this invocation removed. */
  readonly cleared = new Set<string>();
  /** Calls that this invocation began. */
  readonly begun = new Set<string>();
  /** What was recorded has to be durable before the model hears of it (rule 2). */
  commitFirst = false;
  /** Something outlived its timeout: this process has to end before it does anything else. */
  outlived: "no" | "code" | "tool" = "no";
  /** Where the run waits for code: this invocation has looked at what is deployed now. */
  looked = false;
  /** An agent of the run limits its time at work: what it spends is debited from here on. */
  countsTime = false;
  /** What its model charges, as soon as this invocation has met its agent. */
  price: Price | null = null;
  time: UndebitedTime;
  modelCalls: UnaccountedCalls;
  /** When the run had waited long enough, as the claim found it: this invocation's own commits move it on. */
  readonly waitsUntil: number;
  /** The row's `stirs` as it was before the inbox was last read. */
  stirsRead: number;
  /** Commits that this invocation sent, whatever became of them. */
  readonly sent = new Set<string>();
  #row: Row;
  #state: State;
  #committed: State;
  #pending: readonly Event[] = [];
  #journal: readonly CommitRecord[];
  /** What the row's snapshot says of its history. */
  #seal: Seal;
  readonly #caches: ObjectCaches;
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
  }) {
    const { row, state, snapshot, journal, stored } = options.loaded;
    const { segments, commits } = options;
    assertMaySeal(options.world, snapshot);
    this.world = options.world;
    this.invocation = options.invocation;
    this.stirsRead = row.stirsSeen;
    this.waitsUntil = row.deadline;
    this.#row = row;
    this.#state = state;
    this.#committed = state;
    this.#journal = journal;
    this.#seal = { sealed: snapshot.sealed, unsealed: snapshot.unsealed };
    this.#caches = { stored: new Set(stored), segments, commits };
    commits.add(row.snapshot.digest, snapshot);
    this.modelCalls = unaccountedIn(row);
    this.time = undebitedTime(row, { since: options.since ?? this.now, limits: this.world.limits });
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
    return {
      now: this.now,
      earliest: this.world.clock.earliest(),
      epoch,
      quietUntil,
      cancel,
      pause,
      looked: this.looked,
    };
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

  /** What is recorded from here on is decided on the condition that no message came since the inbox was read. */
  mark(): Mark {
    this.isConditional = true;
    return { state: this.#state, pending: this.#pending, time: this.time, modelCalls: this.modelCalls };
  }

  /** Forgets what was recorded since. */
  restore({ state, pending, time, modelCalls }: Mark): void {
    this.isConditional = false;
    this.#state = state;
    this.#pending = pending;
    this.time = time;
    this.modelCalls = modelCalls;
  }

  /**
   * Forgets what is not committed, but for what it cost: replies that are dropped count as lost, at what they cost. What was
   * read of the inbox is read again.
   */
  rewind(why: string): void {
    const dropped = this.#pending.filter(({ kind }) => kind === "ModelCallCompleted" || kind === "Compacted").length;
    const costs = this.#pending.filter(isCost);
    this.isConditional = false;
    this.#state = this.#committed;
    this.#pending = [];
    this.stirsRead = this.#row.stirsSeen;
    if (dropped > 0) recordLostCalls(this, { calls: dropped, why });
    for (const cost of costs) this.record(cost);
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
   * `StateTooLarge` before anything is written. `tooLarge`: what would have to go into the journal does not fit there.
   */
  async commit(options: CommitOptions): Promise<"committed" | "stirred" | "tooLarge"> {
    if (!isTerminal(this.#state.phase)) {
      debitOthers(this);
      if (this.hasPending) debitTime(this);
    }
    this.isConditional = options.unlessStirred === true;
    const row = this.#row;
    const version = row.version + 1;
    const level = Math.max(levelIn(row), neededLevel({ state: this.#state, events: this.#pending }));
    const added = this.hasPending ? [{ version, epoch: row.epoch, events: this.#pending }] : [];
    const commits = [...this.#journal, ...added];
    const sign = await signIn(this.world);
    const journal = commits.length > 0 ? encodeJournal(commits, sign && { of: row, sign }) : null;
    const fits = (journal?.byteLength ?? 0) <= SIZES.journalBytesMax;
    if (!fits && options.storeOutage !== undefined) return "tooLarge";
    const checkpoint = commits.length > 0 && options.storeOutage === undefined && (options.release || !fits);
    const { snapshot, seal } = checkpoint
      ? await this.#store({ version, level, commits, sign })
      : { snapshot: row.snapshot, seal: this.#seal };
    const content = { snapshot, journal: checkpoint ? null : journal, level };
    const request = checkedCommit(row, commitRequest(this, options, content));
    const outcome = await this.#send(request);
    if (outcome.kind === "missing") throw new Fenced("the run is gone");
    if (outcome.kind === "fenced") throw new Fenced(`epoch ${row.epoch} is over, epoch ${outcome.row.epoch} has it`);
    if (outcome.kind === "unreadable") throw new Unreadable(`run ${row.run}: ${outcome.why}`);
    if (outcome.kind === "newer") throw new RowNewer(row.run, outcome);
    this.#row = outcome.row;
    this.isConditional = false;
    if (outcome.kind === "stirred") return "stirred";
    noteCommit(this.world, { from: row, to: outcome.row, code: this.#state.failure?.code ?? null });
    this.#committed = this.#state;
    const taken = hasEnded(outcome.row) ? [] : takenIn(this.#pending);
    this.#pending = [];
    this.commitFirst = false;
    this.modelCalls = {
      others: 0,
      own: this.modelCalls.own === "left" ? "left" : request.asks > 0 ? "marked" : "none",
    };
    this.#journal = checkpoint ? [] : commits;
    this.#seal = seal;
    if (checkpoint) this.#caches.commits.add(snapshot.digest, { previous: row.snapshot, commits });
    // Those of an end go when it is told.
    for (const id of await clearTaken(this.world, outcome.row, taken)) this.cleared.add(id);
    return "committed";
  }

  /** Makes what was decided durable and goes on. What the row brings back, such as a cancel, is to be looked at again. */
  async commitPending(): Promise<void> {
    await this.commit({ release: false });
  }

  #send(commit: Commit): Promise<CommitOutcome> {
    const { clock, random, limits } = this.world;
    const epochAfter = commit.epoch + (commit.nextChain ? 1 : 0);
    this.sent.add(commit.commitId);
    return certainly<CommitOutcome>(
      () => this.world.table.commit(commit),
      (found) => {
        // Schedule 47: it landed, and another epoch has claimed since. Going on with that row would be going on under
        // the other one's epoch, so it stays fenced.
        const isMine = found.commitId === commit.commitId && found.epoch === epochAfter;
        return isMine ? { kind: "committed", row: found } : null;
      },
      patient({ clock, random, until: this.invocation.deadline - limits.drainMs / 4 }),
    );
  }

  #store(of: Pick<Storing, "version" | "level" | "commits" | "sign">): ReturnType<typeof storeSnapshot> {
    this.#puts += 1;
    return storeSnapshot(this.world, {
      ...of,
      ...{ row: this.#row, seal: this.#seal, state: this.#state, put: this.#puts, caches: this.#caches },
      leftMs: () => this.leftMs,
    });
  }
}
