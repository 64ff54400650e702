/**
 * What a run still owes. There is no recovery mode: every invocation loads what is committed, asks this, and does the
 * first command; a crash only means that the next invocation finds the run in the middle of a beat (seed 2).
 */
import { BUDGET } from "./policy/extension.ts";
import { BOUNDS } from "./limits.ts";
import { isTerminal } from "./phases.ts";
import { isNext, waitsItsTurn } from "./calls/open-calls.ts";
import { undoOwed, wantsRestart } from "./calls/saga.ts";
import type { Gate, OpenCall, State } from "./state.ts";

/** Who asks, and when. */
export interface View {
  readonly now: number;
  /** A time that has come by every clock, `now` unless told: a gate expires by it (schedule 104). */
  readonly earliest?: number;
  /** The epoch of the asking invocation. */
  readonly epoch: number;
  /** Until when an overtaken invocation may still be alive inside its lease. */
  readonly quietUntil: number;
  /** What somebody asked of the run. */
  readonly cancel: boolean;
  readonly pause: boolean;
  /** It has looked at the code that is deployed now, where the run waits for code. */
  readonly looked: boolean;
}

export type Command =
  /** Check that the agent fits the run, and start it. */
  | { readonly kind: "prepare" }
  /** End as decided; quiet has passed. */
  | { readonly kind: "end" }
  /** Somebody wants the run to end: nothing more is started. */
  | { readonly kind: "cancel" }
  /** Somebody wants the run to begin again: it fails, and what it did is undone first. */
  | { readonly kind: "startOver" }
  /** The end is decided: what was done is undone before it, the newest effect first; then the run ends or begins again. */
  | { readonly kind: "compensate" }
  | { readonly kind: "undo"; readonly call: string }
  | { readonly kind: "conclude" }
  | { readonly kind: "pause" }
  | { readonly kind: "resume" }
  /** The run waits for code: look whether it is there now. */
  | { readonly kind: "lookAgain" }
  /** Apply a person's answer. */
  | { readonly kind: "reconcile"; readonly call: string }
  /** Apply a person's decision about a gate. */
  | { readonly kind: "decide"; readonly call: string }
  /** Nobody decided in time: deny it, unless a decision is in the inbox. */
  | { readonly kind: "expireGate"; readonly call: string }
  /** Nobody said in time what became of it: do what its tool wants done then. */
  | { readonly kind: "giveUp"; readonly call: string }
  /** Record the intent of a proposed call, or refuse it. */
  | { readonly kind: "intend"; readonly calls: readonly string[] }
  /** Started by an invocation that is gone: decide by the resume table. */
  | { readonly kind: "recover"; readonly calls: readonly string[] }
  /** Ask the other side what became of them. */
  | { readonly kind: "probe"; readonly calls: readonly string[] }
  /** Released by this invocation: run them. */
  | { readonly kind: "perform"; readonly calls: readonly string[] }
  | { readonly kind: "askModel" }
  /** Ask the model for the last words of a run that has to stop, and end it. */
  | { readonly kind: "close" }
  /** Look whether the definition of done holds. */
  | { readonly kind: "judge" }
  /** Have a summary made of what the model is shown. */
  | { readonly kind: "compact" }
  /** Nothing may be done before then. */
  | { readonly kind: "wait"; readonly until: number }
  /** Nothing can be done until somebody answers or resumes. */
  | { readonly kind: "awaitAnswer" };

/** In the order in which they are to be done; empty for a run that has ended. */
export function outstanding(state: State, view: View): readonly Command[] {
  if (isTerminal(state.phase)) return [];
  const quiet = view.now < view.quietUntil;
  // Schedule 5: a failed end waits until no overtaken invocation can still act.
  const untilQuiet = (command: Command): Command => (quiet ? { kind: "wait", until: view.quietUntil } : command);
  const undo = undoOwed(state);
  if (state.ending !== null && undo === null) return [untilQuiet({ kind: "end" })];
  // Also of a run that undoes what it did because it failed: what still stands is left then, unless they say otherwise.
  if (view.cancel && state.ending?.kind !== "cancelled") return [{ kind: "cancel" }];
  const pause = view.pause && !view.cancel;
  if (state.phase === "AwaitingAgent") return [{ kind: pause ? "pause" : view.looked ? "awaitAnswer" : "lookAgain" }];
  if (state.phase === "Paused") return [{ kind: pause ? "awaitAnswer" : "resume" }];
  if (undo === "compensate") return [{ kind: "compensate" }];
  // What this invocation released is run first: nobody else could tell later that it never began.
  if (pause && !state.open.some((call) => isReleasedBy(call, view.epoch))) return [{ kind: "pause" }];
  if (undo === "conclude") return [untilQuiet({ kind: "conclude" })];
  if (undo === "undo") return [undoNext(state, view)];
  if (undo === null && wantsRestart(state)) return [{ kind: "startOver" }];
  switch (state.phase) {
    case "Preparing":
      return [{ kind: "prepare" }];
    case "AwaitingLLM":
      return [{ kind: "askModel" }];
    case "RetryingLLM": {
      const retryAt = state.retryAt ?? view.now;
      return [view.now < retryAt ? { kind: "wait", until: retryAt } : { kind: "askModel" }];
    }
    case "Compacting":
      return [{ kind: "compact" }];
    case "ForceStop":
      return [{ kind: "close" }];
    case "Reflecting":
      return [{ kind: "judge" }];
    case "ExecutingTools":
    case "AwaitingApproval":
    case "AwaitingReconcile":
      return callsOwed(state, view, quiet);
    default:
      return [];
  }
}

