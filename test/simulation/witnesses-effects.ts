/** Witnesses of what was done outside, and of people who look at it. */
import type { EventOf } from "../../src/core/event.ts";
import { violationsOf } from "./checkers.ts";
import { MUST_END } from "./dispatch.ts";
import type { Simulated } from "./history.ts";
import type { Call, Placed } from "./record.ts";
import type { ObservedHistory, Witnesses } from "./observed-history.ts";

export const witnessesEffects: Witnesses = {
  // A denial by expiry meets a decision, or anything else that wakeCount the run.
  13: ({ calls }) =>
    calls("table.commit").some(
      ({ of: [commit], outcome }) =>
        commit.unlessWoken &&
        outcome?.kind === "woken" &&
        !["completed", "failed", "cancelled"].includes(commit.status),
    ),
  3: ({ history, calls }) =>
    history.outside.effects.some(
      ({ tool, epoch, order }) =>
        tool === "probed" && takeoversIn(calls("table.claim")).some((at) => at.order < order && at.epoch > epoch),
    ),
  4: ({ history, events, keyOf }) =>
    events("ToolOutcomeUnknown").some(({ event, epoch, order }) =>
      history.outside.effects.some(
        (effect) => effect.key === keyOf(event.call) && effect.order > order && effect.epoch < epoch,
      ),
    ),
  5: ({ history, events }) =>
    events("RecoveryDecided").some(
      ({ event: { action }, epoch, order }) =>
        (action.kind === "cancel" || action.kind === "abort") &&
        history.outside.effects.some((effect) => effect.epoch < epoch && effect.order > order),
    ),
  18: ({ calls }) =>
    calls("inbox.deliver").some(
      ({ of: [{ message }], outcome }) => outcome?.kind === "duplicate" && message.id.startsWith("reconcile#"),
    ),
  // It lands when the commit that calls it silent is long there.
  22: ({ history, events, keyOf }) =>
    [...events("RecoveryDecided"), ...events("ToolOutcomeUnknown")].some(({ event, epoch, order }) => {
      const call =
        event.kind === "ToolOutcomeUnknown" ? event.call : event.action.kind === "probe" ? event.action.call : "";
      return history.outside.effects.some(
        (effect) => effect.key === keyOf(call) && effect.epoch === epoch && effect.order > order,
      );
    }),
  // The assumption is broken, and it shows: otherwise its mode would prove nothing.
  23: ({ history }) =>
    history.plan.mode.mayDouble &&
    violationsOf(history).some((each) => /^(keyedOnce|unsafeOncePerPermission|recordedHappened)/.test(each)),
  // Something was looked at under a release that never came to be committed, and a reply is counted as lost.
  70: ({ history, events }) =>
    unreleasedLooks(history, events("ToolInvoked")).length > 0 && events("ModelCallLost").length > 0,
  // After that a plan is committed before its looks.
  72: ({ history, events, keyOf }) =>
    unreleasedLooks(history, events("ToolInvoked")).some(({ order }) =>
      events("ModelCallLost").some((lost) =>
        events("ToolInvoked").some(
          ({ event, epoch, order: released }) =>
            released === lost.order &&
            released > order &&
            history.outside.begun.some(
              (look) =>
                look.tool === "look" && look.key === keyOf(event.call) && look.epoch === epoch && look.order > released,
            ),
        ),
      ),
    ),
  // Its process is overtaken between two undos.
  68: ({ calls, events }) =>
    events("ToolCompensated").some(({ epoch, order }, index, undone) => {
      const next = undone[index + 1];
      return (
        next !== undefined &&
        takeoversIn(calls("table.claim")).some((at) => at.order > order && at.epoch > epoch && at.epoch <= next.epoch)
      );
    }),
  // It lands when the commit that calls it unknown is there, and is undone after that.
  69: ({ history, events, keyOf }) =>
    events("ToolOutcomeUnknown").some(({ event, order }) => {
      const late = history.outside.effects.find((effect) => effect.key === keyOf(event.call) && effect.order > order);
      return late !== undefined && history.outside.effects.some(({ undoes }) => undoes === late.key);
    }),
  // One result is committed, and its process is lost while it waits for another call that it released.
  76: ({ events }) =>
    events("ToolResultRecorded").some(({ event, epoch, order }) =>
      events("ToolInvoked").some((released) => {
        if (released.event.call === event.call || released.epoch !== epoch || released.order >= order) return false;
        const next = endsOf(events, released.event.call).find((end) => end.order > released.order);
        return next !== undefined && next.order > order && next.epoch > epoch;
      }),
    ),
  // Two processes send one call, whose schema makes another value at each parse.
  204: ({ history }) => {
    const acted = history.outside.begun.filter(({ tool }) => tool !== "look");
    return acted.some(({ key, epoch }) => acted.some((other) => other.key === key && other.epoch !== epoch));
  },
  // The probe has used up the beat, and another one makes the call.
  210: ({ events }) =>
    events("RecoveryDecided").some(
      ({ event: { action }, order }) =>
        action.kind === "postpone" &&
        action.after === "probe" &&
        events("ToolInvoked").some((released) => released.event.call === action.call && released.order > order),
    ),
  // One invocation freezes after it released a call, and another one releases it again.
  211: ({ events }) =>
    events("RecoveryDecided").some(
      ({ event: { action }, epoch }) =>
        action.kind === "postpone" &&
        events("ToolInvoked").some(({ event, epoch: before }) => event.call === action.call && before < epoch) &&
        events("ToolInvoked").some(({ event, epoch: after }) => event.call === action.call && after > epoch),
    ),
  78: ({ history }) => history.reached.has(MUST_END),
  53: ({ events }) => events("RecoveryDecided").some(({ event: { action } }) => action.kind === "hold"),
  // What was accepted is not what the run meets next, and is never used.
  54: ({ events }) =>
    events("MessageAbsorbed").some(({ event, order }) => {
      if (event.stage !== "taken" || event.body.kind !== "upgrade") return false;
      const { to } = event.body;
      const isUsed = events("AgentChanged").some((changed) => changed.event.to === to);
      return !isUsed && events("RecoveryDecided").some((next) => next.order >= order && isHoldOf(next.event, to));
    }),
  // It was accepted, and the attempt that its gate belonged to ended before it was applied.
  84: ({ events }) => events("DecisionIgnored").length > 0,
  26: ({ events }) =>
    events("RunEnded").some(({ event }) => event.status === "failed" && event.failure.code === "CrashLoop"),
  28: ({ history }) => history.record.exits > 0,
  29: ({ history }) => history.answers.some(({ outcome }) => outcome === "stale"),
  34: ({ calls }) =>
    calls("table.commit").some(
      ({ of: [{ raiseEffectsSettleAt }], outcome }) => raiseEffectsSettleAt && outcome?.kind === "committed",
    ),
  35: ({ history }) =>
    history.answers.some(
      ({ key, outcome, order }) =>
        outcome === "tooEarly" && history.outside.effects.some((effect) => effect.key === key && effect.order > order),
    ),
  // Twice in a row, and only its own bound ends it.
  45: ({ history, events }) => {
    const again = events("RecoveryDecided").flatMap(({ event }) =>
      event.action.kind === "again" ? [event.action.call] : [],
    );
    return history.record.exits > 1 && new Set(again).size < again.length;
  },
  // By the clock of the one whose call fell silent it would have been too early.
  48: ({ calls, events }) =>
    events("ToolOutcomeUnknown").some(({ event, row }) => {
      const silent = calls("table.commit").find(({ of: [{ commitId }] }) => commitId === row.commitId);
      return calls("inbox.deliver").some(({ of: [{ message, now }], outcome, at }) => {
        const { body, sentAt } = message;
        if (silent === undefined || outcome?.kind !== "delivered" || body.kind !== "reconcile") return false;
        const aheadMs = now - at - (silent.of[0].now - silent.at);
        const isSure = body.call === event.call && body.answer.as !== "succeeded";
        return isSure && aheadMs > 0 && sentAt - aheadMs < (event.reconcilableFrom ?? 0);
      });
    }),
};

