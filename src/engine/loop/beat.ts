/**
 * One invocation: claim the run, load its committed state, run the due commands of one beat or more, commit, release, and
 * answer the chain with what is next. One that finds a run in the middle of a beat takes the same steps: there is no
 * recovery mode.
 */
import { waitsForChildren } from "../../core/policy/ending.ts";
import type { Command } from "../../core/commands.ts";
import { Unreadable } from "../../codec/canonical.ts";
import { RowNewer } from "../../codec/row.ts";
import { bounded } from "../../codec/value.ts";
import { StateTooLarge } from "../../codec/snapshot.ts";
import type { Attempt, Payload, TaskResult } from "../../protocol/chain.ts";
import { TIMES } from "../../protocol/limits.ts";
import { waitsForCode } from "../../core/outstanding.ts";
import { LEVEL } from "../../core/levels.ts";
import { PHASES } from "../../core/phases.ts";
import { decideRecovery, forceEnd, tooManyDeaths } from "../../core/policy/recovery.ts";
import { wakesFromOutside, waitsForChild } from "../../core/calls/held-calls.ts";
import { statusOf } from "../../core/calls/open-calls.ts";
import { type Row, hasEnded } from "../../protocol/row.ts";
import { type ClaimOutcome, CLAIM } from "../../protocol/row-claim.ts";
import type { Invocation } from "../../ports/tasks.ts";
import { StoreUnreachable, type World } from "../../ports/world.ts";
import { ActiveRun } from "../context/active-run.ts";
import { Fenced } from "../context/fenced.ts";
import { recordRedrive } from "../../features/redrive/record-redrive.ts";
import { alarm } from "../../history/alarm.ts";
import { noteChangedIntrinsic } from "./changed-intrinsic.ts";
import { reopenGates } from "../tools/lost-time.ts";
import { waitsForNewer } from "./behind.ts";
import { resolveAmbiguousWrite, patient } from "../../history/resolve-ambiguous-write.ts";
import { expire, hasNews, isTooLate, warnIfDue } from "./idle.ts";
import { endExecution } from "./park.ts";
import { notifyEnd } from "./terminal-commit.ts";
import { signalCrack } from "../context/signal-crack.ts";
import { noteClaim } from "../context/telemetry-events.ts";
import { traceOf } from "../context/trace.ts";
import { openInbox } from "../context/inbox.ts";
import { StoreTime } from "../context/store-time.ts";
import { type Answered, type LetGo, answer, nextLook, payloadOf, routeAfter } from "./next-look.ts";
import { releaseRun, releaseUnloaded } from "./release.ts";
import { loadVouched } from "../../history/vouch.ts";
import { retryIsSooner } from "../model/provider-outage.ts";
import { learnSecrets } from "../../history/secrets.ts";
import type { Next } from "../context/next.ts";
import type { Runner } from "../context/runner.ts";
import { askInTime } from "../tools/ask-in-time.ts";
import { postponeUnbegun } from "../tools/postpone.ts";
import { takeMessage } from "../../features/waits/engine.ts";
import { step } from "./step.ts";

/** The reply of an invocation. `exit`: its process has to end after the reply. */
export type BeatResult = Extract<TaskResult, { readonly kind: "beat" | "exit" }>;

/**
 * Runs one invocation for the run that the payload names. Unexpected errors are thrown, so that the chain retries the
 * entry.
 */
