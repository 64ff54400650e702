/**
 * What a run must still do. There is no recovery mode: every invocation loads the committed state, calls this function
 * and executes the first command. After a crash the next invocation finds the run in the middle of a beat.
 */
import { extensionOf } from "./policy/extension.ts";
import {
  waitsForChildren,
  expiresAt,
  endsByDeadline,
  isRestartRevoked,
  nextCompensationStep,
  wantsRestart,
} from "./policy/ending.ts";
import type { Command } from "./commands.ts";
import type { OwedByFeatures } from "./features.ts";
import { isReleased, isReleasedBy, limitOf, isForTime } from "./calls/held-calls.ts";
import { isModelOut } from "./policy/model-out.ts";
import { BOUNDS } from "./limits.ts";
import { isTerminal } from "./phases.ts";
import { isNext, waitsForEarlierCall } from "./calls/open-calls.ts";
import { undoneNext } from "./calls/repeats.ts";
import type { OpenCall, State } from "./state.ts";

/** Which invocation asks, when, and what operators requested. Times are epoch milliseconds. */
export interface View {
  readonly now: number;
  /** A time that every clock has reached, by default `now`. A gate expires by this time (schedule 104). */
  readonly earliest?: number;
  /** The time by a count that nobody can set, by default `now`. A wait for a time ends by it (schedule 234). */
  readonly counted?: number;
  /** The epoch of the invocation that asks. */
  readonly epoch: number;
  /** Until then a fenced invocation may still act within its lease. */
  readonly effectsSettleAt: number;
  /** An operator or client asked to cancel or to pause the run. */
  readonly cancel: boolean;
  readonly pause: boolean;
  /** This invocation has already checked the deployed code, where the run waits for code. */
  readonly looked: boolean;
  /** This invocation has looked at the model job that is out. */
  readonly hasSeenDetached?: boolean;
  /** This invocation found that a child cannot be made now, or could not ask one to stop. */
  readonly lacksChild?: boolean;
  readonly cannotAskChild?: boolean;
  /** This invocation has judged the last reply, and only children keep the run from its end. */
  readonly hasJudged?: boolean;
}

/** The outstanding commands in order of execution; empty for a run that has ended. `owed`: what the features owe. */
export const commandsBy = (owed: OwedByFeatures, state: State, view: View): readonly Command[] =>
  isTerminal(state.phase) ? [] : byDeadline(commandsOwed(owed, state, view), state, view);

/**
 * The commands, cut off at the deadline. A decided end and a cancel come first, and so do calls that this invocation
 * released: no later invocation could know that they never started. A time that only one clock has reached ends nothing
 * (schedule 104).
 */
function byDeadline(commands: readonly Command[], state: State, view: View): readonly Command[] {
  const [first] = commands;
  const at = expiresAt(state);
  if (at === null || first === undefined || first.kind === "end" || first.kind === "cancel") return commands;
  if (earliestOf(view) >= at && !state.open.some((call) => isReleasedBy(call, view.epoch))) {
    return [{ kind: isModelOut(state) ? "dropDetachedCall" : "expire" }];
  }
  const until = view.now < at ? at : view.now + BOUNDS.clockAgainMs;
  if (first.kind === "awaitAnswer") return [{ ...first, until }];
  return first.kind === "wait" ? [{ ...first, until: Math.min(first.until, until) }] : commands;
}