/** What was decided about a call after it was released, in order. */
const endsOf = (events: ObservedHistory["events"], call: string): readonly Placed<{ readonly epoch: number }>[] =>
  [
    ...events("ToolResultRecorded").filter(({ event }) => event.call === call),
    ...events("ToolResultReconciled").filter(({ event }) => event.call === call),
    ...events("ToolOutcomeUnknown").filter(({ event }) => event.call === call),
    ...events("RecoveryDecided").filter(({ event: { action } }) => "call" in action && action.call === call),
  ].toSorted((one, other) => one.order - other.order);

const takeoversIn = (claims: readonly Call<"table.claim">[]): readonly Placed<{ readonly epoch: number }>[] =>
  claims.flatMap(({ outcome, order }) =>
    outcome?.kind === "granted" && outcome.overtook !== null ? [{ epoch: outcome.row.epoch, order }] : [],
  );

/** The run waits for another version than that one. */
const isHoldOf = ({ action }: EventOf<"RecoveryDecided">, other: string): boolean =>
  action.kind === "hold" && action.to !== other;

/** Looks that began in an epoch which committed no release at all. */
function unreleasedLooks(
  { outside, plan }: Simulated,
  released: readonly { readonly epoch: number }[],
): Simulated["outside"]["begun"] {
  const isReleased = (epoch: number): boolean => released.some((each) => each.epoch === epoch);
  return plan.isDialled ? outside.begun.filter(({ tool, epoch }) => tool === "look" && !isReleased(epoch)) : [];
}
