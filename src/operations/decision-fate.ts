/**
 * The outcome of a decision, for its author. Delivery only means that the decision is in the inbox. The gate may
 * expire, or the run may end or restart, before a beat absorbs it (schedules 49 and 84). So the author learns what is
 * committed.
 */
import { gateIn } from "../core/calls/held-calls.ts";
import { openGatesIn } from "../core/policy/extension.ts";
import { Unreadable } from "../codec/canonical.ts";
import type { Gate, HumanDecision } from "../core/approval.ts";
import type { Event } from "../core/event.ts";
import { callOf, whyGateClosed, endBeforeDecision } from "../features/approvals/core-ignored-decisions.ts";
import type { State } from "../core/state.ts";
import { type Row, hasEnded } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { loadAfterRedrive } from "../features/redrive/after-redrive.ts";
import type { Gone } from "./look-then-deliver.ts";
import { timeline } from "./views.ts";

/**
 * `applied`: a commit applied the decision. `waits`: it is in the inbox or absorbed, and its gate is open. `unknown`:
 * it was absorbed, and the history that records the outcome cannot be read.
 */
export interface Accepted {
  readonly kind: "accepted";
  readonly stage: "applied" | "waits" | "unknown";
  /** What the edited arguments have and the tool does not get: its schema drops it. Absent: nothing, or not known here. */
  readonly dropped?: readonly string[];
  /** The agent has no such tool any more, and without it the call does not run. Absent: it has, or not known here. */
  readonly toolGone?: true;
}

/** The decision was delivered, now or before, and has no effect. `gates`: the gates that are open now. */
export interface NoEffect {
  readonly kind: "noEffect";
  readonly why: string;
  readonly gates: readonly string[];
}

/** The gates whose decision can still have an effect. */
export const openGates = (row: Row, state: State): readonly Gate[] =>
  hasEnded(row) || endBeforeDecision(state, row) !== null ? [] : openGatesIn(state);

const noEffect = (row: Row, { state, why }: { readonly state: State; readonly why: string }): NoEffect => ({
  kind: "noEffect",
  why,
  gates: openGates(row, state).map(({ gate }) => gate),
});

type Fate =
  | { readonly kind: "applied"; readonly decision: HumanDecision }
  | { readonly kind: "ignored"; readonly why: string };

interface About {
  readonly row: Row;
  readonly gate: string;
}

/** What is committed about the gate; null: nothing. `unread`: the history cannot be read. */
async function fateOf(world: World, { row, gate }: About): Promise<Fate | "unread" | null> {
  const events = await eventsOf(world, row.run);
  for (const event of events ?? []) {
    if (event.kind === "HumanApprovalReceived" && event.gate === gate)
      return { kind: "applied", decision: event.decision };
    if (event.kind === "DecisionIgnored" && event.gate === gate) return { kind: "ignored", why: event.why };
  }
  return events === null ? "unread" : null;
}

/** How many inbox messages are searched. A decision behind more messages than that is not found. */
const SENT_MAX = 100;

/** The decision about the gate that is still in the inbox; null if there is none. */
async function sentTo(world: World, { row, gate }: About): Promise<HumanDecision | null> {
  const { run, born } = row;
  const sent = await world.inbox.unread({ run, born, now: world.clock.now(), limit: SENT_MAX });
  for (const { body } of sent) if (body.kind === "decision" && body.gate === gate) return body.decision;
  return null;
}

/** The gate was open a moment ago, and a decision about it had already been delivered. */
export async function explainSent(world: World, { row, gate }: About): Promise<DecisionFate> {
  const now = await world.table.read(row.run, world.clock.now());
  if (now === null) return { kind: "late" };
  const state = await loadAfterRedrive(world, now);
  const of = { row: now, state, gate };
  const open = openGates(now, state).find((each) => each.gate === gate);
  if (open !== undefined) return { kind: "duplicate", decision: open.decision ?? (await sentTo(world, of)) };
  const told = await explainClosed(world, of);
  return told.kind === "stale" ? { kind: "duplicate", decision: null } : told;
}