function commandsOwed(owed: OwedByFeatures, state: State, view: View): readonly Command[] {
  // Schedule 197: the provider would go on with a job whose reply nobody will read.
  const isUnwanted = state.ending !== null || view.cancel || view.pause || wantsRestart(state);
  if (isModelOut(state) && isUnwanted) return [{ kind: "dropDetachedCall" }];
  const quiet = view.now < view.effectsSettleAt;
  // Schedule 5: a failed end waits until no fenced invocation can still act.
  const untilQuiet = (command: Command): Command => (quiet ? { kind: "wait", until: view.effectsSettleAt } : command);
  const undo = nextCompensationStep(state);
  const waits = waitsForChildren(state);
  // Schedule 225: the end of a restart is no end once an operator has cancelled the run.
  const isRevoked = isRestartRevoked(state);
  const isDecided = state.ending !== null && undo === null && !isRevoked;
  const due = answerDue(state);
  if (isDecided && !waits) return [untilQuiet(due ?? { kind: "end" })];
  // This also cancels a run that compensates after a failure. The other effects stay, unless the request undoes them.
  if ((view.cancel || isRevoked) && !isDecided && state.ending?.kind !== "cancelled") return [{ kind: "cancel" }];
  // C5: children come first, before the own compensation and the end.
  if (state.ending !== null && waits) return [stopOrAwait(state, view)];
  const pause = view.pause && !view.cancel && !endsByDeadline(state);
  if (state.phase === "AwaitingAgent") return [{ kind: pause ? "pause" : view.looked ? "awaitAnswer" : "lookAgain" }];
  if (state.phase === "Paused") return [{ kind: pause ? "awaitAnswer" : "resume" }];
  if (undo === "compensate") return [due === null ? { kind: "compensate" } : untilQuiet(due)];
  // Calls that this invocation released run first: no later invocation could know that they never started.
  if (pause && !state.open.some((call) => isReleasedBy(call, view.epoch))) return [{ kind: "pause" }];
  if (undo === "conclude") return [untilQuiet({ kind: "conclude" })];
  if (undo === "undo") return [undoNext(state, view, state.undo?.at(-1)?.call ?? "")];
  if (undo === null && wantsRestart(state)) return [{ kind: "startOver" }];
  // Schedule 257: the effects of a discarded stage are undone before it begins again, one after the other.
  const repeated = undoneNext(state);
  if (repeated !== null && state.open.length === 0) return [undoNext(state, view, repeated)];
  // C7: a child is asked to stop only after the commit that supersedes it.
  const late = owed.lateChildren(state);
  if (late.length > 0 && view.cannotAskChild !== true)
    return [{ kind: "stopChildren", children: late.map(({ id }) => id) }];
  switch (state.phase) {
    case "Preparing":
      return [{ kind: "prepare" }];
    case "AwaitingLLM":
      return [owed.model(state, view)];
    case "RetryingLLM":
      return [notBefore(state, view, owed.model(state, view))];
    case "Compacting":
      return [notBefore(state, view, { kind: "compact" })];
    case "ForceStop":
      return [{ kind: "close" }];
    case "Reflecting":
      // Schedule 254: a child that is not waited for any more delays the end alone, and no next part of the run.
      return [waits && view.hasJudged === true ? { kind: "awaitAnswer" } : { kind: "judge" }];
    case "ExecutingTools":
    case "AwaitingApproval":
    case "AwaitingChildren":
    case "AwaitingReconcile":
      return callsOwed(owed, state, view);
    default:
      return [];
  }
}

/** The model call, or the wait until it may be made. */
const notBefore = ({ retryAt }: State, { now }: View, call: Command): Command =>
  retryAt !== null && now < retryAt ? { kind: "wait", until: retryAt } : call;

/** Schedule 69: an effect whose request may still take effect is undone only after that time. */
function undoNext({ undo = [] }: State, { now, effectsSettleAt }: View, call: string): Command {
  const { from = null } = undo.find((each) => each.call === call) ?? {};
  const until = from === null ? now : Math.max(from, effectsSettleAt);
  return now < until ? { kind: "wait", until } : { kind: "undo", call };
}

/** C5: ask each child to stop, then wait until all have reported. */
function stopOrAwait({ children }: State, { cannotAskChild = false }: View): Command {
  const unasked = children.filter(({ askedToStop }) => askedToStop !== true).map(({ id }) => id);
  return unasked.length > 0 && !cannotAskChild ? { kind: "stopChildren", children: unasked } : { kind: "awaitAnswer" };
}

/**
 * Schedule 265: an operator says how an unknown call went, hears that the answer counts, and then cancels or restarts the
 * run. What is true of the outside stays true, so an end that is decided takes the answer in before it settles any call.
 * Schedule 206: also where the answer came while the run was paused, or waited for its agent. `retry` would start
 * something.
 */
function answerDue({ open }: State): Command | null {
  const due = open.find(({ status, answer }) => status === "unknown" && /^(succeeded|failed)$/.test(answer?.as ?? ""));
  return due === undefined ? null : { kind: "reconcile", call: due.call };
}

