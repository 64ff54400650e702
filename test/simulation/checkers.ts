/**
 * What must hold of any history, apart from the product. Each checker returns the violations that it finds, in words.
 * What can only be said of a simulated history is in `checkers-simulated.ts`.
 */
import { canonical } from "../../src/codec/canonical.ts";
import type { Action, Event } from "../../src/core/event.ts";
import { NOTHING_SPENT, add } from "../../src/core/policy/budget.ts";
import { reconcileId } from "../../src/protocol/ids.ts";
import { type Row, hasEnded } from "../../src/protocol/row.ts";
import { wrongWithArchive } from "./archives.ts";
import type { History } from "./history.ts";
import { isRedrive } from "./redrives.ts";
import { eventsOf, eventsOfKind, finalRow, replay } from "./replay.ts";

/** Where clocks are off by more than the margin, probed calls and answers of people may double. */
export interface Allowances {
  readonly mayDouble: boolean;
}

type Checker = (history: History, leave: Allowances) => readonly string[];

const CHECKERS: Readonly<Record<string, Checker>> = {
  ends,
  noMistakes: unexpectedErrorsIn,
  epochsRise,
  versionsRise,
  nothingFalls: phasesThatFell,
  oneEnd,
  redrivesRecorded,
  oneHistory,
  snapshotsFold,
  keyedOnce,
  unsafeOncePerPermission,
  recordedHappened,
  agreedIsMade,
  spentIsSumOfDebits,
  repliesDebited,
  summariesDebited,
  messagesOnce,
  wordsAnswered,
  cancelled,
  keyKept,
  archivedWhole: wrongWithArchive,
};

export function violationsOf(history: History, leave: Allowances = { mayDouble: false }): readonly string[] {
  return Object.entries(CHECKERS).flatMap(([name, check]) => check(history, leave).map((what) => `${name}: ${what}`));
}

function ends(history: History): readonly string[] {
  const row = finalRow(history);
  return row.endNotified
    ? []
    : [`after ${history.steps} steps the run is ${row.status} in ${row.phase}, epoch ${row.epoch}`];
}

/** What nobody expects, of our code or of this one. */
export function unexpectedErrorsIn({ reached }: Pick<History, "reached">): readonly string[] {
  return [...reached].filter((each) => each.startsWith("mistake"));
}

/** What holds between each row and the one before it. */
const between = (judge: (before: Row, row: Row) => string | null): Checker => {
  return ({ rows }) =>
    rows.flatMap((row, index) => {
      const before = rows[index - 1];
      return before === undefined ? [] : (judge(before, row) ?? []);
    });
};

function epochsRise(history: History, leave: Allowances): readonly string[] {
  const judge = between((before, row) =>
    row.epoch < before.epoch ? `epoch ${before.epoch} became ${row.epoch}` : null,
  );
  return judge(history, leave);
}

/** Each commit adds exactly one, under the epoch that the row had. */
function versionsRise(history: History, leave: Allowances): readonly string[] {
  const judge = between((before, row) => {
    if (row.version === before.version) return null;
    // The last commit of an execution moves the run on to the next epoch.
    const isNext = row.version === before.version + 1 && row.epoch === before.epoch + (row.chain - before.chain);
    return isNext ? null : `version ${before.version} of epoch ${before.epoch} became ${row.version} of ${row.epoch}`;
  });
  return judge(history, leave);
}

/** Counters and bounds that nothing may lower, and an end that nothing may change. */
function phasesThatFell(history: History, leave: Allowances): readonly string[] {
  const judge = between((before, row) => {
    const falling = (["effectsSettleAt", "takeovers", "wakeCount", "chain", "version"] as const).find(
      (meter) => row[meter] < before[meter],
    );
    if (falling !== undefined) return `${falling} ${before[falling]} became ${row[falling]}`;
    // The one way out of an end.
    if (!hasEnded(before) || isRedrive(before, row)) return null;
    const { endNotified: _, expiresAtSec: __, ...was } = before;
    const { endNotified: ___, expiresAtSec: ____, ...is } = row;
    return canonical(was) === canonical(is) ? null : `a run that had ended changed in epoch ${row.epoch}`;
  });
  return judge(history, leave);
}

/** Schedule 81: from when a row may go on its key is kept. Schedule 83: what is kept tells of the end that was committed. */
function keyKept(history: History): readonly string[] {
  const without = history.keyless.map(({ run }) => `the row of ${run} could go while its key was not kept`);
  const { run, born, status, endNotified } = finalRow(history);
  const kept = history.world.store.tombstones.get(run);
  const isRight = kept?.born === born && kept.status === status;
  return endNotified && !isRight
    ? [...without, `the run is ${status}, and its tombstone says ${kept?.status}`]
    : without;
}

/** One, and another one for each redrive. */
function oneEnd({ rows }: History): readonly string[] {
  const ends = new Set(rows.filter(hasEnded).map(({ version }) => version)).size;
  const redrives = rows.filter((row, index) => isRedrive(rows[index - 1] ?? row, row)).length;
  return ends > 1 + redrives ? [`the run ended ${ends} times, and was redriven ${redrives} times`] : [];
}

