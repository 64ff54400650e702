/** The view of the child runs that a run waits for. */
import { Unreadable } from "../codec/canonical.ts";
import type { Grant } from "../core/policy/budget.ts";
import type { State } from "../core/state.ts";
import { SegmentCache } from "../history/load.ts";
import { loadVouched } from "../history/vouch.ts";
import type { World } from "../ports/world.ts";
import { hasEnded } from "../protocol/row.ts";

/** A child run whose end its parent has not absorbed. */
export interface ShownChild {
  readonly run: string;
  readonly agent: string;
  /** The call that dispatched it, and which try of that call it is. */
  readonly call: string;
  readonly try: number;
  /** What its parent reserves for it. */
  readonly grant: Grant;
  /** When it is too late, in epoch milliseconds; null: never. */
  readonly deadline: number | null;
  /** It was too late: its answer is not taken. */
  readonly superseded: boolean;
  /** It was too late: its call waits for its end, which says what it did. */
  readonly late: boolean;
  /** It was asked to stop. */
  readonly asked: boolean;
  /** How often its parent has asked for it. Above 1: it was too late, and the same run goes on in another process. */
  readonly dispatch: number;
  /** Until when a request of an earlier process of it may land, in epoch milliseconds; null: none may. */
  readonly settlesAt: number | null;
  /** What it went on after instead of ending; null: nothing, or its state cannot be read. */
  readonly again: GoneOn | null;
}

/** A child run that acted outside went on after an answer or a failure. */
export interface GoneOn {
  /** Which try it is at, and how many its parent allows. */
  readonly try: number;
  readonly tries: number;
  /** Why the try before was none, with its code. */
  readonly after: string;
}

export function goneOn({ expected }: Pick<State, "expected">): GoneOn | null {
  const { tries = 0, returned = 0, after } = expected ?? {};
  return after === undefined
    ? null
    : { try: returned + 1, tries, after: `${after.failure.code}: ${after.failure.message}` };
}

/** The states of so many children are read. */
const READ_MAX = 16;

export const shownChildren = (world: World, { children }: State): Promise<readonly ShownChild[]> =>
  Promise.all(
    children.map(async ({ id: run, agent, call, grant, deadline, superseded, late = false, ...each }, index) => ({
      run,
      agent,
      call,
      try: each.try,
      grant,
      deadline,
      superseded,
      late,
      asked: each.askedToStop ?? false,
      dispatch: each.dispatch ?? 1,
      settlesAt: each.settlesAt ?? null,
      again: each.made === true && index < READ_MAX ? await goneOnIn(world, run) : null,
    })),
  );

async function goneOnIn(world: World, run: string): Promise<GoneOn | null> {
  try {
    const row = await world.table.read(run, world.clock.now());
    return row === null || hasEnded(row) ? null : goneOn((await loadVouched(world, row, new SegmentCache())).state);
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}
