/** What the views say of an undo by a human: which call it undoes, what that did, and what stands. */
import { leftStanding } from "../core/calls/repeats.ts";
import { BOUNDS } from "../core/limits.ts";
import type { OutsideWork } from "../core/outside.ts";
import type { State } from "../core/state.ts";
import type { World } from "../ports/world.ts";
import { childRunId } from "../protocol/ids.ts";
import type { Row } from "../protocol/row.ts";

interface UndoMarks {
  readonly undoes?: string;
  readonly byHand?: true;
}

/** What a human has to know of an undo: which call it undoes, and whether a tool could do it. */
export const undoMarks = ({ undo = [] }: State, undoes: string | undefined): UndoMarks =>
  undoes === undefined
    ? {}
    : { undoes, ...(undo.some(({ call }) => call === undoes) ? {} : { byHand: true as const }) };

/** The key under which the effect is to be found that a human is to undo. */
export const keyUndone = ({ outside }: State, undoes: string | undefined): string =>
  outside?.calls.find(({ run, call }) => run === undefined && call === undoes)?.key ?? "";

/** What the child of a hand-off did that a human is to undo. What runs below that child did, its own ledger says. */
export function workUndone({ hash }: World, { tenant, run, born }: Row, state: State, undoes = ""): OutsideWork {
  const { outside, restart: attempt } = state;
  const tries = Array.from({ length: BOUNDS.callTriesMax }, (_, index) => index + 1);
  const made = new Set(
    tries.map((number) => childRunId(hash, { tenant, run, born, attempt, call: undoes, try: number })),
  );
  return { calls: outside?.calls.filter((each) => each.run !== undefined && made.has(each.run)) ?? [] };
}

export function standingCalls(state: State): readonly string[] {
  const calls = leftStanding(state);
  if (calls.length === 0) return [];
  return state.messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === "call" && calls.includes(part.call) ? [`${part.tool} (${part.call})`] : [])),
  );
}