export async function beat(
  runner: Runner,
  task: { readonly payload: Payload; readonly attempt: Attempt },
  asked: Invocation,
): Promise<BeatResult> {
  const time = new StoreTime(runner.world, asked);
  const invocation = heldBy(asked, time);
  const { world } = time;
  const { payload } = task;
  world.intrinsics?.check();
  const since = world.clock.now();
  const claimed = await claim({ ...runner, world }, task, invocation);
  world.intrinsics?.check();
  switch (claimed.kind) {
    case "missing":
      return answer(payload, "superseded");
    case "superseded":
      return superseded(payload, claimed.row);
    case "unreadable":
      return unreadable(world, payload, claimed.why);
    case "newer":
      return waitsForNewer(world, payload, claimed);
    case "terminal":
      return ended(world, payload, claimed.row);
    case "granted":
      noteClaim(world, claimed);
  }
  const { intrinsics } = world;
  const leave = intrinsics?.enter({ run: claimed.row.run, epoch: claimed.row.epoch, tool: null });
  const trace = traceOf(world, claimed, since);
  let run: ActiveRun | null = null;
  try {
    const loaded = await loadVouched(world, claimed.row, runner.segments, runner.level);
    const { segments, commits } = runner;
    run = new ActiveRun({ world, invocation, loaded, segments, commits, since, trace });
    const { noticed } = run;
    time.mayHoldOn = () => !noticed.mayAct;
    time.onHeldOn = () => noticed.noteHeldOn();
    // Without the secrets a run can still end and absorb reconciliations. They are read again before the agent runs.
    await learnSecrets(world).catch(() => undefined);
    recordRedrive(run);
    if (claimed.overtook !== null) recordTakeover(run, claimed.overtook, task.attempt);
    return await drive({ ...runner, agentOf: inTime(run, runner.agentOf) }, run, task.attempt);
  } catch (error) {
    trace?.stopped(error);
    // What cannot be read or decided with a broken function says nothing about the run (schedule 227).
    intrinsics?.check();
    const lost = await lostTo(error, { time, payload, row: claimed.row, run }).catch((thrown: unknown) => {
      if (run !== null && run.noticed.outlived !== "no") invocation.mustEnd?.();
      throw thrown;
    });
    // An invocation that lost the run may also hold a promise that outlived its timeout.
    return run === null ? lost : mayEnd(run, lost);
  } finally {
    time.mayHoldOn = () => false;
    leave?.();
    trace?.ended({ at: world.clock.now(), version: (run?.row ?? claimed.row).version });
  }
}

/** While its commit waits for a held store, the calls of the invocation get time beyond its deadline. */
const heldBy = (invocation: Invocation, time: StoreTime): Invocation =>
  invocation.holdOn === undefined
    ? invocation
    : {
        ...invocation,
        holdOn: (why) => time.holdOn(why),
      };

/**
 * Loads agents within the time of the invocation. A module that is still loading then is left to this process, which
 * ends: the next one finds its file as it is by then (schedule 243).
 */
function inTime(run: ActiveRun, agentOf: Runner["agentOf"]): Runner["agentOf"] {
  return async (name) => {
    const said = await askInTime(run, { what: `the module of agent ${name}` }, () => agentOf(name));
    if (said.kind === "said") return said.value;
    if (said.kind === "threw") throw said.error;
    run.noticed.noteOutlived("code");
    const why = `its module is still loading: ${said.why}; look for an await at its top level`;
    return { kind: "absent", why, isBroken: true, isLate: true };
  };
}

/**
 * What an invocation replies after an error that stops it. A store outage ends no run: the run is released, and its
 * chain waits. Any other error is rethrown. A store outage is rethrown too if the table does not answer either. Then
 * the row keeps its owner, and the chain retries the entry.
 */
async function lostTo(
  error: unknown,
  {
    time,
    payload,
    row,
    run,
  }: { readonly time: StoreTime; readonly payload: Payload; readonly row: Row; readonly run: ActiveRun | null },
): Promise<Answered> {
  const { world } = time;
  if (error instanceof Fenced) return fenced(world, payload);
  if (error instanceof RowNewer) return waitsForNewer(world, { ...payload, agent: row.agent }, error.refused);
  if (error instanceof Unreadable) return unreadable(world, payload, `${error.code}: ${error.message}`);
  // A committed end only needs its notification to be delivered again.
  if (!(error instanceof StoreUnreachable) || hasEnded(run?.row ?? row)) throw error;
  time.beginRelease();
  try {
    return waits(world, await (run === null ? releaseUnloaded(world, row, error) : releaseRun(run, error)));
  } catch (refused) {
    if (refused instanceof Fenced) return fenced(world, payload);
    throw refused;
  }
}

/**
 * The reply after a release in a store outage. A chain that waits cannot be woken, so a wait is short. A run with an
 * unread message does not park, because it would be woken at once.
 */
