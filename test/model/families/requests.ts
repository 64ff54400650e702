/**
 * Requests across rows, and to the outside: what each of them finds and changes when it lands. A request is judged and
 * applied in one transaction, so it lands whole, whoever sent it and however late.
 */
import { type Mutant } from "./mutants.ts";
import {
  type End,
  type Family,
  type Flying,
  type Report,
  type State,
  childrenOf,
  parentOf,
  raiseEpoch,
  runAt,
  stands,
  withRun,
} from "./state.ts";

/** What the sender of a request hears. `refused`: the epoch it names is over, so it writes nothing more. */
export type Answer = "done" | "ended" | "closed" | "refused";

export interface Landed {
  readonly state: State;
  readonly answer: Answer;
}

const isWithout = ({ without }: Family, mutant: Mutant): boolean => without === mutant;
const bit = (dispatch: number): number => 1 << dispatch;

/** The parent goes on, in the epoch that the request names. */
function mayAct(state: State, family: Family, request: Flying): boolean {
  const parent = parentOf(family, request.run);
  return parent !== null && request.inEpoch && runAt(state, parent).status === "running";
}

const HANDLERS: { readonly [K in Flying["kind"]]: (state: State, family: Family, request: Flying) => Landed } = {
  make,
  fence,
  reopen,
  stop,
  close,
  deliver,
  act,
  end,
};

export const land = (state: State, family: Family, request: Flying): Landed =>
  HANDLERS[request.kind](state, family, request);

/** Rule C2: a child is made once, by the epoch that holds its parent. */
function make(state: State, family: Family, request: Flying): Landed {
  const { run: index, grant } = request;
  const child = runAt(state, index);
  if (!mayAct(state, family, request) && !isWithout(family, "make in any epoch")) return { state, answer: "refused" };
  if (child.row !== "absent" || (child.seen & bit(1)) !== 0) return { state, answer: "done" };
  return { state: withRun(state, index, { row: "there", grant }), answer: "done" };
}

/** The decision *fence*: the invocation of a child that works loses it, and the next one continues the same run. */
function fence(state: State, family: Family, request: Flying): Landed {
  const { run: index, dispatch } = request;
  const child = runAt(state, index);
  if (!mayAct(state, family, request) && !isWithout(family, "fence in any epoch")) return { state, answer: "refused" };
  if (child.status !== "running") return { state, answer: "ended" };
  const isCounted = !isWithout(family, "fence without its number");
  if (isCounted && child.dispatch >= dispatch) return { state, answer: "done" };
  return { state: fenced(state, family, request), answer: "done" };
}

function fenced(state: State, family: Family, { run: index, dispatch, grant, inEpoch }: Flying): State {
  const child = runAt(state, index);
  // The number makes a late fence harmless. The epoch refuses it all the same: a boss that lost its run changes nothing.
  const wrong = inEpoch ? state.wrong : "a boss that lost its run has fenced a child";
  const isHeld = child.owner !== "none";
  const raised = isWithout(family, "fence keeps the epoch") ? state : raiseEpoch(state, family, index);
  const settles = isHeld && !isWithout(family, "fence raises no settle time");
  const flying = raised.flying.map((each) =>
    each.run === index && (each.kind === "act" || each.kind === "end")
      ? { ...each, covered: each.covered || settles, fenced: true }
      : each,
  );
  return withRun({ ...raised, wrong, flying }, index, {
    owner: "none",
    settling: child.settling || settles,
    dispatch: Math.max(dispatch, child.dispatch),
    grant: isWithout(family, "grant is added where it lands") ? child.grant + family.more : grant,
    deaths: child.deaths + (isWithout(family, "fence counts a death") && isHeld ? 1 : 0),
    fencesLeft: child.fencesLeft - 1,
    ...(isWithout(family, "fence forgets a cancel") ? { cancel: false } : {}),
  });
}

