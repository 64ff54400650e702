/** What happens around the runs: processes die and are replaced, time passes, humans act, and requests land late. */
import { land } from "./requests.ts";
import {
  type Family,
  type State,
  childrenOf,
  isLeftBehind,
  parentOf,
  raiseEpoch,
  runAt,
  stands,
  withRun,
} from "./state.ts";
import { type Step, lose, nameOf } from "./steps.ts";

/** The steps around one run. */
export function* aroundSteps(state: State, family: Family, index: number): Generator<Step> {
  const run = runAt(state, index);
  if (run.row !== "there") return;
  const name = nameOf(family, index);
  if (run.status === "running") yield* processes(state, family, index);
  if (run.settling) {
    // Requests of the processes that the settle time covers have landed by now, or never will.
    const flying = state.flying.filter(({ kind, run: of, covered }) => kind !== "act" || of !== index || !covered);
    const to = { ...withRun(state, index, { settling: false }), flying };
    yield { says: `the settle time of ${name} passes`, to, isFault: false };
  }
  if (run.call === "asked" && run.status === "running") {
    // A human who looks too early sees nothing yet, so "it did not happen" is refused until the settle time has passed.
    if (run.effects > 0) {
      yield {
        says: `a human says that it happened (${name})`,
        to: withRun(state, index, { call: "known" }),
        isFault: false,
      };
    } else if (!run.settling) {
      const to = withRun(state, index, { call: "intended", inEpoch: run.owner === "live", sent: false });
      yield { says: `a human permits the call again (${name})`, to, isFault: false };
    }
  }
  if (state.left.cancels > 0 && run.status === "running" && !run.cancel) {
    const left = { ...state.left, cancels: state.left.cancels - 1 };
    const to = { ...withRun(state, index, { cancel: true, wasCancelled: true }), left };
    yield { says: `an operator cancels ${name}`, to, isFault: true };
  }
  yield* redrives(state, family, index);
  if (run.closed && parentOf(family, index) !== null) {
    yield run.expired
      ? { says: `the row of ${name} is removed`, to: withRun(state, index, { row: "removed" }), isFault: false }
      : { says: `the retention of ${name} ends`, to: withRun(state, index, { expired: true }), isFault: false };
  }
}

/** Claims, and deaths. A claim over an owner covers its lease by the settle time. */
function* processes(state: State, family: Family, index: number): Generator<Step> {
  const run = runAt(state, index);
  const name = nameOf(family, index);
  if (run.owner === "live") {
    if (state.left.crashes > 0) yield { says: `the process of ${name} dies`, to: lose(state, index), isFault: true };
    return;
  }
  const raised = raiseEpoch(state, family, index);
  if (run.owner === "none") {
    yield { says: `a process claims ${name}`, to: withRun(raised, index, { owner: "live" }), isFault: false };
    return;
  }
  const isWorker = childrenOf(family, index).length === 0;
  const flying = raised.flying.map((each) =>
    each.run === index && each.kind === "act" ? { ...each, covered: true } : each,
  );
  const died = { deaths: run.deaths + 1, died: run.died + 1 };
  const change = { owner: "live", settling: run.settling || isWorker } as const;
  const counts = family.deathsMax <= family.faults.crashes;
  const to = withRun({ ...raised, flying }, index, { ...change, ...(counts ? died : {}) });
  yield { says: `another process takes over ${name}`, to, isFault: false };
}

/** An operator redrives a failed run. A run with a parent is refused, and so is one that left children behind. */
function* redrives(state: State, family: Family, index: number): Generator<Step> {
  const run = runAt(state, index);
  const isRoot = parentOf(family, index) === null || family.without === "a child is redriven";
  const leaves = childrenOf(family, index).some((at) => stands(runAt(state, at)) || isLeftBehind(state, family, at));
  if (state.left.redrives === 0 || run.status !== "failed" || leaves || !isRoot) return;
  const left = { ...state.left, redrives: state.left.redrives - 1 };
  const raised = raiseEpoch(state, family, index);
  const again = { status: "running", owner: "none", deaths: 0, closed: false, ending: "none", forced: false } as const;
  const to = { ...withRun(raised, index, again), left };
  yield { says: `an operator redrives ${nameOf(family, index)}`, to, isFault: true };
}

/** A request in flight lands, or never does. */
export function* flights(state: State, family: Family): Generator<Step> {
  for (const [at, request] of state.flying.entries()) {
    const flying = state.flying.filter((_, other) => other !== at);
    const says = `the frozen process thaws: ${request.kind} ${request.dispatch} of ${nameOf(family, request.run)}`;
    const { state: to, answer } = land({ ...state, flying }, family, request);
    yield { says: answer === "refused" ? `${says} is refused` : `${says} lands`, to, isFault: false };
    yield { says: `${says} never lands`, to: { ...state, flying }, isFault: false };
  }
}