/** Each redrive is recorded once, by the next commit, with its note. */
function redrivesRecorded(history: History): readonly string[] {
  const { rows } = history;
  const wanted = rows.flatMap((row, index) =>
    isRedrive(rows[index - 1] ?? row, row) ? [`${row.redrive?.id} ${row.redrive?.why}`] : [],
  );
  const recorded = eventsOfKind(history, "RunRedriven").map(({ id, why }) => `${id} ${why}`);
  return recorded.join() === wanted.join()
    ? []
    : [`${wanted.join() || "nothing"} was wanted, ${recorded.join()} is told`];
}

/** Whatever is in the history was committed by the one who held the run, in the order of its versions. */
function oneHistory(history: History): readonly string[] {
  const epochs = new Map<number, number>();
  let chain = 1;
  for (const row of history.rows) {
    // The commit that moves the run to its next execution leaves the epoch behind that it was made in.
    if (!epochs.has(row.version)) epochs.set(row.version, row.epoch - (row.chain - chain));
    chain = row.chain;
  }
  return replay(history).commits.flatMap(({ version, epoch }, index, commits) => {
    const follows = version > (commits[index - 1]?.version ?? 0);
    if (!follows) return [`version ${version} follows ${commits[index - 1]?.version}`];
    return epochs.get(version) === epoch
      ? []
      : [`version ${version} says epoch ${epoch}, its row ${epochs.get(version)}`];
  });
}

function snapshotsFold(history: History): readonly string[] {
  return replay(history).violations;
}

/** Every message that was acknowledged is absorbed exactly once, and heard exactly once; answers as well as words. */
function messagesOnce(history: History): readonly string[] {
  const sent = history.steered.filter(({ what }) => what === "send");
  const isKept = ({ outcome }: { readonly outcome: string }): boolean =>
    outcome === "delivered" || outcome === "duplicate";
  const acknowledged = new Set(sent.filter(isKept).map(({ id }) => `user#${id}`));
  const taken = eventsOfKind(history, "MessageAbsorbed").flatMap((event) =>
    event.stage === "taken" ? [event.message] : [],
  );
  const heard = replay(history).state.messages.filter(({ source }) => source === "user:operator");
  const words = taken.filter((id) => id.startsWith("user#"));
  const doubled = taken.filter((id, index) => taken.indexOf(id) !== index).map((id) => `${id} was absorbed twice`);
  const lost = [...acknowledged].filter((id) => !taken.includes(id)).map((id) => `${id} was never absorbed`);
  const made = words.filter((id) => !sent.some((each) => `user#${each.id}` === id)).map((id) => `nobody sent ${id}`);
  const wrong = heard.length === words.length ? [] : [`${words.length} messages absorbed, ${heard.length} heard`];
  const answers = history.answers
    .filter(({ outcome, question }) => outcome === "accepted" && !taken.includes(reconcileId(...question)))
    .map(({ key }) => `an accepted answer about ${key} was never absorbed`);
  return [...doubled, ...lost, ...made, ...wrong, ...answers];
}

/** A run does not complete over words that its model did not hear. */
function wordsAnswered(history: History): readonly string[] {
  const { phase, messages } = replay(history).state;
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const unheard = messages.slice(last + 1).filter(({ source }) => source.startsWith("user:"));
  return phase === "Completed" ? unheard.map(({ id }) => `the model never heard ${id}`) : [];
}

/** A cancel that was acknowledged ends the run, and nothing is released after the commit that saw it. */
function cancelled(history: History): readonly string[] {
  const { commits, state } = replay(history);
  const isAsked = history.steered.some(({ what, outcome }) =>
    what === "undo" ? /^(accepted|duplicate)$/.test(outcome) : what === "cancel" && outcome === "requested",
  );
  const violations =
    isAsked && state.phase !== "Cancelled" && state.phase !== "Failed"
      ? [`cancelled, and the run is ${state.phase}`]
      : [];
  const seen = commits.find(({ events }) =>
    events.some((event) => event.kind === "RecoveryDecided" && event.action.kind === "cancel"),
  );
  if (seen === undefined) return violations;
  const later = commits.filter(({ version }) => version > seen.version).flatMap(({ events }) => events);
  // What was done is undone where somebody asked for that, and nothing else is released.
  const mayUndo = state.compensate?.next === "cancel";
  const released = later.some((event) => event.kind === "ToolInvoked" && !(mayUndo && event.call.startsWith("undo-")));
  return released ? [...violations, "a call was released after the cancel was seen"] : violations;
}

function keyedOnce({ outside }: History, { mayDouble }: Allowances): readonly string[] {
  const once = mayDouble ? ["keyed"] : ["keyed", "probed"];
  const keys = outside.effects.filter(({ tool }) => once.includes(tool)).map(({ key }) => key);
  return keys.filter((key, index) => keys.indexOf(key) !== index).map((key) => `${key} happened twice`);
}

