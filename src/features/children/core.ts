/**
 * Child runs as changes of the parent's state. The rules C1 to C8 are those of `docs/protocol.md` (child runs). Used by
 * `transition.ts`, which maps each event to its change.
 */
import type { Child, ChildEnd, ChildReport } from "../../core/child.ts";
import { ensure } from "../../core/ensure.ts";
import type { Action, EventOf } from "../../core/event.ts";
import type { HeldAs } from "../../core/held-by.ts";
import { inline, text } from "../../core/message.ts";
import { absorbWork, ownWork, unknownWork } from "../../core/calls/outside.ts";
import { type Grant, type Limits, METERS, type Spent, addGrant } from "../../core/policy/budget.ts";
import type { OpenCall, State } from "../../core/state.ts";
import { isDue, isHeld } from "../../core/calls/held-calls.ts";
import {
  afterCalls,
  isNext,
  message,
  settleCall,
  updateCall,
  waitsForEarlierCall,
} from "../../core/calls/open-calls.ts";

/** What the children of the run need now. */
export type ChildCommand =
  /** Make the children that are dispatched and may not exist yet. */
  | { readonly kind: "makeChildren"; readonly children: readonly string[] }
  /** Judge what children reported, and settle their calls. */
  | { readonly kind: "takeReports"; readonly calls: readonly string[] }
  /** The child missed its deadline: dispatch another one, or fail its call. */
  | { readonly kind: "childTooLate"; readonly child: string }
  /** Take children that are to go on from the processes that hold them. */
  | { readonly kind: "continueChildren"; readonly children: readonly string[] }
  /** Ask children to stop whose answers are not wanted any more. */
  | { readonly kind: "stopChildren"; readonly children: readonly string[] };

/** What the call knows about its newest child; undefined if it dispatched none. */
export const childIn = ({ heldBy }: Pick<OpenCall, "heldBy">): HeldAs<"child"> | undefined =>
  heldBy?.by === "child" ? heldBy : undefined;

/** The call waits for a child that has not reported. */
export const waitsForChild = (call: OpenCall): boolean => childIn(call) !== undefined && isHeld(call);

/** What the children of open calls need now. `earliest`: a time that every clock has reached. */
export function childrenOwed(
  { open, children }: State,
  {
    earliest,
    lacksChild = false,
    cannotAskChild = false,
  }: { readonly earliest: number; readonly lacksChild?: boolean; readonly cannotAskChild?: boolean },
): readonly ChildCommand[] {
  const commands: ChildCommand[] = [];
  const reported = open.filter((call) => childIn(call) !== undefined && isDue(call)).map(({ call }) => call);
  if (reported.length > 0) commands.push({ kind: "takeReports", calls: reported });
  const awaited = children.filter(({ superseded, late: isLate }) => !superseded && isLate !== true);
  const late = awaited.find(({ deadline }) => deadline !== null && earliest >= deadline);
  if (late !== undefined) commands.push({ kind: "childTooLate", child: late.id });
  const continuing = awaited.filter(({ isContinuing }) => isContinuing === true).map(({ id }) => id);
  if (continuing.length > 0 && !cannotAskChild) commands.push({ kind: "continueChildren", children: continuing });
  const unmade = awaited.filter(({ made }) => made !== true).map(({ id }) => id);
  if (unmade.length > 0 && !lacksChild) commands.push({ kind: "makeChildren", children: unmade });
  return commands;
}

/** When the children that are waited for are too late. */
export const deadlinesOf = ({ children }: State): readonly number[] =>
  children.flatMap(({ deadline, superseded, late }) =>
    deadline === null || superseded || late === true ? [] : [deadline],
  );

/** C7: children that missed their deadline, and that are still to be asked to stop. */
export const lateChildren = ({ children }: State): readonly Child[] =>
  children.filter(({ superseded, late, askedToStop }) => (superseded || late === true) && askedToStop !== true);

/** C5: no end and no restart is committed while an entry stands, unless the end is forced (C6). */
export const waitsForChildren = ({ children, ending }: State): boolean =>
  children.length > 0 && ending?.forced !== true;

/** C1: what the standing entries reserve. A child that is left alone has spent its grant already. */
export const reservedBy = ({ children }: Pick<State, "children">): Grant =>
  children.filter(({ left }) => left !== true).reduce<Grant>((sum, { grant }) => addGrant(sum, grant), {});

/** The limits without what is reserved for children. */
export function withoutReserved(limits: Limits, reserved: Grant): Limits {
  const rest = METERS.map((meter) => {
    const limit = limits[meter];
    return [meter, limit === null ? null : Math.max(0, limit - (reserved[meter] ?? 0))];
  });
  return Object.fromEntries(rest) as Limits;
}

/** A grant as an amount that is spent: of a child that nothing will be heard of. */
export function spentOfGrant({ tokens, ...grant }: Grant): Partial<Spent> {
  return { ...grant, ...(tokens === undefined ? {} : { tokensIn: tokens }) };
}

