/** What a run is doing in one sentence, and the one action that unblocks it. */
import { BUDGET } from "../../core/policy/extension.ts";
import { MENDS } from "../../core/policy/mends.ts";
import { PHASES } from "../../core/phases.ts";
import { UNDRIVEN, labelWords, undrivenSince } from "../../render/outage.ts";
import { count, dollars, momentWords, relative, short } from "../../render/words.ts";
import type { Shown } from "../../operations/views.ts";

export interface RunVerdict {
  readonly says: string;
  /** Null: nothing is to be done. */
  readonly action: "review" | "answer" | "reconcile" | "upgrade" | "resume" | "redrive" | "checked" | null;
}

const ACCEPTED = "accepted; waiting for the run to take it";

export function runVerdict(run: Shown, now: number): RunVerdict {
  if (!run.inProgress) return ended(run);
  return asked(run, now) ?? waiting(run, now) ?? { says: atWork(run, now), action: null };
}

/** What it does, for how long the model is asked, what has arrived for it, and whether a process drives it. */
function atWork(run: Shown, now: number): string {
  const since = undrivenSince(run, now);
  const undriven = since === null ? "" : ` ${sentence(`${since}${UNDRIVEN}`)}`;
  // An older server does not say it.
  const unread = run.unread == null ? "" : ` ${count(run.unread.count, "message")} not read yet.`;
  return `${sentence(labelWords(run, now))}${undriven}${unread}`;
}

function ended({ status, failure, redrivable, spent }: Shown): RunVerdict {
  if (status === "completed") return { says: `Completed for ${dollars(Math.round(spent.usd * 1e6))}.`, action: null };
  if (failure === null) return { says: sentence(status), action: null };
  const why = `Failed, ${failure.code}: ${short(failure.message, 300)}`;
  return redrivable
    ? { says: `${why} It can continue from its last checkpoint.`, action: "redrive" }
    : { says: why, action: null };
}

/** What a human is asked. */
function asked({ gates, unknown, waits, waitsFor }: Shown, now: number): RunVerdict | null {
  const gate = gates.find(({ decided }) => !decided);
  if (gate?.call === BUDGET) return { says: `Waits for more budget: ${gate.reason}.`, action: "review" };
  if (gate !== undefined) {
    return {
      says: `Waits for your approval of ${gate.tool}: ${gate.reason}. It expires ${relative(gate.expiresAt, now)}.`,
      action: "review",
    };
  }
  const call = unknown.find(({ answered }) => !answered);
  if (call !== undefined)
    return { says: `The outcome of ${call.tool} (${call.call}) is unknown.`, action: "reconcile" };
  const wait = waits.find((each) => each.for === "answer" && !each.answered);
  if (wait !== undefined) return { says: `${wait.tool} asks you a question.`, action: "answer" };
  if (waitsFor?.kind === "upgrade") {
    return waitsFor.accepted
      ? { says: `Version ${waitsFor.to} is ${ACCEPTED}.`, action: null }
      : {
          says: `Waits for an operator to accept version ${waitsFor.to} instead of ${waitsFor.from}.`,
          action: "upgrade",
        };
  }
  if (waitsFor?.kind === "operator")
    return { says: `It waits, since ${MENDS[waitsFor.mends].says}: ${waitsFor.why}`, action: "resume" };
  if (waitsFor?.kind === "agent") return { says: `Its agent cannot be loaded: ${waitsFor.why}`, action: null };
  if (waitsFor?.kind === "tools")
    return { says: `Its agent has no tool ${waitsFor.tools.join(", ")} any more.`, action: null };
  const isDecided = gates.length > 0 || unknown.length > 0;
  return isDecided ? { says: `Your decision is ${ACCEPTED}.`, action: null } : null;
}

function waiting(run: Shown, now: number): RunVerdict | null {
  const { status, outage, detachedCall, storeOutage, phase, wakeAt, restored } = run;
  if (status === "paused" && restored != null) {
    const from = `Restored ${relative(restored.at, now)} and paused: what it did before may have happened.`;
    return { says: `${from} Check the external services, then resume it.`, action: "checked" };
  }
  if (status === "paused") return { says: "Paused until an operator resumes it.", action: "resume" };
  if (storeOutage !== null) {
    const next = wakeAt !== null && wakeAt > now ? `, tries again ${momentWords(wakeAt, now)}` : "";
    return { says: `The store does not answer (${storeOutage.store})${next}.`, action: null };
  }
  if (detachedCall !== null) {
    const since = `since ${relative(detachedCall.since, now)}`;
    const next = detachedCall.nextLookAt > now ? `; looks again ${momentWords(detachedCall.nextLookAt, now)}` : "";
    return { says: `Its model ${detachedCall.model} works on a job ${since}${next}.`, action: null };
  }
  if (outage === null) return null;
  const tried = `${outage.tries} calls failed since ${relative(outage.since, now)}`;
  return {
    says: `${sentence(PHASES[phase].label)} ${tried}; next ${momentWords(outage.nextTryAt, now)}.`,
    action: null,
  };
}

const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
