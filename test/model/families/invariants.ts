/** What must hold in every state. Each invariant returns what is wrong, in words; null: nothing. */
import { type Family, type Run, type State, childrenOf, freeIn, parentOf, runAt, spentBy, stands } from "./state.ts";
import { nameOf } from "./steps.ts";

export const INVARIANTS = {
  "one effect for each business intent": (_state, family, index, run) => {
    const acts = family.effects[index] !== "none";
    if (acts && run.effects > 1) return `it happened ${run.effects} times under ${run.keys} (bits)`;
    return acts && run.call === "known" && run.effects === 0 ? "an effect that did not happen is taken for done" : null;
  },
  "an effect that may have happened is done, or is a question": (state, family, index, run) => {
    const parent = parentOf(family, index);
    if (parent === null || runAt(state, parent).forced || run.entry !== "failed") return null;
    const isOpen = run.effects > 0 && (run.call === "intended" || run.call === "asked");
    const isBelow = childrenOf(family, index).some((at) => runAt(state, at).entry === "unknown");
    return run.status !== "running" && (isOpen || isBelow)
      ? "it happened, and the call of its parent only failed"
      : null;
  },
  "a report counts once, with all that was spent": (state, family, index, run) => {
    const parent = parentOf(family, index);
    if (parent === null || runAt(state, parent).forced || stands(run) || run.entry === "none") return null;
    const spent = spentBy(state, family, index);
    return run.counted === spent ? null : `${run.counted} is debited, and ${spent} was spent`;
  },
  "no run spends more than was reserved": (state, family, index, run) => {
    if (freeIn(state, family, index) < 0) return `its budget is exceeded by ${-freeIn(state, family, index)}`;
    const bound = stands(run) ? run.reserved : run.grant;
    return parentOf(family, index) !== null && run.row === "there" && spentBy(state, family, index) > bound
      ? `it spent ${spentBy(state, family, index)}, and ${bound} is reserved`
      : null;
  },
  "an end is archived once, at the last": (_state, _family, _index, run) => {
    if (run.archives === 0) return null;
    if (run.archives !== 1 << run.dispatch)
      return `it is dispatched ${run.dispatch} times, and archived (bits) ${run.archives}`;
    return run.status === "running" ? "its end is archived, and it works" : null;
  },
  "a run stays while its parent may need it": (state, family, index, run) =>
    run.row === "removed" &&
    !runAt(state, parentOf(family, index) ?? 0).forced &&
    (run.entry === "out" || run.entry === "judged")
      ? "it is gone"
      : null,
  "one decision fences once": (_state, _family, _index, run) =>
    run.fencesLeft < 0 ? "it was fenced more often than that was decided" : null,
  "only a death counts as one": (_state, _family, _index, run) =>
    run.deaths > run.died ? `${run.deaths} deaths are counted, and ${run.died} processes died` : null,
  "a run goes on in place of its end as often as it may, and never twice at the same place": (_s, family, _i, run) => {
    if (run.wentOn >= family.tries) return `it went on ${run.wentOn} times, and has ${family.tries} tries`;
    return run.wentOnIdle > 0 ? "it went on twice at the same place" : null;
  },
  "a cancel is never lost": (_state, _family, _index, run) => {
    if (!run.wasCancelled) return null;
    if (run.status === "running") return run.cancel ? null : "it was cancelled, and goes on";
    return run.status === "completed" || run.status === "misfit" ? "it was cancelled, and has completed" : null;
  },
  "nothing works below an end": (state, family, index, run) => {
    if (run.status === "running" || (run.forced && !run.closed)) return null;
    const works = childrenOf(family, index).filter((at) => {
      const child = runAt(state, at);
      return child.row === "there" && child.status === "running";
    });
    return works.length === 0 ? null : `${works.map((at) => nameOf(family, at)).join(" and ")} works`;
  },
} as const satisfies Readonly<Record<string, (state: State, family: Family, index: number, run: Run) => string | null>>;

/** The name under which a finding of a step is reported. */
export const BY_STEP = "a process that lost its run commits nothing, and no report settles another number";
export const STUCK = "from every state an end can be reached";

/** The first invariant that a state violates; null: none. */
export function violated(state: State, family: Family): { readonly invariant: string; readonly why: string } | null {
  if (state.wrong !== "") return { invariant: BY_STEP, why: state.wrong };
  for (const [invariant, check] of Object.entries(INVARIANTS)) {
    for (const [index, run] of state.runs.entries()) {
      const why = check(state, family, index, run);
      if (why !== null) return { invariant, why: `${nameOf(family, index)}: ${why}` };
    }
  }
  return null;
}

/** The family is over: every end is delivered, and nothing is in flight. */
export const isOver = ({ runs, flying }: State): boolean =>
  flying.length === 0 && runs.every(({ row, closed }) => row !== "there" || closed);