/** C1 and C7: the decision to make a child. Its call waits for it from here on. */
export function dispatchChild(state: State, event: EventOf<"ChildDispatched">): State {
  const { child: id, call, epoch, kind: _, at: _at, ...of } = event;
  ensure(!state.children.some((each) => each.id === id), `child ${id} is dispatched twice`);
  const entry: Child = { id, call, ...of, superseded: false };
  const released = updateCall(state, call, (open) => {
    ensure(open.intent !== null, `child ${id} is dispatched without an intent`);
    const child = childIn(open);
    if (child === undefined) {
      ensure(isNext(open) && !waitsForEarlierCall(state.open, open), `call ${call} is ${open.status} already`);
      ensure(of.try === open.attempts + 1, `try ${of.try} of call ${call} follows try ${open.attempts}`);
    } else {
      ensure(child.over === true || child.report !== undefined, `call ${call} waits for a child already`);
      ensure(of.try === child.try + 1, `try ${of.try} of call ${call} follows try ${child.try}`);
    }
    const { report: _report, over: _over, late: _late, ...known } = child ?? { by: "child" as const };
    return { ...open, status: "started", releasedBy: epoch, heldBy: { ...known, try: of.try } };
  });
  return afterCalls({ ...released, children: [...state.children, entry] });
}

/** C2: the child exists. Of a child that is left alone that is all there is to know, so its call is settled. */
export function applyChildStarted(state: State, { child, at }: EventOf<"ChildStarted">): State {
  const found = state.children.find(({ id }) => id === child);
  if (found?.left !== true) return withChild(state, child, (each) => ({ ...each, made: true }));
  const without = { ...state, children: state.children.filter(({ id }) => id !== child) };
  const { call, agent: tool } = found;
  // Nothing is heard of what it does, so for a run above it may do anything.
  const work = { calls: [{ run: child, call, tool, key: "", outcome: "succeeded" }] } as const;
  return settleIfOpen(absorbWork(without, call, work), found, {
    ...{ outcome: "succeeded", value: inline({ run: child }), at },
  });
}

export const applyAskedToStop = (state: State, { child }: EventOf<"ChildAskedToStop">): State =>
  withChild(state, child, (each) => ({ ...each, askedToStop: true }));

/**
 * C9: the entry, its reservation and the wait of its call stay. The child gets a new deadline, and goes on with what is
 * left of its grant.
 */
export function continueChild(state: State, event: EventOf<"ChildContinued">): State {
  const { child, dispatch, deadline, messages, settlesAt } = event;
  const found = state.children.find(({ id }) => id === child);
  ensure(found?.superseded === false && found.late !== true, `child ${child} is not waited for`);
  ensure(dispatch === (found.dispatch ?? 1) + 1, `child ${child} is continued out of turn`);
  const entry = withChild(state, child, ({ settlesAt: _, ...each }) => ({
    ...{ ...each, dispatch, deadline, messages, isContinuing: true as const },
    ...(settlesAt === undefined ? {} : { settlesAt }),
  }));
  // A decision that was not carried out in its time is made again, and counts once.
  const more = found.isContinuing === true ? 0 : 1;
  return updateCall(entry, found.call, (open) => ({
    ...open,
    heldBy: { ...childIn(open), by: "child", try: found.try, continued: (childIn(open)?.continued ?? 0) + more },
  }));
}

/** C9: a copy of the decision finds nothing owed. */
export const applyChildResumed = (state: State, { child }: EventOf<"ChildResumed">): State =>
  withChild(state, child, ({ isContinuing: _, ...each }) => each);

/** How often the call was handed out: the children that were made for it, and how often one of them went on. */
export const handedOut = (open: OpenCall): number => {
  const { try: tries = 1, continued = 0 } = childIn(open) ?? {};
  return tries + continued;
};

/**
 * C7: the entry and its reservation stay. The call waits for this child no longer, or for its end only (schedule 213):
 * a child that may act outside does what it does until it has ended.
 */
export function supersede(state: State, { child, awaited }: EventOf<"ChildSuperseded">): State {
  const found = state.children.find(({ id }) => id === child);
  ensure(found?.superseded === false && found.late !== true, `child ${child} is not waited for`);
  if (awaited === true) {
    const late = withChild(state, child, (each) => ({ ...each, late: true }));
    return updateCall(late, found.call, (open) => ({
      ...open,
      heldBy: { ...childIn(open), by: "child", try: found.try, late: true },
    }));
  }
  const marked = withChild(state, child, (each) => ({ ...each, superseded: true }));
  return afterCalls(
    updateCall(marked, found.call, (open) => ({
      ...open,
      heldBy: { ...childIn(open), by: "child", try: found.try, over: true },
    })),
  );
}