function waits({ clock }: World, row: Row): Answered {
  const seconds = Math.max(1, Math.ceil(((row.wakeAt ?? 0) - clock.now()) / 1_000));
  const mayPark = seconds > TIMES.waitSecondsMax && row.wakeCount === row.wakeCountSeen;
  if (mayPark) return answer(payloadOf(row), "park", seconds);
  return answer(payloadOf(row), "wait", Math.min(seconds, TIMES.waitSecondsMax));
}

/** Claims the run by the payload's epoch, or as a retry of the same entry. A resent claim recognises its `owner`. */
function claim(
  { world, level = LEVEL }: Runner,
  { payload, attempt }: { payload: Payload; attempt: Attempt },
  invocation: Invocation,
): Promise<ClaimOutcome> {
  const owner = world.random.hex().slice(0, 16);
  const leaseUntil = invocation.deadline + world.limits.skewMs;
  const { run, born, chain } = payload;
  const { died = null, changed: _, ...entry } = attempt;
  const { clock, random, limits, table } = world;
  return resolveAmbiguousWrite<ClaimOutcome>(
    () => table.decide({ run, born, chain, entry, died, owner, leaseUntil, level, now: clock.now() }, CLAIM),
    (row) => (row.owner === owner ? { kind: "granted", row, overtook: null } : null),
    patient({ clock, random, until: invocation.deadline - limits.drainMs }),
  );
}

/**
 * Runs the due commands one at a time, until the run has ended or this invocation has to release it. `cause` says how
 * the last process that is known to have died ended, and `changed` what code of the run changed in one.
 */
async function drive(
  runner: Runner,
  run: ActiveRun,
  { cause, changed = null }: Pick<Attempt, "cause" | "changed">,
): Promise<BeatResult> {
  const { deaths } = run.row;
  // This includes a run that compensates: an undo that kills its process would do so each time.
  if (deaths > run.state.takeoversMax) {
    const trouble = tooManyDeaths("CrashLoop", { deaths, max: run.state.takeoversMax, cause: cause ?? null });
    const forced = forceEnd(run.state, trouble, run.now);
    if (forced !== null) run.record(forced);
    // Schedule 208: code of the agent that kills its process each time would never use up a try that is not durable.
    if (forced?.action.kind === "tryAgain") await run.commitPending();
  }
  if (changed !== null) await noteChangedIntrinsic(run, changed);
  // Whether a message or a resume has come since the last invocation. Read before any commit, because a commit clears it.
  let isWoken = run.committed.wasWoken;
  await openInbox(run);
  for (;;) {
    reopenGates(run);
    const owed = run.owed();
    const [command] = owed.flatMap((each) => withoutPostponed(run, each));
    if (command === undefined) {
      if (owed.length > 0) return release(run, { kind: "beat" });
      return mayEnd(run, await ended(run.world, payloadOf(run.row), run.row));
    }
    if (command.kind === "wait") {
      if (takeMessage(run)) continue;
      if (!isWoken || !retryIsSooner(run)) return release(run, { kind: "wait", until: command.until });
      isWoken = false;
      continue;
    }
    if (command.kind === "awaitAnswer") {
      const warning = warnIfDue(run);
      if (warning !== null || !isTooLate(run)) return release(run, { ...command, kind: "park", warning });
      if ((await expire(run)) === "woken") return release(run, { kind: "beat" });
      continue;
    }
    // An end may have more messages to absorb than one invocation can. The next invocations continue it.
    if (command.kind === "end" && run.leftMs <= 0 && run.moved) return release(run, { kind: "beat" });
    const outcome: Next = await guarded(run, () => step(runner, run, command));
    const { next, until } = typeof outcome === "string" ? { next: outcome } : outcome;
    if (next === "release") return release(run, until === undefined ? { kind: "beat" } : { kind: "wait", until });
  }
}

/** What this invocation postponed is for another one. */
function withoutPostponed({ noticed }: ActiveRun, command: Command): readonly Command[] {
  if (command.kind !== "intend") return [command];
  const calls = command.calls.filter((call) => !noticed.knows("postponed", call));
  return calls.length === 0 ? [] : [{ ...command, calls }];
}