/** The decision *reopen*: a child that has ended, and whose end is not closed, goes on under the next number. */
function reopen(state: State, family: Family, request: Flying): Landed {
  const { run: index, dispatch, grant } = request;
  const child = runAt(state, index);
  if (!mayAct(state, family, request) && !isWithout(family, "reopen in any epoch")) return { state, answer: "refused" };
  if (child.row !== "there") return { state, answer: "closed" };
  if (child.dispatch >= dispatch) return { state, answer: "done" };
  const isRetained = !child.closed || isWithout(family, "reopen of a closed child");
  const isCancelled = child.status === "cancelled" || (child.cancel && !isWithout(family, "reopen forgets a cancel"));
  // A forced end left children behind: nothing goes on above them.
  const leaves = childrenOf(family, index).some((at) => stands(runAt(state, at)));
  if (child.status === "running" || !isRetained || isCancelled || leaves) return { state, answer: "closed" };
  return {
    state: withRun(raiseEpoch(state, family, index), index, {
      ...{ status: "running", owner: "none", dispatch, deaths: 0, cancel: false, closed: false, expired: false },
      ...{ ending: "none", forced: false },
      grant: isWithout(family, "grant is added where it lands") ? child.grant + family.more : grant,
    }),
    answer: "done",
  };
}

/**
 * A request to stop. The decision was committed before, so it needs no epoch. If the boss still holds its run, it also
 * fences the child under its number: a process that hangs does not delay the end of the child.
 */
function stop(state: State, family: Family, request: Flying): Landed {
  const { run: index, dispatch } = request;
  const child = runAt(state, index);
  if (child.row !== "there" || child.status !== "running") return { state, answer: "ended" };
  const fences = dispatch > child.dispatch && mayAct(state, family, request);
  const held = fences ? fenced(state, family, request) : state;
  return { state: withRun(held, index, { cancel: true, wasCancelled: true }), answer: "done" };
}

/** Archives an end, publishes it, and starts the retention. The archive is put first, and once for each number. */
function close(state: State, _: Family, { run: index, dispatch }: Flying): Landed {
  const child = runAt(state, index);
  if (child.row !== "there") return { state, answer: "done" };
  const isEnd = child.status !== "running" && child.dispatch === dispatch;
  return {
    state: withRun(state, index, {
      archives: child.archives | bit(dispatch),
      ...(isEnd ? { closed: true } : {}),
    }),
    answer: "done",
  };
}

/** Rule C3. Its message ID is `child#ID#n`. A parent that has ended takes no report. */
function deliver(state: State, family: Family, { run: index, dispatch, report }: Flying): Landed {
  const child = runAt(state, index);
  const parent = runAt(state, parentOf(family, index) ?? 0);
  if (report === null) throw new Error("a delivery has no report");
  const id = bit(isWithout(family, "report without its number") ? 1 : dispatch);
  if ((child.seen & id) !== 0) return { state, answer: "done" };
  if (parent.row !== "there" || parent.status !== "running") return { state, answer: "closed" };
  return { state: withRun(state, index, { seen: child.seen | id, inbox: [...child.inbox, report] }), answer: "done" };
}

/** The call of a worker reaches the service. A service that deduplicates knows the key. */
function act(state: State, family: Family, { run: index, dispatch }: Flying): Landed {
  const worker = runAt(state, index);
  const effect = family.effects[index];
  if (effect === "none") return { state, answer: "done" };
  const key = bit(isWithout(family, "the number in the key") ? dispatch : 0);
  const isKnown = (effect === "keyed" || effect === "idempotent") && (worker.keys & key) !== 0;
  return {
    state: withRun(state, index, { keys: worker.keys | key, effects: worker.effects + (isKnown ? 0 : 1) }),
    answer: "done",
  };
}

/** The terminal commit of a worker whose process was lost. It names the epoch. */
function end(state: State, _: Family, request: Flying): Landed {
  const { run: index, report } = request;
  const worker = runAt(state, index);
  if (report === null) throw new Error("an end has no report");
  if (!request.inEpoch || worker.status !== "running" || worker.cancel) return { state, answer: "refused" };
  const ended = withRun(state, index, { status: report.end, owner: "none", spent: report.spent });
  return {
    state: request.fenced ? { ...ended, wrong: "a fenced worker has committed its end" } : ended,
    answer: "done",
  };
}

/** The end of a run as it reports it. What its own children left unknown is in the list, too. */
export function reportOf(
  state: State,
  family: Family,
  index: number,
  as: { readonly spent: number; readonly end: End },
): Report {
  const { dispatch, call } = runAt(state, index);
  const isUnknown = childrenOf(family, index).some((at) => runAt(state, at).entry === "unknown");
  return { dispatch, ...as, unknown: call === "intended" || call === "asked" || isUnknown };
}
