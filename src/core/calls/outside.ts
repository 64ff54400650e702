/**
 * What a run and its child runs did outside: the list grows as calls are settled and as children report. The report
 * of a child carries it, and the call that waited for the child keeps it.
 */
import type { Child } from "../child.ts";
import type { CallOutcome, Part } from "../message.ts";
import type { OutsideCall, OutsideWork } from "../outside.ts";
import type { OpenCall, State } from "../state.ts";
import { EFFECTS } from "./effects.ts";

/** How many calls a list names. Each has a key, and the list is stored with the state. */
const LISTED_MAX = 16;

/** What is known last is named first. */
const RANK: { readonly [O in OutsideCall["outcome"]]: number } = { unknown: 0, succeeded: 1, undone: 2 };

const NOTHING_HAPPENED: OutsideWork = { calls: [] };

/** Both lists as one, bounded. */
export function joinedWork(one: OutsideWork | undefined, other: OutsideWork | undefined): OutsideWork | undefined {
  if (one === undefined && other === undefined) return undefined;
  const calls = [...(one?.calls ?? []), ...(other?.calls ?? [])];
  const all = calls.toSorted((a, b) => RANK[a.outcome] - RANK[b.outcome]);
  const more = (one?.more ?? 0) + (other?.more ?? 0) + Math.max(0, all.length - LISTED_MAX);
  const settlesAt = Math.max(one?.settlesAt ?? 0, other?.settlesAt ?? 0);
  return {
    ...one,
    ...other,
    calls: all.slice(0, LISTED_MAX),
    ...(more > 0 ? { more } : {}),
    ...(settlesAt > 0 ? { settlesAt } : {}),
  };
}

/** Some effect happened or may have, and was not undone. */
export const workStands = (work: OutsideWork | undefined): boolean =>
  work !== undefined && (work.calls.some(({ outcome }) => outcome !== "undone") || (work.more ?? 0) > 0);

/** The calls whose outcome is not known. */
export const unknownWork = (work: OutsideWork | undefined): readonly OutsideCall[] =>
  work?.calls.filter(({ outcome }) => outcome === "unknown") ?? [];

/** The list after a human said how the unknown calls went. What did not happen leaves it. */
export function reconciledWork(work: OutsideWork | undefined, happened: boolean): OutsideWork | undefined {
  if (work === undefined) return undefined;
  const calls = work.calls.flatMap((call): OutsideCall[] => {
    if (call.outcome !== "unknown") return [call];
    return happened ? [{ ...call, outcome: "succeeded" }] : [];
  });
  const { settlesAt: _, ...rest } = work;
  return { ...rest, calls };
}

/** The state after a call was settled. Of a hand-off, what its child reported is in the list already. */
export function addSettled(
  { outside }: State,
  open: OpenCall,
  outcome: CallOutcome,
): Pick<State, "outside"> | undefined {
  const { call, tool, intent, releasedBy, timesUnknown, unbegun, heldBy, undoes } = open;
  if (undoes !== undefined || intent === null || !EFFECTS[intent.effect].actsOutside) return undefined;
  const wasReleased = releasedBy !== null || (timesUnknown > 0 && unbegun === undefined);
  if (!wasReleased || heldBy?.by === "child" || open.outside !== undefined) return undefined;
  const calls: readonly OutsideCall[] = outcome === "failed" ? [] : [{ call, tool, key: intent.key, outcome }];
  return withJoined(outside, { calls });
}

/** The state after the effect of its own call was undone. */
export function markUndone({ outside }: State, undoes: string): Pick<State, "outside"> {
  if (outside === undefined) return {};
  const calls = outside.calls.map((each) =>
    each.run === undefined && each.call === undoes ? { ...each, outcome: "undone" as const } : each,
  );
  return { outside: { ...outside, calls } };
}

/** The state and the open call after a human said how the unknown calls of its child went. */
export function reconcileWork(state: State, open: OpenCall, happened: boolean): State {
  const asked = unknownWork(open.outside);
  const { outside } = state;
  if (asked.length === 0 || outside === undefined) return state;
  const isAsked = (each: OutsideCall): boolean => asked.some(({ run, call }) => run === each.run && call === each.call);
  const others = outside.calls.filter((each) => !isAsked(each));
  const answered = reconciledWork({ calls: outside.calls.filter(isAsked) }, happened);
  const work = reconciledWork(open.outside, happened) ?? NOTHING_HAPPENED;
  return {
    ...state,
    outside: { ...outside, calls: [...(answered?.calls ?? []), ...others] },
    open: state.open.map((each) => (each === open ? { ...each, outside: work } : each)),
  };
}

