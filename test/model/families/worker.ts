/** What a worker does: it thinks, makes one call with an effect, and answers. It acts only while its process holds it. */
import { land, reportOf } from "./requests.ts";
import { type Family, type Run, type State, childrenOf, isLeftBehind, runAt, spentBy, withRun } from "./state.ts";
import { type Step, FLYING_MAX, lose, nameOf, request, send } from "./steps.ts";

export function* workerSteps(state: State, family: Family, index: number): Generator<Step> {
  const worker = runAt(state, index);
  if (worker.owner !== "live" || worker.status !== "running") return;
  yield* endings(state, family, index);
  if (worker.cancel || worker.deaths >= family.deathsMax) return;
  const name = nameOf(family, index);
  const isLeft = worker.spent < worker.grant;
  if (worker.call === "none" && isLeft) {
    const intended = { call: "intended", inEpoch: true, sent: false, spent: worker.spent + 1 } as const;
    yield { says: `${name} commits the intent of its call`, to: withRun(state, index, intended), isFault: false };
  }
  if (worker.call === "intended") yield* calls(state, family, index);
  if (worker.call === "known" && isLeft) {
    yield* answers(state, family, index, "completed");
    if (state.left.misfits > 0) yield* answers(state, family, index, "misfit");
  }
}

/** The call is out, or was out when the process before was lost: the table of effect classes. */
function* calls(state: State, family: Family, index: number): Generator<Step> {
  const worker = runAt(state, index);
  const effect = family.effects[index] ?? "none";
  const name = nameOf(family, index);
  const repeats = effect === "none" || effect === "keyed" || effect === "idempotent";
  if (!worker.sent && (worker.inEpoch || repeats || family.without === "an unsafe call is repeated")) {
    const sent = { says: `${name} calls the service`, holder: index };
    const of = request("act", index, { dispatch: worker.dispatch });
    yield* send(withRun(state, index, { sent: true }), family, { ...sent, request: of }, (landed) =>
      withRun(landed, index, { call: "known" }),
    );
    return;
  }
  if (worker.inEpoch || repeats) return;
  if (effect === "unsafe") {
    yield { says: `${name} asks a human about its call`, to: withRun(state, index, { call: "asked" }), isFault: false };
    return;
  }
  if (worker.settling && family.without !== "a probe before the settle time") return;
  const happened = (worker.keys & (family.without === "the number in the key" ? 1 << worker.dispatch : 1)) !== 0;
  yield happened
    ? { says: `${name} probes: it happened`, to: withRun(state, index, { call: "known" }), isFault: false }
    : { says: `${name} probes: absent`, to: withRun(state, index, { inEpoch: true, sent: false }), isFault: false };
}

/** Terminal commits. An end that is no answer waits for the settle time. */
function* endings(state: State, family: Family, index: number): Generator<Step> {
  const worker = runAt(state, index);
  const name = nameOf(family, index);
  const isLooping = worker.deaths >= family.deathsMax;
  const failed = { ...state.left, failures: state.left.failures - 1 };
  const mends = mayGoOn(worker, family);
  if (mends && state.left.failures > 0) {
    yield {
      says: `${name} goes on: its provider was away`,
      to: wentOn({ ...state, left: failed }, family, index),
      isFault: true,
    };
  }
  if (mends && isLooping && !worker.cancel) {
    yield { says: `${name} goes on: a crash loop`, to: wentOn(state, family, index), isFault: false };
    return;
  }
  if (worker.settling) return;
  const ends = (end: "failed" | "cancelled", why: string, isFault: boolean): Step => {
    const to = withRun(state, index, { status: end, owner: "none" });
    return { says: `${name} ends ${end}: ${why}`, to, isFault };
  };
  if (worker.cancel) yield ends("cancelled", "it was asked to stop", false);
  else if (isLooping) yield ends("failed", "a crash loop", false);
  else if (worker.spent >= worker.grant && (worker.call === "none" || worker.call === "known"))
    yield ends("failed", "its budget is used up", false);
  if (state.left.failures > 0 && !mends) {
    const end = ends("failed", "its provider is away", true);
    yield { ...end, to: { ...end.to, left: failed } };
  }
}