/** The gate is closed, perhaps because this sender's own decision was applied or ignored. */
export async function explainClosed(world: World, about: About & { readonly state: State }): Promise<DecisionFate> {
  const { row, state, gate } = about;
  const fate = await fateOf(world, about);
  if (fate !== null && fate !== "unread") {
    if (fate.kind === "applied") return { kind: "duplicate", decision: fate.decision };
    return noEffect(row, { state, why: fate.why });
  }
  if (hasEnded(row)) return { kind: "late" };
  const why = endBeforeDecision(state, row);
  const isTaken = openGatesIn(state).some((each) => each.gate === gate && each.decision !== null);
  // The decision is in the inbox, or a run absorbed it that is about to end: it has no effect.
  if (isTaken || (await sentTo(world, about)) !== null)
    return noEffect(row, { state, why: why ?? whyGateClosed(state, gate) });
  const gates = openGates(row, state).map((each) => each.gate);
  const own = gates.find((each) => callOf(each) === gate);
  const whole = own === undefined ? null : `${gate} is a call, and a decision names its whole gate: ${own}`;
  return { kind: "stale", gates, why: why ?? whole };
}

const LOOK_MS = 200;

interface Sent {
  /** The row that the sender saw. */
  readonly row: Row;
  readonly gate: string;
  readonly decision: HumanDecision;
  readonly waitMs: number;
}

/**
 * Schedule 49: a human sees a gate, the gate closes, and then the decision is delivered. The commit that closed the
 * gate came first, so the decision refuses no commit. Schedule 84: the decision is delivered in time, and the run
 * restarts before a beat absorbs it.
 *
 * So this polls the run after the delivery until the outcome is known, for at most `waitMs`.
 */
export async function afterDelivery(world: World, sent: Sent): Promise<DecisionFate> {
  const { clock } = world;
  // A paused run absorbs nothing before an operator resumes it.
  const until = clock.now() + (sent.row.pause ? 0 : sent.waitMs);
  for (;;) {
    const told = await heard(world, sent);
    const isOpen = told.kind === "accepted" && told.stage === "waits";
    const leftMs = until - clock.now();
    if (!isOpen || leftMs <= 0) return told;
    await new Promise<void>((resolve) => void clock.after(Math.min(leftMs, LOOK_MS), resolve));
  }
}

async function heard(world: World, { row, gate, decision }: Sent): Promise<DecisionFate> {
  const after = await world.table.read(row.run, world.clock.now());
  if (after === null) return { kind: "late" };
  // If the run did not move, its gate is open. Any later commit that closes the gate sees the raised `wakeCount`.
  if (after.version === row.version && !after.cancel) return { kind: "accepted", stage: "waits" };
  const state = await loadAfterRedrive(world, after);
  if (openGates(after, state).some((each) => each.gate === gate)) return { kind: "accepted", stage: "waits" };
  const fate = await fateOf(world, { row: after, gate });
  if (fate === "unread") return { kind: "accepted", stage: "unknown" };
  if (fate === null)
    return noEffect(after, { state, why: endBeforeDecision(state, after) ?? whyGateClosed(state, gate) });
  if (fate.kind === "ignored") return noEffect(after, { state, why: fate.why });
  const isOther = fate.decision.as !== decision.as || fate.decision.by !== decision.by;
  if (isOther) return { kind: "duplicate", decision: fate.decision };
  return timesReopened(state, gate) ?? { kind: "accepted", stage: "applied" };
}

/** A beat found that the edited arguments do not fit the tool, and opened the gate again. Null if not. */
function timesReopened({ open }: State, gate: string): DecisionFate | null {
  const again = open.find(({ call, timesReopened = 0 }) => call === callOf(gate) && timesReopened > 0);
  const asks = again === undefined ? null : gateIn(again);
  return asks === null ? null : { kind: "argsInvalid", why: asks.reason, asks: asks.gate };
}

/** Every event of the run. Null if the history cannot be read: a run and its gates may go on without it. */
async function eventsOf(world: World, run: string): Promise<readonly Event[] | null> {
  try {
    return (await timeline(world, { run, after: 0 })) ?? [];
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

/** The outcome of a decision. */
export type DecisionFate =
  | Accepted
  /**
   * It was decided before, perhaps by this very sender; the first decision counts. Null: that decision is not known.
   */
  | { readonly kind: "duplicate"; readonly decision: HumanDecision | null }
  | NoEffect
  /** The run has no such open gate. `why`: set if the run applies no decisions any more. */
  | { readonly kind: "stale"; readonly gates: readonly string[]; readonly why: string | null }
  /** The decision does not fit the gate, or grants too little. */
  | { readonly kind: "refused"; readonly why: string }
  /** The edited arguments do not fit the tool; `why` names each path. `asks`: the gate that asks again. */
  | { readonly kind: "argsInvalid"; readonly why: string; readonly asks: string | null }
  | Gone;
