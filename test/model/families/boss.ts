/**
 * What a boss does. It decides in commits of its own state, and carries out what it owes afterwards, so a process that
 * takes over knows from the state alone what is left to do.
 */
import {
  type Family,
  type Run,
  type State,
  childrenOf,
  freeIn,
  isLeftBehind,
  parentOf,
  runAt,
  stands,
  withRun,
} from "./state.ts";
import { land } from "./requests.ts";
import { type Step, nameOf, request, send } from "./steps.ts";

export function* bossSteps(state: State, family: Family, index: number): Generator<Step> {
  const boss = runAt(state, index);
  if (boss.owner !== "live" || boss.status !== "running") return;
  if (boss.deaths >= family.deathsMax) {
    yield crashLoop(state, family, index);
    return;
  }
  for (const child of childrenOf(family, index)) {
    yield* absorbs(state, family, child);
    yield* carriesOut(state, family, index, child);
  }
  yield* boss.ending === "none" ? goesOn(state, family, index) : ends(state, family, index);
}

function* goesOn(state: State, family: Family, index: number): Generator<Step> {
  const boss = runAt(state, index);
  const name = nameOf(family, index);
  if (boss.cancel) {
    yield decidesEnd(state, family, index, { ending: "cancelled", isFault: false });
    return;
  }
  if (state.left.failures > 0) yield decidesEnd(state, family, index, { ending: "failed", isFault: true });
  for (const child of childrenOf(family, index)) {
    yield* dispatches(state, family, index, child);
    yield* judges(state, family, index, child);
    yield* isLate(state, family, index, child);
  }
  const children = childrenOf(family, index).map((child) => runAt(state, child));
  if (children.some((child) => child.entry === "none" || stands(child))) return;
  if (freeIn(state, family, index) < 1) {
    yield { says: `${name} ends failed: its budget is used up`, to: ended(state, index, "failed"), isFault: false };
    return;
  }
  const spent = boss.spent + 1;
  const answered = withRun(state, index, { spent });
  yield { says: `${name} ends completed`, to: ended(answered, index, "completed"), isFault: false };
  if (state.left.misfits > 0 && parentOf(family, index) !== null) {
    const left = { ...state.left, misfits: state.left.misfits - 1 };
    const to = { ...ended(answered, index, "misfit"), left };
    yield { says: `${name} ends with an answer that does not fit`, to, isFault: true };
  }
}

const ended = (state: State, index: number, status: Run["status"]): State =>
  withRun(state, index, { status, owner: "none" });

/** Rule C1: the decision, the entry and the reservation are one commit. */
function* dispatches(state: State, family: Family, index: number, child: number): Generator<Step> {
  const { entry, asked } = runAt(state, child);
  if (entry !== "none") return;
  const says = `${nameOf(family, index)} dispatches ${nameOf(family, child)}`;
  if (freeIn(state, family, index) < family.grant) {
    yield { says: `${says}: no budget`, to: withRun(state, child, { entry: "failed" }), isFault: false };
    return;
  }
  const out = { entry: "out", owed: "make", asked, reserved: family.grant } as const;
  yield { says, to: withRun(state, child, out), isFault: false };
}

/** Rule C4. A report counts if the entry waits for it, and what it debits is what was spent since the last report. */
function* absorbs(state: State, family: Family, index: number): Generator<Step> {
  const child = runAt(state, index);
  const [report, ...inbox] = child.inbox;
  if (report === undefined) return;
  const says = `the parent of ${nameOf(family, index)} absorbs report ${report.dispatch}: ${report.end}`;
  // The number that the entry asks for would not do: a child that ended before its fence landed reports the one before.
  const isNew =
    family.without === "only the number asked for counts"
      ? report.dispatch === child.asked
      : report.dispatch > child.heard;
  if (child.entry !== "out" || !(isNew || family.without === "report without its number")) {
    yield { says: `${says}, ignored`, to: withRun(state, index, { inbox }), isFault: false };
    return;
  }
  const counted = report.spent + (family.without === "each report debits everything" ? child.counted : 0);
  const owed = child.owed === "stop" || child.owed === "fence" ? "nothing" : child.owed;
  const change = { entry: "judged", owed, inbox, counted, report, heard: report.dispatch } as const;
  const isFreed = family.without === "an answer frees what is reserved";
  const to = withRun(state, index, {
    ...change,
    ...(isFreed ? { reserved: counted } : {}),
    ...(family.without === "a child is closed before it is judged"
      ? { closed: true, archives: 1 << report.dispatch }
      : {}),
  });
  const isLater = report.dispatch < child.dispatch;
  yield { says, to: isLater ? { ...to, wrong: "a report of an earlier number settles the call" } : to, isFault: false };
}

