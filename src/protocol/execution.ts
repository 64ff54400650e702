/**
 * One execution of a chain as a value, and how it moves from state to state. What Step Functions keeps in its service,
 * the other worlds keep in a row; which state follows which is `chain.ts` for all of them.
 *
 * The retry number is in the value from before an attempt leaves until its answer is stored. After a power loss the
 * next supervisor therefore counts on from the attempt that was out. If it sent the same number again, the claim of
 * that attempt would be refused by its own dead predecessor, for ever.
 */
import { AFTER_BEAT, type ChainState, type Payload, type Task, type TaskResult } from "./chain.ts";
import { RETRY_DELAYS_MS, beatDelayMs } from "./chain.ts";
import { RETRY_GROUP } from "./entry.ts";
import { unreachable } from "../core/invariant.ts";
import type { Limits } from "./limits.ts";

export interface Execution {
  readonly name: string;
  readonly payload: Payload;
  readonly state: ChainState;
  /**
   * `due`: the task of its state may be sent from `readyAt` on. `trying`: an attempt is out. `waiting`: at `readyAt` it
   * goes on to the next state. `ended`: over.
   */
  readonly stage: "due" | "trying" | "waiting" | "ended";
  /** Which attempt of this entry of its state is out or next: 0 at every new entry; a beat's counts by `RETRY_GROUP`. */
  readonly retry: number;
  /** The attempt of this entry whose process is known to have died last; null when there is none. */
  readonly died: number | null;
  /** How the process of that attempt ended, for people, without secrets; null where that is not known. */
  readonly cause: string | null;
  /** Attempts ever sent. An answer to any but the last one comes too late and changes nothing. */
  readonly attempt: number;
  /** Epoch milliseconds; null when no time will move it. */
  readonly readyAt: number | null;
  /** How long it parks, from its beat's reply. */
  readonly seconds: number;
  /** What wakes it: minted anew for every attempt of Park, and stored before that attempt is sent. */
  readonly token: string | null;
}

/** An answer that a chain can go on from. */
export type Answer = Exclude<TaskResult, { readonly kind: "exit" }>;

/** Keeps a Rescue that names a moment in the past from going round without a pause. */
const RESCUE_PAUSE_MS = 250;

export function started(of: { readonly name: string; readonly payload: Payload; readonly now: number }): Execution {
  const { name, payload, now } = of;
  return { name, payload, state: "Beat", ...entry(now), attempt: 0, seconds: 1 };
}

/** The state whose task is sent once `readyAt` has come. */
function dueState({ state, stage }: Execution): ChainState {
  if (stage !== "waiting") return state;
  return state === "Backoff" ? "Rescue" : "Beat";
}

/** An attempt leaves. `token` is the one that it waits on if it is an attempt to park. */
export function begun(execution: Execution, token: string): Execution {
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

/** What a begun execution asks a worker to do. */
export function taskOf({ name, payload, state, retry, died, token, ...execution }: Execution): Task {
  const entry = { execution: name, epoch: payload.epoch };
  const cause = execution.cause === null ? {} : { cause: execution.cause };
  if (state === "Park") return { kind: "park", payload, attempt: { ...entry, retry, died: null }, token: token ?? "" };
  if (state === "Renew") return { kind: "renew", payload };
  if (state === "Beat") return { kind: "beat", payload, attempt: { ...entry, retry, died, ...cause } };
  return { kind: "rescue", payload, dead: died === null ? null : { ...entry, retry: died }, ...cause };
}

export function answered(execution: Execution, of: { readonly answer: Answer; readonly now: number }): Execution {
  const { answer, now } = of;
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
    // No task of an execution.
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
  of: { readonly reply: Extract<Answer, { readonly kind: "beat" }>["reply"]; readonly now: number },
): Execution {
  const { route, seconds, run, born, chain, epoch, agent } = of.reply;
  const state = AFTER_BEAT[route];
  const payload = { run, born, chain, epoch, agent };
  const moved: Execution = { ...execution, payload, state, seconds, ...entry(of.now) };
  if (state === "End") return ended(moved);
  return state === "Wait" ? { ...moved, stage: "waiting", readyAt: of.now + seconds * 1_000 } : moved;
}

export interface Failure {
  readonly now: number;
  readonly limits: Pick<Limits, "rescueMs" | "entryAttemptsMax" | "backoffMsMax">;
  /** It died with its supervisor, so nothing is gained by a pause. */
  readonly atOnce: boolean;
  /** Its process is known to have died. False where a store did not answer, or where no process could be started. */
  readonly isDeath: boolean;
  /** How it ended, for people, without secrets; absent where that is not known. */
  readonly cause?: string | null;
}

type Death = Pick<Execution, "died" | "cause">;

const NO_DEATH: Death = { died: null, cause: null };

const deathOf = ({ died, cause }: Execution): Death => ({ died, cause });

/**
 * An attempt is over without an answer. Schedule 24: after the last retry the chain does not enter Beat anew, where retry
 * 0 would be refused by the attempt that died last; Rescue hands the run over.
 */
export function failed(execution: Execution, of: Failure): Execution {
  const { now, limits, atOnce, isDeath, cause = null } = of;
  const { state } = execution;
  // What a service retries by itself counts by one, and what the chain catches by a group.
  const each = state === "Beat" ? RETRY_GROUP : 1;
  const failures = Math.floor(execution.retry / each) + 1;
  // What is known of a beat's process is told to the Rescue of its run, and not overwritten by what becomes of that.
  const death = isDeath && state === "Beat" ? { died: execution.retry, cause } : deathOf(execution);
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
 * Its token was woken. Also while the attempt to park is still out: the answer of that attempt then finds its stage
 * changed and is dropped, and the wake is not lost.
 */
export function woken(execution: Execution, now: number): Execution {
  return { ...execution, state: "Beat", ...entry(now) };
}

function ended(execution: Execution): Execution {
  return { ...execution, state: "End", stage: "ended", readyAt: null, token: null };
}

/** What every entry of a state begins with. */
const entry = (readyAt: number): Pick<Execution, "stage" | "retry" | "died" | "cause" | "readyAt" | "token"> => ({
  stage: "due",
  retry: 0,
  ...NO_DEATH,
  readyAt,
  token: null,
});