/** What the result of a hand-off keeps: the effects of a child whose answer is not there. */
export function workOfResult({ outside }: OpenCall, outcome: CallOutcome): Pick<ResultPart, "outside"> {
  return outcome !== "succeeded" && outside !== undefined && workStands(outside) ? { outside } : {};
}

type ResultPart = Extract<Part, { readonly kind: "result" }>;

/** The work of a child joins that of its parent, and that of the call which waits for it. */
export function absorbWork(state: State, call: string, work: OutsideWork | undefined): State {
  if (work === undefined) return state;
  const open = state.open.map((each) =>
    each.call === call ? { ...each, outside: joinedWork(each.outside, work) ?? work } : each,
  );
  return { ...state, ...withJoined(state.outside, work), open };
}

const withJoined = (outside: OutsideWork | undefined, work: OutsideWork): Pick<State, "outside"> => ({
  outside: joinedWork(outside, work) ?? work,
});

/**
 * What the run did by its own calls and by children that reported, each call with its run. A call that is open may have
 * happened, unless it is known not to have begun; so may an undo, and then its effect may stand or not.
 */
export function ownWork({ run, open, outside }: State): OutsideWork | undefined {
  const mayHaveHappened = open.filter(
    ({ status, intent, unbegun, heldBy, undoes, outside: reported }) =>
      (status === "unknown" || status === "started") &&
      unbegun === undefined &&
      heldBy === undefined &&
      undoes === undefined &&
      reported === undefined &&
      intent !== null &&
      EFFECTS[intent.effect].actsOutside,
  );
  const calls = mayHaveHappened.map(({ call, tool, intent }): OutsideCall => {
    return { call, tool, key: intent?.key ?? "", outcome: "unknown" };
  });
  const settlesAt = Math.max(0, ...open.map(({ reconcilableFrom }) => reconcilableFrom ?? 0));
  const inUndo = open.flatMap(({ status, unbegun, undoes }) =>
    undoes !== undefined && unbegun === undefined && (status === "unknown" || status === "started") ? [undoes] : [],
  );
  const known = outside && { ...outside, calls: outside.calls.map((each) => afterUndoLost(each, inUndo)) };
  const mayStand = calls.length > 0 || inUndo.length > 0;
  const all = joinedWork(known, mayStand ? { calls, settlesAt } : undefined);
  return all && { ...all, calls: all.calls.map((each) => callOf(run, each)) };
}

/** A call that names no run is one of this run. */
const callOf = (run: string, each: OutsideCall): OutsideCall => ({ run, ...each });

/** Whether the effect stands is not known while its undo is open and may have happened. */
const afterUndoLost = (each: OutsideCall, inUndo: readonly string[]): OutsideCall =>
  each.run === undefined && each.outcome === "succeeded" && inUndo.includes(each.call)
    ? { ...each, outcome: "unknown" }
    : each;

/** A child whose end says nothing: whatever it did may have happened. */
export const unheardWork = ({ id, call, agent }: Child): OutsideWork => ({
  calls: [{ run: id, call, tool: agent, key: "", outcome: "unknown" }],
});

/** The list in words, for a model and for an operator. */
export function workLines(work: OutsideWork): readonly string[] {
  const named = work.calls.map(({ run, call, tool, key, outcome }) => {
    const at = [call, ...(run === undefined ? [] : [`of run ${run}`]), ...(key === "" ? [] : [`key ${key}`])];
    return `${tool} (${at.join(", ")}) ${OUTCOMES[outcome]}`;
  });
  return [...named, ...(work.more === undefined ? [] : [`and ${work.more} more`])];
}

export const workInWords = (work: OutsideWork): string => workLines(work).join("; ");

const OUTCOMES: { readonly [O in OutsideCall["outcome"]]: string } = {
  succeeded: "happened",
  unknown: "may have happened",
  undone: "happened and was undone",
};