/** Schedule 69: what may still land is not undone before it has. */
function undoNext({ undo = [] }: State, { now, quietUntil }: View): Command {
  const { call, from } = undo.at(-1) ?? { call: "", from: null };
  const until = from === null ? now : Math.max(from, quietUntil);
  return now < until ? { kind: "wait", until } : { kind: "undo", call };
}

function callsOwed(state: State, view: View, quiet: boolean): readonly Command[] {
  const owed = state.open;
  const unknown = owed.filter((call) => call.status === "unknown");
  const answered = unknown.filter((call) => call.answer !== null);
  // `succeeded` and `compensate` are taken at once; `retry` and `failed` claim that nothing happened, which only quiet can prove.
  const due = answered.find((call) => !quiet || ["succeeded", "compensate"].includes(call.answer?.as ?? ""));
  const gated = gatesOf(state);
  const decided = gated.find(({ gate }) => gate.decision !== null);
  const expired = gated.find(({ gate }) => earliestOf(view) >= gate.expiresAt);
  const asksForMore = gated.some(({ call }) => call === BUDGET);
  const proposed = asksForMore ? [] : owed.filter((call) => isNext(call) && !waitsItsTurn(owed, call));
  const left = unknown.filter((call) => call.answer === null && (call.otherwise ?? "ask") !== "ask");
  const overdue = left.find((call) => !quiet && view.now >= (call.askFrom ?? 0));
  const waiting = owed.filter((call) => call.status === "started" && call.probeAt !== null);
  const probed = waiting.filter((call) => !quiet && view.now >= (call.probeAt ?? 0));
  const started = owed.filter((call) => call.status === "started" && call.probeAt === null);
  const mine = started.filter((call) => call.releasedBy === view.epoch);
  const theirs = started.filter((call) => call.releasedBy !== view.epoch);
  const commands: Command[] = [];
  if (due !== undefined) commands.push({ kind: "reconcile", call: due.call });
  if (decided !== undefined) commands.push({ kind: "decide", call: decided.call });
  else if (expired !== undefined) commands.push({ kind: "expireGate", call: expired.call });
  if (theirs.length > 0) commands.push({ kind: "recover", calls: theirs.map(idOf) });
  if (probed.length > 0) commands.push({ kind: "probe", calls: probed.map(idOf) });
  if (proposed.length > 0) commands.push({ kind: "intend", calls: proposed.map(idOf) });
  if (mine.length > 0) commands.push({ kind: "perform", calls: mine.map(idOf) });
  if (overdue !== undefined) commands.push({ kind: "giveUp", call: overdue.call });
  if (!view.looked && owed.some(lacksTool)) commands.push({ kind: "lookAgain" });
  if (commands.length > 0) return commands;
  // Answers wait for quiet, probes for what may still land as well, gates for a person until they expire.
  const heldUntil = waiting.map((call) => Math.max(view.quietUntil, call.probeAt ?? 0));
  if (answered.length > 0) heldUntil.push(view.quietUntil);
  heldUntil.push(...left.map((call) => Math.max(view.quietUntil, call.askFrom ?? 0)));
  heldUntil.push(
    ...gated.map(({ gate }) => (view.now < gate.expiresAt ? gate.expiresAt : view.now + BOUNDS.clockAgainMs)),
  );
  return [heldUntil.length > 0 ? { kind: "wait", until: Math.min(...heldUntil) } : { kind: "awaitAnswer" }];
}

const earliestOf = ({ now, earliest = now }: View): number => earliest;

/** What a person is asked about: each call, and the budget. */
function gatesOf({ open, extension }: State): readonly { readonly call: string; readonly gate: Gate }[] {
  const gates = open.map(({ call, status, gate }) => ({ call, gate: status === "gated" ? gate : null }));
  return [...gates, { call: BUDGET, gate: extension?.gate ?? null }].flatMap(({ call, gate }) =>
    gate === null ? [] : [{ call, gate }],
  );
}

/** A call that goes on by itself as soon as the agent has its tool again, unless somebody answers before. */
export const lacksTool = (call: OpenCall): boolean =>
  call.status === "unknown" && call.toolGone === true && call.answer === null;

/** A deployment can let it go on, and none wakes it. */
export const waitsForCode = (state: State): boolean => state.phase === "AwaitingAgent" || state.open.some(lacksTool);

const isReleasedBy = (call: OpenCall, epoch: number): boolean =>
  call.status === "started" && call.releasedBy === epoch && call.probeAt === null;

const idOf = (call: OpenCall): string => call.call;