const placeOf = ({ spent, call }: Run): string => `${spent} ${call}`;

/** A worker that acted, has tries left, and stands elsewhere than when it went on the last time. */
const mayGoOn = (worker: Run, family: Family): boolean =>
  family.goesOn === true &&
  worker.call !== "none" &&
  worker.ownTries + 1 < family.tries &&
  (worker.stoodAt !== placeOf(worker) || family.without === "another try at the same place");

/** One commit in place of the end: call, keys, grant and cancel stay, and the deaths are forgotten. */
function wentOn(state: State, family: Family, index: number): State {
  const worker = runAt(state, index);
  const { without } = family;
  const isIdle = worker.stoodAt === placeOf(worker);
  return withRun(state, index, {
    ...{ ownTries: worker.ownTries + (without === "another try is not counted" ? 0 : 1), stoodAt: placeOf(worker) },
    ...{ deaths: 0, wentOn: worker.wentOn + 1, wentOnIdle: worker.wentOnIdle + (isIdle ? 1 : 0) },
    ...(without === "another try raises the grant" ? { grant: worker.grant + family.more } : {}),
    ...(without === "another try forgets a cancel" ? { cancel: false } : {}),
    ...(without === "another try forgets its call" ? { call: "none", inEpoch: false, sent: false } : {}),
  });
}

function* answers(state: State, family: Family, index: number, end: "completed" | "misfit"): Generator<Step> {
  const worker = runAt(state, index);
  const isFault = end === "misfit";
  const left = { ...state.left, misfits: state.left.misfits - (isFault ? 1 : 0) };
  const of = request("end", index, { report: reportOf(state, family, index, { spent: worker.spent + 1, end }) });
  const says = `${nameOf(family, index)} ends ${isFault ? "with an answer that does not fit" : "completed"}`;
  const { state: landed } = land(state, family, of);
  yield { says, to: { ...landed, left }, isFault };
  if (state.left.crashes === 0 || isFault || state.flying.length >= FLYING_MAX) return;
  yield {
    says: `its process freezes: ${says} (in flight)`,
    to: lose({ ...state, flying: [...state.flying, of] }, index),
    isFault: true,
  };
}

/** The end of a child reaches its parent. Its own process does it, or the sweeper; either may freeze. */
export function* deliveries(state: State, family: Family, index: number): Generator<Step> {
  const run = runAt(state, index);
  if (run.row !== "there" || run.status === "running" || run.closed) return;
  // Schedule 133: the end of a forced end is reported once nothing works below it.
  if (childrenOf(family, index).some((at) => isLeftBehind(state, family, at))) return;
  const report = reportOf(state, family, index, { spent: spentBy(state, family, index), end: run.status });
  const of = request("deliver", index, { dispatch: run.dispatch, report });
  const name = nameOf(family, index);
  const { state: landed, answer } = land(state, family, of);
  const closed = (from: State): State => land(from, family, request("close", index, { dispatch: run.dispatch })).state;
  if (answer === "closed") {
    yield { says: `the parent of ${name} has ended, so ${name} is closed at once`, to: closed(landed), isFault: false };
    return;
  }
  const selfCloses = family.without === "a child closes itself" || family.without === "reopen of a closed child";
  if (landed !== state || selfCloses) {
    const says = `${name} reports end ${run.dispatch}: ${run.status}`;
    yield { says, to: selfCloses ? closed(landed) : landed, isFault: false };
  }
  if (landed !== state && state.left.crashes > 0 && state.flying.length < FLYING_MAX) {
    const to = { ...state, flying: [...state.flying, of], left: { ...state.left, crashes: state.left.crashes - 1 } };
    yield { says: `the process that reports end ${run.dispatch} of ${name} freezes (in flight)`, to, isFault: true };
  }
}
