/**
 * Starts a run: stores snapshot 0, then creates the row, then starts the execution. Each step can be repeated, so a
 * start that crashed is repeated with the same idempotency key.
 */
import type { Agent } from "../ports/agent.ts";
import { Unreadable } from "../codec/canonical.ts";
import type { FileContent } from "../core/file.ts";
import { inputDigestOf } from "../codec/file.ts";
import { type Found, RowNewer, RowUnreadable } from "../codec/row.ts";
import { secretNamesOf } from "../ports/secrets.ts";
import { runId } from "../protocol/ids.ts";
import type { RunLabels } from "../core/ids.ts";
import type { Json } from "../core/json.ts";
import type { RunFiring } from "../core/run-firing.ts";
import type { Creation, Incarnation, Row } from "../protocol/row.ts";
import type { Tombstone } from "../protocol/tombstone.ts";
import type { CreateOutcome } from "../ports/run-table.ts";
import type { World } from "../ports/world.ts";
import { findRow } from "../history/damage.ts";
import { resolveAmbiguousWrite } from "../history/resolve-ambiguous-write.ts";
import { type Issue, prepareCreation, taskOf } from "../engine/context/creation.ts";
import type { TraceHeaders } from "../codec/caller-trace.ts";
import { traceToKeep } from "../engine/context/trace.ts";
import { startExecution } from "../engine/context/executions.ts";
import { learnSecretsOfInput } from "../history/secrets.ts";
import type { CountedBy } from "../features/spend-caps/counters.ts";
import { type StartLimited, limitStart } from "./access/start-limits.ts";
import { markOfStart } from "./restored-store.ts";

/** What the input has and the agent does not get: its schema drops it. Absent: nothing. */
export interface Dropped {
  readonly dropped?: readonly string[];
}

/** The outcome of a start. */
export type Started =
  | ({ readonly kind: "started"; readonly row: Row } & Dropped)
  /** The same key and input as an earlier start: it returns the same run. */
  | ({ readonly kind: "exists"; readonly row: Row } & Dropped)
  /** The same key with another input. That run may have ended, and its data may be gone. */
  | { readonly kind: "conflict"; readonly run: string }
  /** The same key and input as a run that has ended and whose data is gone. */
  | { readonly kind: "ended"; readonly tombstone: Tombstone }
  /** The agent does not accept the input; `why` names each path. `example`: an input that it accepts; null: none is known. */
  | { readonly kind: "invalid"; readonly why: string; readonly issues: readonly Issue[]; readonly example?: Json }
  | StartLimited;

/** A run to start. */
interface RunToStart {
  readonly agent: Agent;
  readonly tenant: string;
  /** Null: every start creates a new run. */
  readonly idempotencyKey: string | null;
  /** The run that starts this one as its child and waits for its end. */
  readonly parent?: Incarnation;
  /** Who starts the run, as the API or CLI knows them. The first start with a key decides. */
  readonly by?: string;
  /** The schedule of the agent starts it; default: it does not. */
  readonly isScheduled?: boolean;
  /** When the firing that starts it was due, epoch milliseconds; absent: no firing does. */
  readonly due?: number;
  /** The firing as the run knows it, also one by hand; absent: none starts it. */
  readonly firing?: RunFiring;
  /** The files of the task, checked. */
  readonly files?: readonly FileContent[];
  /** What the caller calls the run besides; absent: nothing. The first start with a key decides. */
  readonly labels?: RunLabels | undefined;
  /** What limits the starts of the caller; absent: nothing. */
  readonly counted?: CountedBy | undefined;
  /** The trace of the caller; absent: none is known. The first start with a key decides. */
  readonly trace?: TraceHeaders | undefined;
}

/** Throws `RowNewer` if a newer version of cairn wrote the run, and `Unreadable` if its row is damaged. */
export async function startRun(world: World, given: RunToStart & { readonly input: Json }): Promise<Started> {
  const task = await taskToStart(world, given);
  if (!task.ok) return { kind: "invalid", why: task.why, issues: task.issues };
  return startTask(world, { ...given, task: task.json, dropped: task.dropped });
}

/**
 * The same for an input that `taskToStart` has accepted. `given`: the input as it was given, so that a repeated start finds
 * its run after a new version of the agent reads the same input otherwise.
 */
export async function startTask<Refusal extends { readonly kind: string } = never>(
  world: World,
  start: TaskToStart<Refusal> & Dropped,
): Promise<Started | Refusal> {
  return withDropped(await startOnce(world, start), start.dropped);
}

interface TaskToStart<Refusal> extends RunToStart {
  readonly task: Json;
  readonly given?: Json;
  /** What else refuses a new run; null: nothing. A repeated start gets its run. */
  readonly whileNew?: () => Promise<Refusal | null>;
}

/** The answer, which names what the input has and the agent does not get. */
export function withDropped<Answer extends { readonly kind: string }>(
  answer: Answer,
  dropped: readonly string[] = [],
): Answer {
  const isStarted = answer.kind === "started" || answer.kind === "exists";
  return isStarted && dropped.length > 0 ? { ...answer, dropped } : answer;
}

