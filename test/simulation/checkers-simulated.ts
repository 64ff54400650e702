/**
 * What must hold of a simulated history besides what holds of any: it ends in time once nothing more is done to it,
 * outside effects begin where they may, and what could not be read was never committed over.
 */
import { hasEnded } from "../../src/protocol/row.ts";
import { unexpectedErrorsIn, violationsOf } from "./checkers.ts";
import type { Simulated } from "./history.ts";
import { actedTooEarly } from "./clock-jumps.ts";
import { livenessMsOf, livenessStepsOf } from "./modes.ts";
import { wrongWithFeatures } from "./features/table.ts";
import { wrongWithSagas } from "./checkers-sagas.ts";
import type { Part } from "../../src/core/message.ts";
import { callsOf } from "./record.ts";
import { REFUSED_ROUNDS } from "./topologies.ts";
import { eventsOf, eventsOfKind, finalRow, replay } from "./replay.ts";

type Checker = (history: Simulated) => readonly string[];

const CHECKERS: Readonly<Record<string, Checker>> = {
  intendedFirst,
  releasedOnce,
  cancelStops,
  damageStops,
  endsForAReason,
  callsAccounted,
  deathsAreReal,
  gatesHold,
  roundsCount,
  oneBody,
  notTooEarly: actedTooEarly,
  sagas: wrongWithSagas,
  features: wrongWithFeatures,
};

/** Everything that is wrong with a history. */
export function wrongIn(history: Simulated): readonly string[] {
  const hangs = liveness(history);
  // Of a run that is not over little can be said.
  if (history.run === "" || hangs.length > 0) return [...hangs, ...unexpectedErrorsIn(history)];
  const { mayDouble } = history.plan.mode;
  try {
    const own = Object.entries(CHECKERS).flatMap(([name, check]) => check(history).map((what) => `${name}: ${what}`));
    return [...violationsOf(history, { mayDouble }), ...own];
  } catch (error) {
    // What is stored does not fit together: a pointer without its payload, a snapshot that does not follow.
    return [`replay: ${error instanceof Error ? error.message : String(error)}`, ...unexpectedErrorsIn(history)];
  }
}

/** From the last fault on a run comes to its end within a bound, by the true time and in steps. */
function liveness(history: Simulated): readonly string[] {
  const { calm, ended, plan, world, steps } = history;
  if (ended !== null) return [];
  const row = finalRow(history);
  const executions = [...world.chain.executions.values()].map(
    ({ name, state, stage, readyAt }) =>
      `${name.slice(-3)} ${state} ${stage}${readyAt === null ? "" : ` until ${readyAt}`}`,
  );
  const where =
    row === undefined
      ? "before there is a run"
      : `in phase ${row.phase} (${row.status}, chain ${row.chain}, epoch ${row.epoch}, version ${row.version})`;
  const within = `${livenessMsOf(plan)} ms and ${livenessStepsOf(plan)} steps`;
  const since = calm === null ? "" : `, ${steps - calm.step} steps after the last fault`;
  return [`liveness: it hangs ${where}${since}; it has ${within}; executions: ${executions.join(", ")}`];
}

/**
 * Order rule 1: the commit that releases a call is there before anything of the call leaves, in the same epoch. What acts
 * nowhere may come first, where the dial is on.
 */
function intendedFirst(history: Simulated): readonly string[] {
  const { commits } = replay(history);
  const keys = keysOf(history);
  const { isDialled } = history.plan;
  return history.outside.begun.flatMap(({ tool, key, epoch, order }) => {
    if (isDialled && tool === "look") return [];
    const release = commits.find(
      (commit) =>
        commit.epoch === epoch &&
        commit.events.some((event) => event.kind === "ToolInvoked" && keys.get(event.call) === key),
    );
    if (release === undefined) return [`${key} began in epoch ${epoch}, which never released it`];
    const stored = history.stored.find(({ row }) => row.version === release.version);
    return stored !== undefined && stored.order < order ? [] : [`${key} began before its release was committed`];
  });
}

/** A call that may not be repeated begins at most once for each time that it was released. */
function releasedOnce(history: Simulated): readonly string[] {
  const keys = keysOf(history);
  const releases = eventsOfKind(history, "ToolInvoked").map(({ call }) => keys.get(call));
  const careful = history.outside.begun.filter(({ tool }) => tool === "unsafe" || tool === "probed");
  return [...new Set(careful.map(({ key }) => key))].flatMap((key) => {
    const begun = careful.filter((each) => each.key === key).length;
    const released = releases.filter((each) => each === key).length;
    return begun <= released ? [] : [`${key} began ${begun} times and was released ${released} times`];
  });
}