function callsOwed(owed: OwedByFeatures, state: State, view: View): readonly Command[] {
  const { open } = state;
  const quiet = view.now < view.effectsSettleAt;
  const earliest = earliestOf(view);
  const { counted = view.now } = view;
  const unknown = open.filter((call) => call.status === "unknown");
  const answered = unknown.filter((call) => call.answer !== null);
  // `succeeded` and `compensate` apply at once. `retry` and `failed` claim that nothing happened, and wait for quiet.
  const due = answered.find((call) => !quiet || ["succeeded", "compensate"].includes(call.answer?.as ?? ""));
  const asked = extensionOf(state).gate;
  const proposed = asked !== null ? [] : open.filter((call) => isNext(call) && !waitsForEarlierCall(open, call));
  const left = unknown.filter((call) => call.answer === null && (call.onUnknown ?? "ask") !== "ask");
  const overdue = left.find((call) => !quiet && view.now >= (call.reconcilableFrom ?? 0));
  const released = open.filter(isReleased);
  const waiting = released.filter((call) => call.probeAt !== null);
  const probed = waiting.filter((call) => !quiet && view.now >= (call.probeAt ?? 0));
  const started = released.filter((call) => call.probeAt === null);
  const mine = started.filter((call) => call.releasedBy === view.epoch);
  const theirs = started.filter((call) => call.releasedBy !== view.epoch);
  const commands: Command[] = [];
  if (due !== undefined) commands.push({ kind: "reconcile", call: due.call });
  commands.push(...owed.gates(state, earliest), ...owed.waits(state, { earliest, counted }));
  if (theirs.length > 0) commands.push({ kind: "recover", calls: theirs.map(idOf) });
  // A postponed call gets the room of this beat before any probe takes it (schedule 210).
  const isUrgent = [...proposed, ...mine].some(({ postponed }) => postponed !== undefined);
  const probes: readonly Command[] = probed.length === 0 ? [] : [{ kind: "probe", calls: probed.map(idOf) }];
  if (!isUrgent) commands.push(...probes);
  if (proposed.length > 0) commands.push({ kind: "intend", calls: proposed.map(idOf) });
  // Children work while the other calls of the reply run.
  commands.push(...owed.children(state, { ...view, earliest }));
  if (mine.length > 0) commands.push({ kind: "perform", calls: mine.map(idOf) });
  if (isUrgent) commands.push(...probes);
  if (overdue !== undefined) commands.push({ kind: "giveUp", call: overdue.call });
  if (!view.looked && open.some(lacksTool)) commands.push({ kind: "lookAgain" });
  if (commands.length > 0) return commands;
  // Answers wait for `effectsSettleAt`, probes also for requests on their way, and gates for a human or their expiry.
  const heldUntil = waiting.map((call) => Math.max(view.effectsSettleAt, call.probeAt ?? 0));
  if (answered.length > 0) heldUntil.push(view.effectsSettleAt);
  heldUntil.push(...left.map((call) => Math.max(view.effectsSettleAt, call.reconcilableFrom ?? 0)));
  // Where only one clock says that a limit has passed, the run checks again later (schedule 104).
  const [timed, others] = [open.filter(isForTime), open.filter((call) => !isForTime(call))];
  heldUntil.push(...timed.flatMap((call) => limitOf(call) ?? []));
  const limits = [...others.map(limitOf), asked?.expiresAt ?? null, ...owed.childDeadlines(state)];
  for (const limit of limits) {
    if (limit !== null) heldUntil.push(view.now < limit ? limit : view.now + BOUNDS.clockAgainMs);
  }
  return [heldUntil.length > 0 ? { kind: "wait", until: Math.min(...heldUntil) } : { kind: "awaitAnswer" }];
}

const earliestOf = ({ now, earliest = now }: View): number => earliest;

/** An unknown call that goes on by itself once the agent has its tool again, unless a human answers first. */
export const lacksTool = (call: OpenCall): boolean =>
  call.status === "unknown" && call.toolGone === true && call.answer === null;

/** A deployment can let this run go on. No deployment wakes it, so it has to be polled. */
export const waitsForCode = (state: State): boolean =>
  state.phase === "AwaitingAgent" || state.open.some(lacksTool) || lacksChild(state);

/** A child is dispatched and not made: its agent cannot be loaded. */
const lacksChild = ({ children, ending }: State): boolean =>
  ending === null && children.some(({ made, superseded, late }) => made !== true && !superseded && late !== true);

const idOf = (call: OpenCall): string => call.call;