/** Once by its own release; a person who answers *retry* has seen that nothing happened, so it is one effect as well. */
function unsafeOncePerPermission({ outside, answers }: History, { mayDouble }: Allowances): readonly string[] {
  if (mayDouble) return [];
  const counts = new Map<string, number>();
  for (const { tool, key } of outside.effects)
    if (tool === "unsafe" || tool === "probed") counts.set(key, (counts.get(key) ?? 0) + 1);
  return [...counts].flatMap(([key, count]) => {
    const denied = answers.some((each) => each.key === key && each.as === "failed" && each.outcome === "accepted");
    if (denied) return [`${key} happened although a person could tell that it did not`];
    return count > 1 ? [`${key} happened ${count} times`] : [];
  });
}

/** What the ledger calls succeeded did happen, and what it calls failed for good did not. */
function recordedHappened(history: History, { mayDouble }: Allowances): readonly string[] {
  const keyOf = new Map<string, { key: string; effect: string }>();
  const violations: string[] = [];
  const happened = new Set(history.outside.effects.map(({ key }) => key));
  for (const event of eventsOf(history)) {
    if (event.kind === "ToolIntended") keyOf.set(event.call, { key: event.key, effect: event.effect });
    if (event.kind !== "ToolResultRecorded" && event.kind !== "ToolCompensated") continue;
    const intent = keyOf.get(event.call);
    if (intent === undefined || intent.effect === "none") continue;
    const outcome = event.kind === "ToolCompensated" ? "succeeded" : event.outcome;
    if (outcome === "succeeded" && !happened.has(intent.key)) violations.push(`${intent.key} never happened`);
    if (outcome === "failed" && intent.effect === "unsafe" && happened.has(intent.key) && !mayDouble) {
      violations.push(`${intent.key} failed and happened`);
    }
  }
  return violations;
}

/**
 * What was to be made is made: a call that was released, or that a human or a probe permitted, does not end as *not
 * started*, even if the model hears of it. A run that is cancelled or that compensates starts nothing more.
 */
function agreedIsMade(history: History): readonly string[] {
  const agreed = new Set<string>();
  return replay(history).commits.flatMap(({ version, events }) => {
    const ends = events.some(
      ({ kind, ...event }) => kind === "RecoveryDecided" && "action" in event && isEnd(event.action),
    );
    return events.flatMap((event) => {
      if (isAgreement(event)) agreed.add(event.call);
      if (event.kind !== "ToolResultRecorded" || event.outcome !== "failed" || ends || !agreed.has(event.call))
        return [];
      const said = event.value.kind === "inline" ? JSON.stringify(event.value.json) : "";
      const isUnstarted = said.startsWith('"NotStarted') || event.evidence.includes("started");
      return isUnstarted ? [`${event.call} was agreed, and version ${version} ends it as not started`] : [];
    });
  });
}

const isAgreement = (event: Event): event is Extract<Event, { readonly call: string }> =>
  event.kind === "ToolInvoked" ||
  (event.kind === "HumanApprovalReceived" && event.decision.as !== "deny") ||
  (event.kind === "ToolResultReconciled" && event.answer.as === "retry");

const isEnd = ({ kind }: Action): boolean => kind === "cancel" || kind === "compensate" || kind === "abort";

function spentIsSumOfDebits(history: History): readonly string[] {
  let sum = NOTHING_SPENT;
  for (const { debit } of eventsOfKind(history, "BudgetDebited")) sum = add(sum, debit);
  const same = canonical(sum) === canonical(replay(history).state.spent);
  return same && canonical(finalRow(history).spent) === canonical(sum) ? [] : ["spent is not what was debited"];
}

/** Order rule 3: what a reply cost is debited in the commit of the reply. */
function repliesDebited(history: History): readonly string[] {
  let stops = false;
  return replay(history).commits.flatMap(({ version, events }) => {
    // The last answer of a conversation that nobody goes on with is no model's.
    const replies = events.filter((event) => event.kind === "ModelCallCompleted" && event.model !== "cairn").length;
    // Last words are paid for, and are no beat. That a run stops is committed before they are asked for.
    const isLast = stops;
    stops ||= events.some((event) => event.kind === "RecoveryDecided" && event.action.kind === "stop");
    const beats = events.map((event) =>
      event.kind !== "BudgetDebited" ? 0 : isLast ? Math.min(1, event.debit.tokensIn ?? 0) : (event.debit.beats ?? 0),
    );
    const debited = beats.reduce((sum, count) => sum + count, 0);
    return debited >= replies ? [] : [`version ${version} has ${replies} replies and debits ${debited}`];
  });
}

/** The same of a summary: it is no beat, and what it cost stands right behind it. */
function summariesDebited(history: History): readonly string[] {
  return replay(history).commits.flatMap(({ version, events }) =>
    events.flatMap((event, index) => {
      if (event.kind !== "Compacted") return [];
      const next = events[index + 1];
      const isPaid = next?.kind === "BudgetDebited" && (next.debit.tokensIn ?? 0) > 0 && next.debit.beats === undefined;
      return isPaid ? [] : [`version ${version} has a summary that nobody paid for`];
    }),
  );
}