const keysOf = (history: Simulated): ReadonlyMap<string, string> =>
  new Map(eventsOfKind(history, "ToolIntended").map(({ call, key }) => [call, key]));

/**
 * Whoever commits learns of a cancel, and begins nothing from there on. An overtaken one may not know; it is dead before
 * the run ends so.
 */
function cancelStops(history: Simulated): readonly string[] {
  const { stored, outside, plan } = history;
  const seen = stored.findIndex(({ row }, index) => row.cancel && row.version > (stored[index - 1]?.row.version ?? 0));
  const first = stored[seen];
  if (first === undefined) return [];
  const knowing = outside.begun.filter(
    ({ order, epoch, undoes }) => undoes === undefined && order > first.order && epoch >= first.row.epoch,
  );
  // A redriven run goes on after its end.
  const statusAt = (order: number) => stored.findLast((each) => each.order < order)?.row.status ?? "queued";
  const late = outside.begun.filter(
    ({ order }) => /^(cancelled|failed)$/.test(statusAt(order)) && !plan.mode.mayDouble,
  );
  return [
    ...knowing.map(({ key }) => `${key} began after the cancel was seen`),
    ...late.map(({ key }) => `${key} began after the run had ended`),
  ];
}

/**
 * Bytes that could not be verified: an alarm, and not one more commit of that invocation. An invocation that thaws after
 * its time has not heard the answer of its read. It releases the run, and its commit says which store was away.
 */
function damageStops({ record }: Simulated): readonly string[] {
  const commits = callsOf(record.calls, "table.commit").filter(
    ({ outcome, of: [commit] }) => outcome?.kind === "committed" && commit.storeOutage === null,
  );
  const damaged = callsOf(record.calls, "objects.get").filter(
    ({ fault }) => fault === "damaged" || fault === "missing",
  );
  return damaged.flatMap(({ task, order, of }) => {
    const over = commits.find((each) => task !== 0 && each.task === task && each.order > order);
    return over === undefined ? [] : [`task ${task} committed after it could not read ${of[0]}`];
  });
}

/**
 * A call that waits at a gate is released only after a decision that lets it run, and the decision that was accepted is
 * the one that counts, or the run says that it was ignored; only expiry decides without anybody.
 */
function gatesHold(history: Simulated): readonly string[] {
  const violations: string[] = [];
  const waiting = new Set<string>();
  const decided = new Map<string, { readonly as: string; readonly by: string }>();
  const ignored = new Set<string>();
  for (const event of eventsOf(history)) {
    if (event.kind === "DecisionIgnored") {
      if (ignored.has(event.gate)) violations.push(`${event.gate} is ignored twice`);
      ignored.add(event.gate);
    }
    if (event.kind === "ApprovalRequested") waiting.add(event.call);
    if (event.kind === "ToolInvoked" && waiting.has(event.call)) violations.push(`${event.call} passed its gate`);
    if (event.kind !== "HumanApprovalReceived") continue;
    waiting.delete(event.call);
    if (decided.has(event.gate)) violations.push(`${event.gate} is decided twice`);
    decided.set(event.gate, event.decision);
  }
  const accepted = history.decisions.filter(({ outcome }) => outcome === "accepted");
  for (const [index, { gate, as }] of accepted.entries()) {
    if (accepted.findIndex((other) => other.gate === gate) !== index) violations.push(`${gate} is accepted twice`);
    const counts = decided.get(gate);
    // What waited at a gate when its attempt failed is never begun, and its decision is said to be ignored (schedule 84).
    const isMissed = counts === undefined && !ignored.has(gate);
    if (isMissed || (counts !== undefined && counts.as !== as))
      violations.push(`${gate}: ${as} was accepted and does not count`);
  }
  for (const { gate, as } of history.decisions.filter(({ outcome }) => outcome === "noEffect")) {
    if (decided.get(gate)?.as === as && !accepted.some((other) => other.gate === gate))
      violations.push(`${gate}: ${as} counts, and its sender was told that it has no effect`);
  }
  return violations;
}

/**
 * Every model call that was paid for is in a debit: at what it cost, or as lost at an estimate. And none is debited that was
 * never made, but where an invocation was overtaken: it may have made one. A call that was given up may have been charged,
 * and so may a batch that failed after the run had lost it.
 */
