/**
 * Child runs as changes of the parent's state. The rules C1 to C8 are those of `docs/protocol.md` (child runs). Used by
 * `transition.ts`, which maps each event to its change.
 */
import type { Child, ChildReport } from "../child.ts";
import { ensure } from "../ensure.ts";
import type { EventOf } from "../event.ts";
import { inline } from "../message.ts";
import { type Grant, type Limits, METERS, type Spent, addGrant } from "../policy/budget.ts";
import type { State } from "../state.ts";
import { afterCalls, isNext, settleCall, updateCall, waitsForEarlierCall } from "./open-calls.ts";

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
    if (open.child === undefined) {
      ensure(isNext(open) && !waitsForEarlierCall(state.open, open), `call ${call} is ${open.status} already`);
      ensure(of.try === 1, `the first try of call ${call} is number ${of.try}`);
    } else {
      ensure(open.child.over === true || open.child.report !== undefined, `call ${call} waits for a child already`);
      ensure(of.try === open.child.try + 1, `try ${of.try} of call ${call} follows try ${open.child.try}`);
    }
    const { report: _report, over: _over, ...known } = open.child ?? { try: 1 };
    return { ...open, status: "started", releasedBy: epoch, child: { ...known, try: of.try } };
  });
  return afterCalls({ ...released, children: [...state.children, entry] });
}

/** C2: the child exists. Of a child that is left alone that is all there is to know, so its call is settled. */
export function applyChildStarted(state: State, { child, at }: EventOf<"ChildStarted">): State {
  const found = state.children.find(({ id }) => id === child);
  if (found?.left !== true) return withChild(state, child, (each) => ({ ...each, made: true }));
  const without = { ...state, children: state.children.filter(({ id }) => id !== child) };
  return settleIfOpen(without, found, { outcome: "succeeded", value: inline({ run: child }), at });
}

export const applyAskedToStop = (state: State, { child }: EventOf<"ChildAskedToStop">): State =>
  withChild(state, child, (each) => ({ ...each, asked: true }));

/** C7: the entry and its reservation stay, and the call waits for this child no longer. */
export function supersede(state: State, { child }: EventOf<"ChildSuperseded">): State {
  const found = state.children.find(({ id }) => id === child);
  ensure(found?.superseded === false, `child ${child} is not waited for`);
  const marked = withChild(state, child, (each) => ({ ...each, superseded: true }));
  return afterCalls(
    updateCall(marked, found.call, (open) => ({ ...open, child: { ...open.child, try: found.try, over: true } })),
  );
}

/** C5: a child that was never made leaves its entry and its reservation behind. */
export function dropChild(state: State, { child, at }: EventOf<"ChildNeverMade">): State {
  const found = state.children.find(({ id }) => id === child);
  ensure(found !== undefined, `child ${child} has no entry`);
  const without = { ...state, children: state.children.filter(({ id }) => id !== child) };
  return found.superseded ? without : settleIfOpen(without, found, { outcome: "failed", value: NEVER_MADE, at });
}

const NEVER_MADE = inline("NotStarted: the child run was never made; it did nothing");

/**
 * C4: only a report whose entry stands counts. Its call gets it, unless the child was superseded. The debit of what the
 * child spent is an event of the same commit.
 */
export function absorbReport(state: State, body: ChildReport, at: number): State {
  const found = state.children.find(({ id }) => id === body.child);
  if (found === undefined) return state;
  const without = { ...state, children: state.children.filter((each) => each !== found) };
  const open = state.open.find(({ call }) => call === found.call);
  if (found.superseded || open === undefined) return without;
  const { status, value } = body;
  const known = updateCall(without, found.call, (each) => ({
    ...each,
    child: { ...each.child, try: found.try, report: { status, value } },
  }));
  // No model will judge the answer of a child whose parent is to end.
  return state.ending === null ? resumedBy(afterCalls(known)) : settleReports(known, at);
}

/** Settles the calls whose children have reported, where the run is to end and judges no answer any more. */
export function settleReports(state: State, at: number): State {
  return state.open.reduce((next, { call, child }) => {
    if (child?.report === undefined) return next;
    const { status, value } = child.report;
    return settleCall(next, call, { outcome: status === "completed" ? "succeeded" : "failed", value, at });
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
