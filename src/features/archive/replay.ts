/**
 * Replays a recorded run: folds its events again from its first state, without a model, a tool or an agent. It compares
 * the result with each stored snapshot, and at the end with the run's own facts. It stops at the first version that
 * differs, since everything after that follows from it.
 */
import type { ArchivedRun } from "../../codec/archive.ts";
import { type StateMark, differences, markOf } from "../../codec/mark.ts";
import type { CommitRecord, Event } from "../../core/event.ts";
import { InvariantViolated } from "../../core/ensure.ts";
import { statusOf } from "../../core/calls/open-calls.ts";
import type { State } from "../../core/state.ts";
import type { Kernel } from "../../core/transition.ts";
import { wrongDebits, wrongEnd, wrongFields, wrongOrder } from "../../history/agreement.ts";
import type { Recording } from "./recording.ts";
import { type Steps, atOnce } from "../../history/stepwise.ts";

/** The first version that differs from what was stored, and how it differs. */
export interface Difference {
  readonly version: number;
  readonly what: string;
}

/** The result of a replay. `differs`: null if everything matches. */
export interface Replayed {
  readonly state: State;
  /** The version of the last folded commit. */
  readonly version: number;
  readonly epoch: number;
  readonly commits: number;
  readonly events: number;
  /** How many snapshots the fold was compared with. */
  readonly snapshots: number;
  readonly differs: Difference | null;
}

/** Receives each event before it is folded, with the state before it. */
export type Witness = (event: Event, at: { readonly before: State; readonly version: number }) => void;

export interface ReplayOptions {
  readonly until?: number;
  readonly witness?: Witness;
}

/** Replays up to version `until`, by default to the end. It compares the run's own facts only at the end. */
export const replay = (kernel: Kernel, recording: Recording, options: ReplayOptions = {}): Replayed =>
  atOnce(replaySteps(kernel, recording, options));

/** The same in steps. */
export function* replaySteps(
  kernel: Kernel,
  { run, begun, commits }: Recording,
  options: ReplayOptions = {},
): Steps<Replayed> {
  const { until = run.version, witness = () => undefined } = options;
  const going = new Replay(kernel, begun);
  const [first] = begun.marks;
  if (first?.version !== 0) going.differ(0, "nothing says what state it began with");
  for (const [index, commit] of commits.entries()) {
    if (commit.version > until || going.differs !== null) break;
    if (index % COMMITS_PER_STEP === COMMITS_PER_STEP - 1) yield;
    going.take(commit, witness);
  }
  going.compareBelow(until + 1);
  const isWhole = until >= run.version && going.differs === null;
  if (isWhole) {
    const wrong = yield* wrongAtEnd(run, { ...going.result, folded: commits.slice(0, going.result.commits) });
    if (wrong !== null) going.differ(run.version, wrong);
  }
  return going.result;
}

/** To fold an event takes far more than to read it. */
const COMMITS_PER_STEP = 64;

class Replay {
  readonly #kernel: Kernel;
  #state: State;
  readonly #marks: readonly StateMark[];
  #version = 0;
  #epoch = 0;
  #commits = 0;
  #events = 0;
  #snapshots = 0;
  differs: Difference | null = null;

  constructor(kernel: Kernel, { state, marks }: Recording["begun"]) {
    this.#kernel = kernel;
    this.#state = state;
    this.#marks = marks;
  }

  get result(): Replayed {
    const counted = { commits: this.#commits, events: this.#events, snapshots: this.#snapshots };
    return { state: this.#state, version: this.#version, epoch: this.#epoch, ...counted, differs: this.differs };
  }

  differ(version: number, what: string): void {
    this.differs ??= { version, what };
  }

  take({ version, epoch, events }: CommitRecord, witness: Witness): void {
    this.compareBelow(version);
    const before = { version: this.#version, epoch: this.#epoch };
    for (const wrong of wrongOrder(before, { version, epoch })) this.differ(version, wrong);
    for (const event of events) {
      if (this.differs !== null) return;
      this.#foldOne(event, { version, witness });
    }
    this.#version = version;
    this.#epoch = epoch;
    this.#commits += 1;
  }

  #foldOne(event: Event, { version, witness }: { readonly version: number; readonly witness: Witness }): void {
    try {
      witness(event, { before: this.#state, version });
      this.#state = this.#kernel.fold(this.#state, event);
    } catch (error) {
      if (!(error instanceof InvariantViolated)) throw error;
      this.differ(version, `its ${event.kind} does not follow: ${error.message}`);
      return;
    }
    this.#events += 1;
  }

  /** Compares with all snapshots before this version. No event lies between them and the current state. */
  compareBelow(version: number): void {
    for (;;) {
      const mark = this.#marks[this.#snapshots];
      if (mark === undefined || mark.version >= version || this.differs !== null) return;
      this.#snapshots += 1;
      const fields = differences(mark, markOf(mark.version, this.#state));
      if (fields.length > 0) {
        this.differ(mark.version, `its snapshot differs from the state that its events give: ${fields.join(", ")}`);
      }
    }
  }
}

/** Compares the run's facts with the result of its events. Null if they match. */
function* wrongAtEnd(
  run: ArchivedRun,
  { state, version, epoch, folded }: Replayed & { readonly folded: readonly CommitRecord[] },
): Steps<string | null> {
  const isQueued = run.version === 0 && run.status === "queued";
  const { run: id, born, agent, agentVersion, task, result: outcome, failure, restart, startedAt, spent } = state;
  const come = {
    run: id,
    born,
    agent,
    agentVersion,
    task,
    result: outcome,
    failure,
    attempt: restart,
    startedAt,
    spent,
  };
  const status = isQueued ? "queued" : statusOf(state);
  const phase = run.phase === undefined ? {} : { phase: state.phase };
  const fields = Object.entries({ status, ...phase, ...come }).map(
    ([name, is]) => [name, { said: run[name as keyof ArchivedRun], come: is }] as const,
  );
  const debits = (yield* wrongDebits(spent, folded)).map(
    ({ meter, spent: amount, sum }) => `it spent ${amount} ${meter}, and its debits add up to ${sum}`,
  );
  return [...wrongFields(Object.fromEntries(fields)), ...debits, ...wrongEnd(run, { version, epoch })][0] ?? null;
}
