/** The view of the child runs that a run waits for. */
import type { Grant } from "../core/policy/budget.ts";
import type { State } from "../core/state.ts";

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
}

export const shownChildren = ({ children }: State): readonly ShownChild[] =>
  children.map(({ id: run, agent, call, grant, deadline, superseded, late = false, ...each }) => ({
    ...{ run, agent, call, try: each.try, grant, deadline, superseded, late },
    ...{ asked: each.askedToStop ?? false, dispatch: each.dispatch ?? 1, settlesAt: each.settlesAt ?? null },
  }));