/** Runs the work. If the state grew beyond its bound, nothing was written, and the run fails with that error. */
async function guarded<T>(run: ActiveRun, work: () => Promise<T>): Promise<T | "continue"> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StateTooLarge)) throw error;
    run.rewind("the state grew too large for it");
    const failure = { code: error.code, message: error.message };
    run.record(decideRecovery(run.state, { kind: "agent", failure }, run.now));
    return "continue";
  }
}

/** Commits what is pending, releases the run, and tells the chain what to do next. */
async function release(run: ActiveRun, how: LetGo): Promise<BeatResult> {
  postponeUnbegun(run, "the beat ended before it was started");
  const mustLook = waitsForCode(run.state) || run.seen.cannotAskChild;
  const { row, state, now } = run;
  const { limits } = run.world;
  const { deadline, until, wakeAt, nextChain } = nextLook({
    how,
    now,
    mustLook,
    hasNews: hasNews(run),
    statusSince: row.status === statusOf(state) ? row.statusSince : null,
    waitsUntil: run.committed.claimed.deadline,
    warnedOf: state.warnedOf ?? null,
    chainClaims: row.chainClaims,
    limits,
  });
  const outcome = await guarded(run, () => run.commit({ release: true, wakeAt, deadline, nextChain }));
  if (outcome === "continue") await run.commit({ release: true, nextChain });
  const { kind, seconds } = routeAfter({
    how: outcome === "continue" ? "beat" : how.kind,
    nextChain,
    now: run.now,
    until,
    canBeWoken: mustLook || waitsForChildren(run.state) || wakesFromOutside(run.state),
    openParkMs: limits.openParkMs,
  });
  const route = kind === "end" ? await endExecution(run.world, run.row) : kind;
  return mayEnd(run, answer(payloadOf(run.row), route, seconds));
}

/** Ends the process if a promise outlived its timeout: it must not continue in a later invocation (schedule 28). */
const mayEnd = (run: ActiveRun, { reply }: Answered): BeatResult =>
  run.noticed.outlived === "no" ? { kind: "beat", reply } : { kind: "exit", reply };

function recordTakeover(run: ActiveRun, from: string, { cause }: Pick<Attempt, "cause">): void {
  const { takeovers, epoch } = run.row;
  run.noticed.noteTakeover();
  const action = { kind: "takeover", from, takeovers } as const;
  const end = cause === undefined ? "" : `; the last process that is known to have died: ${cause}`;
  const why = bounded(`the invocation before this one (${from}) never released the run; epoch ${epoch} goes on${end}`);
  run.record({ kind: "RecoveryDecided", at: run.now, rule: "takeover", why, action });
  const out = run.state.open.filter(waitsForChild).length;
  if (out === 0) return;
  // Their reports wait in the inbox, and their entries are in the state: nothing is dispatched again.
  signalCrack(run, "bossDeath", `${from} died while ${out} child runs were out; epoch ${epoch} goes on with them`);
}

/**
 * Schedule 9: the commit that moved the run to the next execution landed, its answer was lost, and this is the retry.
 * The next execution may never have been started, so it is started here. Starting it twice is harmless.
 */
function superseded(payload: Payload, row: Row): Answered {
  return row.chain === payload.chain + 1 ? answer(payloadOf(row), "renew") : answer(payload, "superseded");
}

/**
 * Schedule 92: what fenced this invocation may be its own commit, which moved the run to the next execution and whose
 * answer was lost. Throws `StoreUnreachable`: then the chain retries the entry, and its claim finds that out.
 */
async function fenced(world: World, payload: Payload): Promise<Answered> {
  const row = await world.table.read(payload.run, world.clock.now()).catch((error: unknown) => {
    if (error instanceof StoreUnreachable) throw error;
    return null;
  });
  return row?.born === payload.born ? superseded(payload, row) : answer(payload, "superseded");
}

/** Delivers the end of the run if it is not delivered yet, and replies with the route of an ended run. */
async function ended(world: World, payload: Payload, row: Row): Promise<Answered> {
  await notifyEnd(world, row);
  return answer(payload, PHASES[row.phase].ends ?? "done");
}

function unreadable(world: World, payload: Payload, why: string): Answered {
  alarm(world, payload.run, { what: "Unreadable", why });
  return answer(payload, "superseded");
}
