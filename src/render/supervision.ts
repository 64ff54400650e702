/** Renders the events of a supervisor, one line each: child processes, attempts, routes, deaths and retries. */
import { RETRY_GROUP } from "../protocol/entry.ts";
import type { SupervisorEvent } from "../ports/supervisor-events.ts";
import { describeDoubt } from "../ports/clock-doubt.ts";
import type { Style } from "./paint.ts";
import { duration, relative, short, shortRun, timeOfDay } from "./words.ts";

type Page = Pick<Style, "now" | "paint">;

/** The line of an event; null if a human need not see it. */
export function renderSupervision(event: SupervisorEvent, { now, paint }: Page): string | null {
  const line = lineOf(event, { now, paint });
  return line === null ? null : `${paint("dim", timeOfDay(now, now))}  ${line}`;
}

function lineOf(event: SupervisorEvent, { now, paint }: Page): string | null {
  switch (event.kind) {
    case "workerSpawned":
      return `worker pid ${event.pid} starts`;
    case "workerGone":
      return paint("dim", `worker pid ${event.pid} is gone: ${event.how}`);
    case "orphanKilled":
      return paint("yellow", `worker pid ${event.pid} of a dead supervisor is killed`);
    case "attemptStarted":
      return `${shortRun(event.run)}  ${attemptOf(event)} → worker pid ${event.pid}`;
    case "attemptAnswered":
      return `${shortRun(event.run)}  ${attemptOf(event)} ${paint("green", "✔")}${leadsTo(event.route)}`;
    case "attemptFailed":
      return paint("red", `${shortRun(event.run)}  ${attemptOf(event)} ✖ worker pid ${event.pid}: ${whyOf(event)}`);
    case "moved":
      return movedTo(event, { now, paint });
    case "sweepFailed":
      return paint("yellow", `the sweep for abandoned runs failed: ${whyOf(event)}; it is retried`);
    case "upkeepDone":
      return event.run === null ? null : paint("dim", `${shortRun(event.run)}  is removed with all its data`);
    case "upkeepFailed":
      return paint("yellow", `${keeping(event)} failed: ${whyOf(event)}; it is retried`);
    case "fired":
      return firedAs(event, { now, paint });
    case "firingFailed":
      return paint("yellow", `${firingOf(event, now)} failed: ${whyOf(event)}; it is retried`);
    case "waitingForStore":
      return paint("yellow", `waiting for the store, again in ${duration(event.retryInMs)}: ${event.why}`);
    case "storeIsBack":
      return paint("green", "the store is back");
    case "waitingForMachine":
      return paint("yellow", `no worker can be started, again in ${duration(event.retryInMs)}: ${event.why}`);
    case "machineIsBack":
      return paint("green", "workers can be started again");
    case "orphansStay":
      return paint("yellow", `${event.what}; ${event.why}; ${event.mend}`);
    case "webhookUnsigned":
      return paint("yellow", `no webhook is sent to ${event.to}: ${event.why}; ${event.mend}`);
    case "beatsEnded":
      return paint("red", `${event.what}; ${event.mend}`);
    case "clockDoubted": {
      const { what, why, mend } = describeDoubt(event.doubt);
      return paint("yellow", `${what}; ${why}; ${mend}`);
    }
    case "clockBelieved":
      return paint("green", "the clock of this machine is trusted again");
  }
}

type Of<K extends SupervisorEvent["kind"]> = Extract<SupervisorEvent, { readonly kind: K }>;

function attemptOf({ state, retry }: Of<"attemptStarted" | "attemptAnswered" | "attemptFailed">): string {
  const failures = Math.floor(retry / RETRY_GROUP) + (retry % RETRY_GROUP);
  return failures === 0 ? state : `${state} (retry ${failures})`;
}

const leadsTo = (route: Of<"attemptAnswered">["route"]): string => (route === null ? "" : ` route ${route}`);

const keeping = ({ run }: Of<"upkeepFailed">): string =>
  run === null ? "the search for objects without a run" : `${shortRun(run)}  deleting its data`;

const firingOf = ({ agent, at }: Of<"fired" | "firingFailed">, now: number): string =>
  `${agent}  its firing of ${timeOfDay(at, now)}`;

function firedAs(event: Of<"fired">, { now, paint }: Page): string | null {
  const { outcome, agent } = event;
  const firing = firingOf(event, now);
  switch (outcome.kind) {
    case "started":
      return `${firing} starts ${shortRun(outcome.run)} ${paint("green", "✔")}`;
    case "skipped":
      return paint("yellow", `${firing} is skipped: ${shortRun(outcome.run)} has not ended`);
    case "missed":
      return paint("yellow", `${firing} was missed, and is not fired late`);
    case "unseen":
      return paint("dim", `${agent}  its schedule is new, and fires from now on`);
    case "paused":
      return paint("dim", `${firing} starts nothing: ${outcome.by} paused the schedule`);
    case "held":
      return paint("dim", `${firing} waits: another firing is being decided`);
    // Another attempt decided this firing before, for example before a restart.
    case "exists":
    case "late":
      return null;
  }
}

function whyOf({ how, error }: Of<"attemptFailed" | "sweepFailed" | "upkeepFailed" | "firingFailed">): string {
  return error === null ? how : `${how}: ${error.name}: ${short(error.message, 200)}`;
}

/** Shown only if it is unexpected: a pause, and what follows the death of a process. */
function movedTo({ run, state, readyAt }: Of<"moved">, { now, paint }: Page): string | null {
  const pauses = readyAt !== null && readyAt > now + 50;
  if (state === "End" || (!pauses && state !== "Rescue")) return null;
  const when = readyAt === null || !pauses || readyAt - now < 1_000 ? "now" : relative(readyAt, now);
  switch (state) {
    case "Beat":
      return paint("yellow", `${shortRun(run)}  is retried ${when}`);
    case "Backoff":
    case "Rescue":
      return paint("yellow", `${shortRun(run)}  lost too many processes, is handed over to a new execution ${when}`);
    case "Park":
      return paint(
        "dim",
        `${shortRun(run)}  waits for a decision, an answer, a message or a child run, checked again ${when}`,
      );
    default:
      return paint("dim", `${shortRun(run)}  continues ${when}`);
  }
}