function callsAccounted(history: Simulated): readonly string[] {
  const { paid, givenUp } = history;
  const { unaccountedModelCalls, takeovers } = finalRow(history);
  const accounted = accountedIn(history);
  return [
    ...(paid <= accounted ? [] : [`${paid} model calls were paid for, and ${accounted} are debited`]),
    ...(accounted <= paid + givenUp + failedUnread(history) + takeovers
      ? []
      : [`${accounted} model calls are debited, and ${paid} were paid for`]),
    ...(unaccountedModelCalls === 0
      ? []
      : [`its row ends with ${unaccountedModelCalls} model calls that no debit accounts for`]),
  ];
}

/** The batches that failed at their provider, and whose failure the run never read. Nobody was charged for them. */
function failedUnread(history: Simulated): number {
  const ended = eventsOfKind(history, "DetachedCallEnded");
  const read = new Set(ended.flatMap(({ how, key }) => (how === "failed" ? [key] : [])));
  return history.batches.filter(({ fails, key }) => fails && !read.has(key)).length;
}

function accountedIn(history: Simulated): number {
  const events = eventsOf(history);
  return events.reduce((sum, event, index) => {
    if (event.kind !== "BudgetDebited" || event.debit.tokensIn === undefined) return sum;
    const before = events[index - 1];
    const isEstimated = event.for === "lost model calls, estimated";
    return sum + (isEstimated && before?.kind === "ModelCallLost" ? before.calls : 1);
  }, 0);
}

/** A death is counted only where a process died that had the run: an outage never is. */
function deathsAreReal(history: Simulated): readonly string[] {
  const most = Math.max(...history.stored.map(({ row }) => row.deaths));
  const { deaths } = history.record;
  return most <= deaths ? [] : [`${most} deaths were counted, and ${deaths} processes died`];
}

/** A run fails for a reason that its script or its faults can give it, and for no other. */
const REASONS =
  /^(CrashLoop|Abandoned|BudgetExhausted|Runaway|Oscillation|EmptyReply|NotDone|OutcomeUnknown|GateFailed|CascadingPoison|StalePlan|PartialExecution|PlanInvalid|JudgeUnusable)$/;

function endsForAReason(history: Simulated): readonly string[] {
  const { failure } = replay(history).state;
  const violations = failure === null || REASONS.test(failure.code) ? [] : [`${failure.code}: ${failure.message}`];
  return hasEnded(finalRow(history)) ? violations : [...violations, "it is told and has not ended"];
}

/**
 * A boss whose hand-offs are refused counts each refused reply as one round, whoever has the run. Only the last reply before
 * an end or a restart may be left.
 */
function roundsCount(history: Simulated): readonly string[] {
  const moves = eventsOfKind(history, "TopologyMoved").filter(({ note }) => /: nothing was handed out/.test(note));
  const { messages } = replay(history).state;
  const refused = new Set(
    messages.flatMap(({ parts }) => parts.flatMap((part) => (isRefusedHand(part) ? [part.call] : []))),
  );
  const restarts = eventsOfKind(history, "RecoveryDecided").filter(({ action }) => action.kind === "restart").length;
  const left = refused.size - moves.length;
  const begun = moves.map(({ note }) => note);
  return [
    ...(left >= 0 && left <= 1 + restarts
      ? []
      : [`${moves.length} rounds are counted of ${refused.size} refused hand-offs`]),
    ...(restarts > 0 || new Set(begun).size === begun.length ? [] : [`a round is counted twice: ${begun.join("; ")}`]),
    ...(moves.length <= REFUSED_ROUNDS * (1 + restarts)
      ? []
      : [`${moves.length} rounds, and ${REFUSED_ROUNDS} are the most`]),
  ];
}

const isRefusedHand = (part: Part): part is Extract<Part, { readonly kind: "result" }> =>
  part.kind === "result" && part.tool === "hand";

/**
 * Schedule 204: whatever leaves under one key has one body, whichever process parsed its arguments, and so has what is
 * asked about it and what undoes it. A call without an effect may be made anew.
 */
function oneBody({ outside: { begun, probed } }: Simulated): readonly string[] {
  const bodies = new Map<string, number | undefined>();
  const wrong = (key: string, body: number | undefined): readonly string[] =>
    bodies.has(key) && bodies.get(key) !== body ? [`${key} left with ${bodies.get(key)}, and then with ${body}`] : [];
  const acted = begun.filter(({ tool }) => tool !== "look");
  const left = acted.flatMap(({ key, body, undoes }) => {
    const found = wrong(undoes ?? key, body);
    if (!bodies.has(key)) bodies.set(key, body);
    return found;
  });
  return [...left, ...probed.flatMap(({ key, body }) => wrong(key, body))];
}
