/**
 * What must hold of a history whose tools can undo what they did: newest first, once, never before it can have landed, all
 * of it, and in each attempt under other keys. It is read off the outside world and the committed events alone.
 */
import type { Simulated } from "./history.ts";
import type { Placed } from "./record.ts";
import { eventsOf, replay } from "./replay.ts";
import type { Effect } from "./services.ts";
import { type ObservedHistory, observeHistory } from "./observed-history.ts";

type Checker = (of: Saga) => readonly string[];

const CHECKERS: Readonly<Record<string, Checker>> = {
  newestFirst,
  undoneOnce,
  undoneLast,
  nothingStands: effectsNotCompensated,
  attemptsGrow,
  keysDiffer,
};

/** Ends that leave everything as it is: nothing of the agent is started any more. */
const LEFT = /^(CrashLoop|Abandoned|Expired)$/;

interface UndoableCall {
  readonly call: string;
  readonly key: string;
  readonly attempt: number;
  /** Which reply asked for it. */
  readonly reply: number;
}

interface Saga {
  readonly history: Simulated;
  readonly seen: ObservedHistory;
  readonly calls: readonly UndoableCall[];
  readonly undos: readonly (Placed<Effect> & { readonly undoes: string })[];
  /** Calls whose undo somebody said to leave. */
  readonly left: ReadonlySet<string>;
  /** The places of the commits that began again. */
  readonly restarts: readonly number[];
}

export function wrongWithSagas(history: Simulated): readonly string[] {
  if (history.plan.saga === null) return [];
  const of = sagaIn(history);
  return Object.entries(CHECKERS).flatMap(([name, check]) => check(of).map((what) => `${name}: ${what}`));
}

function sagaIn(history: Simulated): Saga {
  const seen = observeHistory(history);
  const restarts = seen
    .events("RecoveryDecided")
    .flatMap(({ event, order }) => (event.action.kind === "restart" ? [order] : []));
  const undos = history.outside.effects.flatMap((effect) =>
    effect.undoes === undefined ? [] : [{ ...effect, undoes: effect.undoes }],
  );
  const said = seen.events("ToolResultReconciled").filter(({ event }) => event.answer.as === "failed");
  const left = new Set(said.flatMap(({ event: { call } }) => (call.startsWith("undo-") ? [call.slice(5)] : [])));
  return { history, seen, calls: undoableIn(history), undos, left, restarts };
}

/** By their last intent: a person may have changed the arguments of one that waited at a gate. */
function undoableIn(history: Simulated): readonly UndoableCall[] {
  const calls = new Map<string, UndoableCall>();
  const replyOf = new Map<string, number>();
  let attempt = 1;
  for (const [index, event] of eventsOf(history).entries()) {
    if (event.kind === "RecoveryDecided" && event.action.kind === "restart") attempt += 1;
    if (event.kind === "ModelCallCompleted") {
      const asked = event.parts.filter((part) => part.kind === "call");
      for (const _ of asked) replyOf.set(`c${replyOf.size + 1}`, index);
    }
    if (event.kind !== "ToolIntended" || event.undo !== true) continue;
    const { call, key } = event;
    calls.set(call, { call, key, attempt, reply: replyOf.get(call) ?? -1 });
  }
  return [...calls.values()];
}

/** An effect of a later reply is undone before those of earlier ones. */
function newestFirst({ history, undos, calls }: Saga): readonly string[] {
  if (history.plan.mode.mayDouble) return [];
  const replies = undos.map(({ undoes }) => calls.find(({ key }) => key === undoes)?.reply ?? -1);
  const attempts = undos.map(({ undoes }) => calls.find(({ key }) => key === undoes)?.attempt ?? -1);
  return undos.flatMap(({ undoes }, index) => {
    const isSame = attempts[index] === attempts[index - 1];
    return index > 0 && isSame && (replies[index] ?? 0) > (replies[index - 1] ?? 0)
      ? [`${undoes} is undone after what was done before it`]
      : [];
  });
}

/** The undo of an effect is one call, under one key. */
function undoneOnce({ undos }: Saga): readonly string[] {
  return [...new Set(undos.map(({ undoes }) => undoes))].flatMap((key) => {
    const under = new Set(undos.flatMap((undo) => (undo.undoes === key ? [undo.key] : [])));
    return under.size > 1 ? [`${key} is undone under ${[...under].join(" and ")}`] : [];
  });
}

/** Whatever may still land has landed before it is undone. */
function undoneLast({ history, undos }: Saga): readonly string[] {
  if (history.plan.mode.mayDouble) return [];
  return undos.flatMap(({ undoes, order }) =>
    history.outside.effects.some(
      (effect) => effect.undoes === undefined && effect.key === undoes && effect.order > order,
    )
      ? [`${undoes} lands after it was undone`]
      : [],
  );
}

/** Before a run begins again, and before it ends unless somebody or its agent wants that, everything is undone. */
function effectsNotCompensated(of: Saga): readonly string[] {
  const { history, calls, undos, left, restarts } = of;
  if (history.plan.mode.mayDouble) return [];
  const last = restarts.length + 1;
  const bounds = [...restarts, endsClean(of) ? Infinity : null];
  return bounds.flatMap((before, index) => {
    if (before === null) return [];
    const mine = calls.filter(({ attempt, call }) => attempt === index + 1 && !left.has(call));
    const standing = mine.filter(
      ({ key }) =>
        history.outside.effects.some((effect) => effect.undoes === undefined && effect.key === key) &&
        !undos.some((undo) => undo.undoes === key && undo.order < before),
    );
    const when = index + 1 < last ? `when attempt ${index + 2} begins` : "at the end";
    return standing.map(({ key }) => `${key} stands ${when}`);
  });
}

/** The run ended in a way before which everything has to be undone. */
function endsClean({ history, seen, restarts }: Saga): boolean {
  const { saga } = history.plan;
  const ended = seen.events("RunEnded").at(-1)?.event;
  if (ended?.status === "failed") {
    const since = restarts.at(-1) ?? -1;
    const isUndone = seen
      .events("RecoveryDecided")
      .some(({ event, order }) => event.action.kind === "compensate" && order > since);
    return !LEFT.test(ended.failure.code) && (isUndone || saga?.onFailure === "undo");
  }
  const isKept = history.steered.some(({ what, outcome }) => what === "undo" && /^(accepted|duplicate)$/.test(outcome));
  return ended?.status === "cancelled" && isKept;
}

function attemptsGrow({ history, restarts }: Saga): readonly string[] {
  const { restart } = replay(history).state;
  return restart === restarts.length + 1 ? [] : [`attempt ${restart} after ${restarts.length} restarts`];
}

function keysDiffer({ calls }: Saga): readonly string[] {
  return calls.flatMap(({ call, key, attempt }) => {
    const other = calls.find((each) => each.key === key && each.attempt !== attempt);
    return other === undefined ? [] : [`${call} goes out under ${key}, as ${other.call} of another attempt`];
  });
}
