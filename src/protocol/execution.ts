/**
 * One execution of a chain as a value, and its steps from state to state. Step Functions keeps this in its service; the
 * other worlds keep it in a row. `chain.ts` says for all of them which state follows which.
 *
 * The value holds the retry number from before an attempt is sent until its answer is stored. After a power loss the
 * next supervisor therefore counts on from the attempt that was out. If it sent the same number again, the dead
 * attempt's claim would refuse the new one for ever.
 */
import {
  AFTER_BEAT,
  type ChainState,
  type Payload,
  type Reply,
  type Task,
  type TaskResult,
  RETRY_DELAYS_MS,
  beatDelayMs,
} from "./chain.ts";
import { RETRY_GROUP } from "./entry.ts";
import type { ChangedIntrinsic } from "../core/changed-intrinsic.ts";
import { unreachable } from "../core/ensure.ts";
import type { Limits } from "./limits.ts";

export interface Execution {
  readonly name: string;
  readonly payload: Payload;
  readonly state: ChainState;
  /**
   * `due`: the task of its state may be sent from `readyAt` on. `trying`: an attempt is out. `waiting`: at `readyAt`
   * the execution goes on to the next state. `ended`: the execution is over.
   */
  readonly stage: "due" | "trying" | "waiting" | "ended";
  /**
   * The retry number of the attempt that is out or next: 0 at every new entry. A beat's retries count by `RETRY_GROUP`.
   */
  readonly retry: number;
  /** The retry number of the last attempt of this entry whose process is known to have died; null without one. */
  readonly died: number | null;
  /** How the process of that attempt ended, as text for humans and without secrets; null if unknown. */
  readonly cause: string | null;
  /** What code of the run changed in the process of an attempt of this entry; null if nothing. It is no death. */
  readonly changed: ChangedIntrinsic | null;
  /** Attempts ever sent. An answer to any but the last one is late and changes nothing. */
  readonly attempt: number;
  /** Epoch milliseconds; null while the execution waits for no time. */
  readonly readyAt: number | null;
  /** How long the execution waits or parks, in seconds, from its beat's reply. */
  readonly seconds: number;
  /**
   * The token that wakes the execution. Each attempt of Park gets a new one, which is stored before the attempt is
   * sent.
   */
  readonly token: string | null;
}

/** A result from which a chain can go on. */
export type TaskAnswer = Exclude<TaskResult, { readonly kind: "exit" }>;

/**
 * The shortest pause after a Rescue. Without it, a Rescue that names a moment in the past would repeat without a pause.
 */
const RESCUE_PAUSE_MS = 250;

/** The pause after an attempt that no process got: starting processes takes the machine's time. */
const UNSENT_PAUSE_MS = 1_000;

/** A new execution, due at once. */
export function newExecution({
  name,
  payload,
  now,
}: {
  readonly name: string;
  readonly payload: Payload;
  readonly now: number;
}): Execution {
  return { name, payload, state: "Beat", ...entry(now), attempt: 0, seconds: 1 };
}

/** The state whose task is sent at `readyAt`. */
function dueState({ state, stage }: Execution): ChainState {
  if (stage !== "waiting") return state;
  return state === "Backoff" ? "Rescue" : "Beat";
}

/** The execution with one more attempt out. `token` is the token of that attempt if it is an attempt to park. */
export function beginAttempt(execution: Execution, token: string): Execution {
  const state = dueState(execution);
  return {
    ...execution,
    state,
    stage: "trying",
    retry: execution.stage === "waiting" ? 0 : execution.retry,
    ...(execution.stage === "waiting" && state === "Beat" ? NO_DEATH : {}),
    attempt: execution.attempt + 1,
    readyAt: null,
    token: state === "Park" ? token : null,
  };
}

/**
 * The execution whose process goes on with the next beat by itself, without a new attempt of its supervisor; null if
 * the reply leads elsewhere. What follows is the entry that `applyAnswer` and `beginAttempt` would make. The attempt
 * stays the same one: the supervisor gets one answer to it, or sees its process die.
 */
export function goOnWith(execution: Execution, reply: Reply): Execution | null {
  if (reply.route !== "beat" || reply.behind === true) return null;
  const { run, born, chain, epoch, agent, seconds } = reply;
  return { ...execution, payload: { run, born, chain, epoch, agent }, seconds, retry: 0, ...NO_DEATH };
}

/** The task that a begun execution sends to a worker. */
export function taskOfExecution({ name, payload, state, retry, died, token, ...execution }: Execution): Task {
  const entry = { execution: name, epoch: payload.epoch };
  const cause = execution.cause === null ? {} : { cause: execution.cause };
  const changed = execution.changed === null ? {} : { changed: execution.changed };
  if (state === "Park") return { kind: "park", payload, attempt: { ...entry, retry, died: null }, token: token ?? "" };
  if (state === "Renew") return { kind: "renew", payload };
  if (state === "Beat") return { kind: "beat", payload, attempt: { ...entry, retry, died, ...cause, ...changed } };
  return { kind: "rescue", payload, dead: died === null ? null : { ...entry, retry: died }, ...cause };
}

