/** Child runs as changes of the parent's state. The rules C1 to C8 are those of `docs/protocol.md` (child runs). */
import { messagesOfOthers } from "../../core/policy/expected-answer.ts";
import { settleHeld } from "../../core/calls/held-ends.ts";
import { WAITING_PHASES } from "../../core/phases.ts";
import type { Absorbed, Decided, EventRows } from "../../core/features.ts";
import type { ChildEvents, Child, ChildEnd, ChildReport } from "../../core/child.ts";
import type { ChildCommand } from "../../core/commands.ts";
import { ensure } from "../../core/ensure.ts";
import type { Action, EventOf } from "../../core/event.ts";
import { inline, text } from "../../core/message.ts";
import { absorbWork } from "../../core/calls/outside.ts";
import { type Grant, type Spent } from "../../core/policy/budget.ts";
import type { OpenCall, State } from "../../core/state.ts";
import { isDue, childIn } from "../../core/calls/held-calls.ts";
import {
  afterCalls,
  isNext,
  message,
  settleCall,
  updateCall,
  waitsForEarlierCall,
} from "../../core/calls/open-calls.ts";

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

/** A grant as an amount that is spent: of a child that nothing will be heard of. */
export function spentOfGrant({ tokens, ...grant }: Grant): Partial<Spent> {
  return { ...grant, ...(tokens === undefined ? {} : { tokensIn: tokens }) };
}

/** C1 and C7: the decision to make a child. Its call waits for it from here on. */
function dispatchChild(state: State, event: EventOf<"ChildDispatched">): State {
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
function applyChildStarted(state: State, { child, at }: EventOf<"ChildStarted">): State {
  const found = state.children.find(({ id }) => id === child);
  if (found?.left !== true) return withChild(state, child, (each) => ({ ...each, made: true }));
  const without = { ...state, children: state.children.filter(({ id }) => id !== child) };
  const { call, agent: tool } = found;
  // Nothing is heard of what it does, so for a run above it may do anything.
  const work = { calls: [{ run: child, call, tool, key: "", outcome: "succeeded" }] } as const;
  return settleIfOpen(absorbWork(without, call, work), found, {
    outcome: "succeeded",
    value: inline({ run: child }),
    at,
  });
}

const applyAskedToStop = (state: State, { child }: EventOf<"ChildAskedToStop">): State =>
  withChild(state, child, (each) => ({ ...each, askedToStop: true }));

/**
 * C9: the entry, its reservation and the wait of its call stay. The child gets a new deadline, and goes on with what is
 * left of its grant.
 */
function continueChild(state: State, event: EventOf<"ChildContinued">): State {
  const { child, dispatch, deadline, messages, settlesAt } = event;
  const found = state.children.find(({ id }) => id === child);
  ensure(found?.superseded === false && found.late !== true, `child ${child} is not waited for`);
  ensure(dispatch === (found.dispatch ?? 1) + 1, `child ${child} is continued out of turn`);
  const entry = withChild(state, child, ({ settlesAt: _, ...each }) => ({
    ...each,
    dispatch,
    deadline,
    messages,
    isContinuing: true as const,
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
const applyChildResumed = (state: State, { child }: EventOf<"ChildResumed">): State =>
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
function supersede(state: State, { child, awaited }: EventOf<"ChildSuperseded">): State {
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
function dropChild(state: State, { child, at }: EventOf<"ChildNeverMade">): State {
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
export function absorbReport(before: State, body: ChildReport, { at }: Absorbed): State {
  const found = before.children.find(({ id }) => id === body.child);
  if (found === undefined) return before;
  const state = absorbWork(before, found.call, body.outside);
  const without = { ...state, children: state.children.filter((each) => each !== found) };
  const open = state.open.find(({ call }) => call === found.call);
  if (found.superseded || open === undefined) return without;
  const { status, value } = body;
  const known = withReport(without, found, { status, value });
  // No model will judge the answer of a child whose parent is to end.
  return state.ending === null ? known : settleHeld(known, "child", at);
}

/** The call judges how its child ended. */
function withReport(state: State, { call, try: number }: Child, report: ChildEnd): State {
  const known = updateCall(state, call, (each) => ({
    ...each,
    heldBy: { ...childIn(each), by: "child", try: number, report },
  }));
  return state.ending === null ? resumedBy(afterCalls(known)) : known;
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

/** The child goes on where it stood. What counted towards its end is forgotten; calls, keys and budget stay. */
export function tryAgain(
  state: State,
  { failure, text: say, ...action }: Extract<Action, { readonly kind: "tryAgain" }>,
  { at }: Decided,
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

/** The events of this feature: in which phases each may happen, and what it changes. */
export const CHILD_EVENTS: EventRows<keyof ChildEvents> = {
  ChildDispatched: { in: ["ExecutingTools"], apply: dispatchChild },
  ChildStarted: { in: "live", apply: applyChildStarted },
  ChildSuperseded: { in: ["ExecutingTools", ...WAITING_PHASES], apply: supersede },
  ChildContinued: { in: ["ExecutingTools", ...WAITING_PHASES], apply: continueChild },
  ChildResumed: { in: "live", apply: applyChildResumed },
  ChildAskedToStop: { in: "live", apply: applyAskedToStop },
  ChildNeverMade: { in: "live", apply: dropChild },
};