/** C5: a child that was never made leaves its entry and its reservation behind. */
export function dropChild(state: State, { child, at }: EventOf<"ChildNeverMade">): State {
  const found = state.children.find(({ id }) => id === child);
  ensure(found !== undefined, `child ${child} has no entry`);
  const without = { ...state, children: state.children.filter(({ id }) => id !== child) };
  if (found.superseded) return without;
  const open = state.open.find(({ call }) => call === found.call);
  // It did nothing, so another child may be made for its call.
  if (found.late === true && open !== undefined && state.ending === null) {
    return withReport(without, found, { status: "cancelled", value: NEVER_MADE });
  }
  return settleIfOpen(without, found, { outcome: "failed", value: NEVER_MADE, at });
}

const NEVER_MADE = inline("NotStarted: the child run was never made; it did nothing");

/**
 * C4: only a report whose entry stands counts. Its call gets it, unless the child was superseded. The debit of what the
 * child spent is an event of the same commit.
 */
export function absorbReport(before: State, body: ChildReport, at: number): State {
  const found = before.children.find(({ id }) => id === body.child);
  if (found === undefined) return before;
  const state = absorbWork(before, found.call, body.outside);
  const without = { ...state, children: state.children.filter((each) => each !== found) };
  const open = state.open.find(({ call }) => call === found.call);
  if (found.superseded || open === undefined) return without;
  const { status, value } = body;
  const known = withReport(without, found, { status, value });
  // No model will judge the answer of a child whose parent is to end.
  return state.ending === null ? known : settleReports(known, at);
}

/** The call judges how its child ended. */
function withReport(state: State, { call, try: number }: Child, report: ChildEnd): State {
  const known = updateCall(state, call, (each) => ({
    ...each,
    heldBy: { ...childIn(each), by: "child", try: number, report },
  }));
  return state.ending === null ? resumedBy(afterCalls(known)) : known;
}

/** The call when its outcome is unknown: it judges no report any more, and waits for no child. */
export function withUnknownChild(open: OpenCall): OpenCall {
  const child = childIn(open);
  if (child === undefined) return open;
  const { report: _report, late: _late, ...known } = child;
  return { ...open, heldBy: { ...known, over: true } };
}

/** Settles the calls whose children have reported, where the run is to end and judges no answer any more. */
export function settleReports(state: State, at: number): State {
  return state.open.reduce((next, open) => {
    const report = childIn(open)?.report;
    if (report === undefined) return next;
    const { status, value } = report;
    const failed = unknownWork(open.outside).length > 0 ? "unknown" : "failed";
    return settleCall(next, open.call, { outcome: status === "completed" ? "succeeded" : failed, value, at });
  }, state);
}

/** A paused run judges the answer when it resumes. */
function resumedBy(state: State): State {
  return state.pausedFrom === null || state.open.length === 0 ? state : { ...state, pausedFrom: "ExecutingTools" };
}

function settleIfOpen(state: State, { call }: Child, as: Parameters<typeof settleCall>[2]): State {
  return state.open.some((open) => open.call === call) ? settleCall(state, call, as) : afterCalls(state);
}

function withChild(state: State, child: string, change: (each: Child) => Child): State {
  ensure(
    state.children.some(({ id }) => id === child),
    `child ${child} has no entry`,
  );
  return { ...state, children: state.children.map((each) => (each.id === child ? change(each) : each)) };
}

/** A child that acted outside, and has tries left. Another child for its call would act under other keys. */
export function mayTryAgain(state: State): boolean {
  const { expected } = state;
  return expected !== undefined && (expected.returned ?? 0) + 1 < expected.tries && ownWork(state) !== undefined;
}

/** What cairn says to a model is no progress. */
export const messagesOfOthers = ({ messages }: State): number =>
  messages.filter(({ source }) => source !== "cairn").length;

/** The answer of a child goes back to its model. */
export function returnAnswer(state: State, why: string): State {
  const { expected } = state;
  ensure(expected !== undefined, "a run waits for the answer");
  const after = { failure: { code: "AnswerLost", message: why } };
  return { ...state, expected: { ...expected, returned: (expected.returned ?? 0) + 1, after } };
}

/** The child goes on where it stood. What counted towards its end is forgotten; calls, keys and budget stay. */
export function tryAgain(
  state: State,
  { failure, text: say, ...action }: Extract<Action, { readonly kind: "tryAgain" }>,
  at: number,
): State {
  const { outage: _, failedSummaries: _summaries, expected, ...rest } = state;
  ensure(expected !== undefined && state.ending === null, "a run with a parent has not ended");
  const after = { failure, messages: messagesOfOthers(state) };
  const counted = { ...expected, returned: action.try - 1, after };
  const stood: State = { ...rest, expected: counted, modelRetries: 0, nudges: 0, retryAt: null };
  if (say === undefined) return state.phase === "RetryingLLM" ? { ...stood, phase: "AwaitingLLM" } : stood;
  const messages = [...state.messages, message(state, at, "cairn", "user", [text(say)])];
  return { ...stood, phase: "AwaitingLLM", messages };
}