/** The execution after the answer to its last attempt. */
export function applyAnswer(
  execution: Execution,
  { answer, now }: { readonly answer: TaskAnswer; readonly now: number },
): Execution {
  switch (answer.kind) {
    case "beat":
      return afterBeat(execution, { reply: answer.reply, now });
    case "park":
      return { ...execution, stage: "waiting", readyAt: now + execution.seconds * 1_000 };
    case "renew":
      return ended(execution);
    case "rescue":
      if (answer.until === null) return ended(execution);
      return { ...execution, ...entry(Math.max(answer.until, now + RESCUE_PAUSE_MS)), ...deathOf(execution) };
    // These tasks belong to no execution.
    case "sweep":
    case "cleanUp":
    case "orphans":
    case "firing":
      return execution;
    default:
      return unreachable(answer);
  }
}

function afterBeat(
  execution: Execution,
  { reply, now }: { readonly reply: Extract<TaskAnswer, { readonly kind: "beat" }>["reply"]; readonly now: number },
): Execution {
  const { route, seconds, run, born, chain, epoch, agent } = reply;
  const state = AFTER_BEAT[route];
  const payload = { run, born, chain, epoch, agent };
  const moved: Execution = { ...execution, payload, state, seconds, ...entry(now) };
  if (state === "End") return ended(moved);
  return state === "Wait" ? { ...moved, stage: "waiting", readyAt: now + seconds * 1_000 } : moved;
}

/** How an attempt ended without an answer. */
export interface AttemptFailure {
  readonly now: number;
  readonly limits: Pick<Limits, "rescueMs" | "entryAttemptsMax" | "backoffMsMax">;
  /** The attempt died with its supervisor, so a pause gains nothing. */
  readonly atOnce: boolean;
  /** Its process is known to have died. False if a store did not answer, or if no process could be started. */
  readonly isDeath: boolean;
  /** No process ever got the attempt. */
  readonly isUnsent?: boolean;
  /** How it ended, as text for humans and without secrets; absent if unknown. */
  readonly cause?: string | null;
  /** What code of the run changed in that process; absent if nothing, or if that is not certain. */
  readonly changed?: ChangedIntrinsic | null;
}

type Death = Pick<Execution, "died" | "cause" | "changed">;

const NO_DEATH: Death = { died: null, cause: null, changed: null };

const deathOf = ({ died, cause, changed }: Execution): Death => ({ died, cause, changed });

/**
 * The execution after an attempt without an answer.
 *
 * Schedule 24: all attempts of a beat die. A new entry of Beat begins at retry 0, and the last dead attempt's claim
 * would refuse it. So the chain does not enter Beat again after the last retry: Rescue hands the run over.
 *
 * Schedule 242: process after process ends before it gets the attempt, since the machine has no room. Nothing claimed
 * with that number, so the next attempt has it again, and the run comes no nearer to the end of its retries.
 */
export function applyFailure(
  execution: Execution,
  { now, limits, atOnce, isDeath, isUnsent = false, cause = null, changed = execution.changed }: AttemptFailure,
): Execution {
  const { state } = execution;
  if (isUnsent) return { ...execution, stage: "due", readyAt: atOnce ? now : now + UNSENT_PAUSE_MS };
  // A beat's retries count by groups, since services add their own retries within a group; others count by one.
  const each = state === "Beat" ? RETRY_GROUP : 1;
  const failures = Math.floor(execution.retry / each) + 1;
  // A beat's death is kept for the Rescue of its run. The outcome of that Rescue does not overwrite it.
  const known = { ...deathOf(execution), changed };
  const death = isDeath && state === "Beat" ? { ...known, died: execution.retry, cause } : known;
  const delayMs = state === "Beat" ? beatDelayMs(failures, limits.backoffMsMax) : RETRY_DELAYS_MS[failures - 1];
  if (delayMs === undefined || failures >= limits.entryAttemptsMax) {
    return { ...execution, ...entry(now + limits.rescueMs), ...death, state: "Backoff", stage: "waiting" };
  }
  return {
    ...execution,
    stage: "due",
    retry: failures * each,
    ...death,
    readyAt: atOnce ? now : now + delayMs,
  };
}

/**
 * The execution after a wake of its token. The wake may come while the attempt to park is still out. The answer of that
 * attempt then finds another stage and is dropped, so the wake is not lost.
 */
export function wakeExecution(execution: Execution, now: number): Execution {
  return { ...execution, state: "Beat", ...entry(now) };
}

function ended(execution: Execution): Execution {
  return { ...execution, state: "End", stage: "ended", readyAt: null, token: null };
}

/** The fields with which every entry of a state begins. */
const entry = (readyAt: number): Pick<Execution, "stage" | "retry" | keyof Death | "readyAt" | "token"> => ({
  stage: "due",
  retry: 0,
  ...NO_DEATH,
  readyAt,
  token: null,
});