async function startOnce<Refusal>(world: World, start: TaskToStart<Refusal>): Promise<Started | Refusal> {
  const { agent, tenant, task, given = task, files = [] } = start;
  const idempotencyKey = start.idempotencyKey ?? world.random.hex();
  const run = runId(world.hash, { tenant, agent: agent.name, idempotencyKey });
  const left = await findStart(world, run);
  if (left !== null) return repeatStart(world, left, isInput(files, task, given));
  const refusal = (await start.whileNew?.()) ?? (await limitStart(world, { run, agent, counted: start.counted }));
  if (refusal !== null) return refusal;
  const creation = await prepareCreation(world, {
    agent,
    tenant,
    run,
    task,
    files,
    restored: await markOfStart(world, { isKeyed: start.idempotencyKey !== null, due: start.due }),
    parent: start.parent ?? null,
    by: start.by ?? null,
    isScheduled: start.isScheduled,
    // The key of a firing is made of its agent and its time, which lists show anyway.
    key: start.isScheduled === true ? null : start.idempotencyKey,
    firing: start.firing,
    trace: traceToKeep(world, agent, start.trace),
    labels: start.labels,
  });
  return createOnce(world, creation);
}

/** Whether a digest is that of one of these inputs. Nothing is hashed before there is a digest to compare. */
export type IsInput = (inputDigest: string) => boolean;

export const isInput =
  (files: readonly FileContent[], ...inputs: readonly Json[]): IsInput =>
  (inputDigest) => {
    const refs = files.map(({ ref }) => ref);
    return inputs.some((input) => inputDigestOf(input, refs) === inputDigest);
  };

/** The task of an input, or why the agent does not take it. */
export async function taskToStart(
  world: World,
  { agent, input }: { readonly agent: Agent; readonly input: Json },
): Promise<ReturnType<typeof taskOf>> {
  await learnSecretsOfInput(world, secretNamesOf(agent));
  return taskOf(world, agent, input);
}

/** What an earlier start of a run left: its row, also one that cannot be read, or the tombstone of its key. */
export type LeftByStart = { readonly row: Found } | { readonly tombstone: Tombstone };

/**
 * What an earlier start of the same run left; null if nothing. It avoids the PUTs of a late retry. The creation itself
 * makes the decision.
 */
export async function findStart(world: World, run: string): Promise<LeftByStart | null> {
  const now = world.clock.earliest();
  const [row, tombstone] = await Promise.all([findRow(world, run, now), world.table.readKey(run, now)]);
  if (row !== null) return { row };
  return tombstone === null ? null : { tombstone };
}

/**
 * The answer to a start that is repeated with its key. A known key answers before the schema of today does: otherwise a
 * caller whose first request was accepted hears after a deploy that nothing was started. Throws if the row is damaged.
 */
export async function repeatStart(world: World, left: LeftByStart, isSame: IsInput): Promise<Started> {
  if ("tombstone" in left) return endedBefore(left.tombstone, isSame);
  if (left.row instanceof RowUnreadable) throw left.row;
  return resumeStart(world, left.row, isSame);
}

/** Creates the row, unless an earlier start did, and starts the execution. */
export async function createOnce(world: World, creation: Creation): Promise<Started> {
  const { run, inputDigest } = creation;
  const isSame: IsInput = (found) => found === inputDigest;
  const outcome = await resolveAmbiguousWrite<Exclude<CreateOutcome, { kind: "ambiguous" }>>(
    () => world.table.create(creation),
    (row) => (row.born === creation.born ? { kind: "created", row } : null),
  );
  if (outcome.kind === "newer") throw new RowNewer(run, outcome);
  if (outcome.kind === "unreadable") throw new Unreadable(`run ${run}: ${outcome.why}`, "RowDamaged");
  if (outcome.kind === "ended") return endedBefore(outcome.tombstone, isSame);
  if (outcome.kind !== "created") return resumeStart(world, outcome.row, isSame);
  // Schedule 220: a start that falls into the lost time of a restore waits for an operator's word.
  if (outcome.row.restored?.waits !== true) await startExecution(world, outcome.row);
  return { kind: "started", row: outcome.row };
}

/** A repeated start: the first one may have died after it created the row and before it started the execution. */
async function resumeStart(world: World, row: Row, isSame: IsInput): Promise<Started> {
  if (!isSame(row.inputDigest)) return { kind: "conflict", run: row.run };
  if (row.status === "queued") await startExecution(world, row);
  return { kind: "exists", row };
}

/** Schedule 81: the key was used before, and its run is gone. The work is not done again. */
const endedBefore = (tombstone: Tombstone, isSame: IsInput): Started =>
  isSame(tombstone.inputDigest) ? { kind: "ended", tombstone } : { kind: "conflict", run: tombstone.run };