/** The answer is taken, or the same child is reopened, or the hand-off ends. */
function* judges(state: State, family: Family, index: number, at: number): Generator<Step> {
  const child = runAt(state, at);
  if (child.entry !== "judged" || child.report === null) return;
  const { report } = child;
  const name = nameOf(family, at);
  if (report.end === "completed") {
    yield { says: `the answer of ${name} is taken`, to: settled(state, at, "succeeded"), isFault: false };
    return;
  }
  const outcome = endOf(child);
  const isReopened = family.goesOn !== true;
  const mayReopen = isReopened && report.end !== "cancelled" && !child.stopped && child.asked < family.tries;
  // Who reads the answer is a model or a policy, so both are explored.
  yield { says: `the hand-off to ${name} is ${outcome}`, to: settled(state, at, outcome), isFault: false };
  if (!mayReopen) return;
  const asked = child.asked + 1;
  const reserved = rest(state, family, index, at);
  const says = `${nameOf(family, index)} decides to reopen ${name} as ${asked}`;
  if (family.without === "reopen before it is decided") {
    const of = request("reopen", at, { dispatch: asked, grant: reserved });
    const then = { entry: "out", asked, reserved } as const;
    yield* send(state, family, { says, holder: index, request: of }, (landed) => withRun(landed, at, then));
    return;
  }
  yield { says, to: withRun(state, at, { entry: "out", owed: "reopen", asked, reserved }), isFault: false };
}

/** Rule R: what is left of the grant stays reserved, and more is added only if it is free. */
function rest(state: State, family: Family, index: number, at: number): number {
  const { reserved } = runAt(state, at);
  if (family.without === "an answer frees what is reserved") return family.grant;
  const isFree = freeIn(state, family, index) >= family.more || family.without === "more than is free";
  return reserved + (isFree ? family.more : 0);
}

/** How the call ends if no answer is taken: by the last report, which stays until a further one replaces it. */
const endOf = ({ report }: Run, family?: Family): "failed" | "unknown" =>
  report?.unknown === true && family?.without !== "a reopen forgets what was reported" ? "unknown" : "failed";

const settled = (state: State, at: number, entry: "succeeded" | "failed" | "unknown"): State =>
  withRun(state, at, { entry, owed: "close" });

/** Rule C7: the child is late. It is fenced and goes on, or is asked to stop once its tries are used up. */
function* isLate(state: State, family: Family, index: number, at: number): Generator<Step> {
  const child = runAt(state, at);
  if (child.entry !== "out" || child.owed !== "nothing" || child.stopped || child.inbox.length > 0) return;
  const name = nameOf(family, at);
  const asked = child.asked + 1;
  const fencesLeft = child.fencesLeft + 1;
  if (child.asked + child.ownTries >= family.tries) {
    const to = withRun(state, at, { owed: "stop", stopped: true, asked, fencesLeft });
    yield { says: `${name} is late, and its tries are used up: it is to stop, as ${asked}`, to, isFault: true };
    return;
  }
  const reserved = rest(state, family, index, at);
  const to = withRun(state, at, { owed: "fence", asked, reserved, fencesLeft });
  yield { says: `${name} is late: ${nameOf(family, index)} decides to fence it as ${asked}`, to, isFault: true };
}

/** What the state of the boss owes to a child, by requests that can be repeated. */
function* carriesOut(state: State, family: Family, holder: number, at: number): Generator<Step> {
  const child = runAt(state, at);
  const { owed, asked, reserved } = child;
  if (owed === "nothing") return;
  // An end reads what became of a dispatch before it asks the child to stop.
  const isEnding = runAt(state, holder).ending !== "none";
  if (isEnding && (owed === "make" || owed === "fence" || owed === "reopen")) {
    yield resolves(state, family, at);
    return;
  }
  const number = owed === "close" ? child.dispatch : asked;
  const of = request(owed, at, { dispatch: number, grant: reserved });
  const says = `${nameOf(family, holder)} sends ${owed}${owed === "fence" || owed === "reopen" ? ` ${number}` : ""} of ${nameOf(family, at)}`;
  yield* send(state, family, { says, holder, request: of }, (landed, answer) => {
    if (answer === "refused") return null;
    // It has ended: its report is in the inbox, or will be.
    if (owed === "fence" && answer === "ended") return null;
    if (owed === "reopen" && answer === "closed") return settled(landed, at, endOf(child, family));
    return withRun(landed, at, { owed: "nothing" });
  });
}

/**
 * Rule C5, of a dispatch that was decided and perhaps not carried out. The rows say what became of it, and cannot change
 * afterwards: requests of older epochs are refused, and this epoch sends no more.
 */
function resolves(state: State, family: Family, at: number): Step {
  const child = runAt(state, at);
  const name = nameOf(family, at);
  if (child.owed === "make" && child.row === "absent") {
    const to = withRun(state, at, { entry: "failed", owed: "nothing" });
    return { says: `${name} was never made`, to, isFault: false };
  }
  const isReopened = child.dispatch >= child.asked && family.without !== "an end takes a reopened child for ended";
  if (child.owed === "reopen" && !isReopened) {
    return { says: `${name} was not reopened`, to: settled(state, at, endOf(child, family)), isFault: false };
  }
  return { says: `${name} is to stop`, to: withRun(state, at, { owed: "stop", stopped: true }), isFault: false };
}

function decidesEnd(
  state: State,
  family: Family,
  index: number,
  { ending, isFault }: { readonly ending: "failed" | "cancelled"; readonly isFault: boolean },
): Step {
  const left = { ...state.left, failures: state.left.failures - (ending === "failed" ? 1 : 0) };
  return {
    says: `${nameOf(family, index)} decides to end ${ending}`,
    to: { ...withRun(state, index, { ending }), left },
    isFault,
  };
}

/** Rule C5: each child is asked to stop, all reports are absorbed, then the end is committed. */
function* ends(state: State, family: Family, index: number): Generator<Step> {
  const { ending } = runAt(state, index);
  for (const at of childrenOf(family, index)) {
    const child = runAt(state, at);
    const name = nameOf(family, at);
    if (child.entry === "out" && child.owed === "nothing" && !child.stopped) {
      const to = withRun(state, at, { owed: "stop", stopped: true });
      yield { says: `${name} is to stop`, to, isFault: false };
    }
    if (child.entry === "judged") {
      yield { says: `the call of ${name} is settled by the end`, to: settled(state, at, endOf(child)), isFault: false };
    }
  }
  if (ending === "none" || childrenOf(family, index).some((at) => stands(runAt(state, at)))) return;
  yield { says: `${nameOf(family, index)} ends ${ending}`, to: ended(state, index, ending), isFault: false };
}

/** Rule C6: a forced end waits for no child. What is reserved counts as spent. */
function crashLoop(state: State, family: Family, index: number): Step {
  const charged = childrenOf(family, index).reduce((next, at) => {
    const child = runAt(next, at);
    return stands(child) ? withRun(next, at, { counted: child.reserved }) : next;
  }, state);
  const to = withRun(ended(charged, index, "failed"), index, { forced: true });
  return { says: `${nameOf(family, index)} ends in a crash loop`, to, isFault: false };
}

/** Delivering the end of a boss: its own process does it, or the sweeper. */
export function* notifies(state: State, family: Family, index: number): Generator<Step> {
  const boss = runAt(state, index);
  if (boss.status === "running" || boss.closed) return;
  const behind = childrenOf(family, index).filter((at) => isLeftBehind(state, family, at));
  for (const at of behind) {
    const child = runAt(state, at);
    if (child.status === "running" && !child.cancel) {
      const { state: to } = land(state, family, request("stop", at));
      yield { says: `${nameOf(family, at)} is left behind, and asked to stop`, to, isFault: false };
    }
    const isOver = child.status !== "running" && family.without !== "a forced end closes no child";
    if (isOver && !childrenOf(family, at).some((below) => isLeftBehind(state, family, below))) {
      const { state: to } = land(state, family, request("close", at, { dispatch: child.dispatch }));
      yield { says: `${nameOf(family, at)} is left behind, and closed`, to, isFault: false };
    }
  }
  if (behind.length > 0 || parentOf(family, index) !== null) return;
  const to = withRun(state, index, { closed: true });
  yield { says: `the end of ${nameOf(family, index)} is delivered`, to, isFault: false };
}
