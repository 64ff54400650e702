/**
 * What became of a decision. That it is delivered says only that it waits in the inbox: the gate may expire, and the run may
 * end or begin again, before a beat takes it in (schedules 49 and 84). So its author is told what is committed.
 */
import { Unreadable } from "../codec/canonical.ts";
import type { Decision, Event } from "../core/event.ts";
import { callOf, closedFor, endsBefore, gatesIn } from "../core/calls/ignored-decisions.ts";
import type { Gate, State } from "../core/state.ts";
import { type Row, hasEnded } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { loadAboutToBe } from "../history/after-redrive.ts";
import type { Gone } from "./look-then-deliver.ts";
import { timeline } from "./views.ts";

/**
 * `applied`: it is committed that it counts. `waits`: it is in the inbox, or taken in, and its gate is open. `unknown`: it was
 * taken in, and the history that says what followed cannot be read.
 */
export interface Accepted {
  readonly kind: "accepted";
  readonly stage: "applied" | "waits" | "unknown";
}

/** It was delivered, now or before, and nothing comes of it. `gates`: those that are open now. */
export interface NoEffect {
  readonly kind: "noEffect";
  readonly why: string;
  readonly gates: readonly string[];
}

/** Gates about which a decision can still have an effect. */
export const openGates = (row: Row, state: State): readonly Gate[] =>
  hasEnded(row) || endsBefore(state, row) !== null ? [] : gatesIn(state);

const noEffect = (row: Row, { state, why }: { readonly state: State; readonly why: string }): NoEffect => ({
  ...{ kind: "noEffect", why },
  gates: openGates(row, state).map(({ gate }) => gate),
});

type Fate =
  | { readonly kind: "applied"; readonly decision: Decision }
  | { readonly kind: "ignored"; readonly why: string };

interface About {
  readonly row: Row;
  readonly gate: string;
}

/** What is committed about that gate; null is nothing. `unread`: the history that would tell cannot be read. */
async function fateOf(world: World, { row, gate }: About): Promise<Fate | "unread" | null> {
  const events = await eventsOf(world, row.run);
  for (const event of events ?? []) {
    if (event.kind === "HumanApprovalReceived" && event.gate === gate)
      return { kind: "applied", decision: event.decision };
    if (event.kind === "DecisionIgnored" && event.gate === gate) return { kind: "ignored", why: event.why };
  }
  return events === null ? "unread" : null;
}

/** A decision that waits behind more messages than that is not seen yet. */
const SENT_MAX = 100;

/** The decision about that gate whose message is not deleted yet. */
async function sentTo(world: World, { row, gate }: About): Promise<Decision | null> {
  const { run, born } = row;
  const sent = await world.table.inbox({ run, born, now: world.clock.now(), limit: SENT_MAX });
  for (const { body } of sent) if (body.kind === "decision" && body.gate === gate) return body.decision;
  return null;
}

/** A decision about that gate was delivered before, and the gate was open a moment ago. */
export async function aboutSent(world: World, { row, gate }: About): Promise<Decided> {
  const now = await world.table.read(row.run, world.clock.now());
  if (now === null) return { kind: "late" };
  const state = await loadAboutToBe(world, now);
  const of = { row: now, state, gate };
  const open = openGates(now, state).find((each) => each.gate === gate);
  if (open !== undefined) return { kind: "duplicate", decision: open.decision ?? (await sentTo(world, of)) };
  const told = await aboutClosed(world, of);
  return told.kind === "stale" ? { kind: "duplicate", decision: null } : told;
}

/** The gate is not open any more, perhaps since this sender's own decision was applied or ignored. */
export async function aboutClosed(world: World, of: About & { readonly state: State }): Promise<Decided> {
  const { row, state, gate } = of;
  const fate = await fateOf(world, of);
  if (fate !== null && fate !== "unread") {
    if (fate.kind === "applied") return { kind: "duplicate", decision: fate.decision };
    return noEffect(row, { state, why: fate.why });
  }
  if (hasEnded(row)) return { kind: "late" };
  const why = endsBefore(state, row);
  const isTaken = gatesIn(state).some((each) => each.gate === gate && each.decision !== null);
  // It waits in the inbox, or was taken in by a run that is to end: nothing comes of it.
  if (isTaken || (await sentTo(world, of)) !== null)
    return noEffect(row, { state, why: why ?? closedFor(state, gate) });
  return { kind: "stale", gates: openGates(row, state).map((each) => each.gate), why };
}

const LOOK_MS = 200;

interface Sent {
  /** As it was when the sender looked. */
  readonly row: Row;
  readonly gate: string;
  readonly decision: Decision;
  readonly waitMs: number;
}

/**
 * Schedules 49 and 84: a person looks at a gate, it is closed, and then their decision is delivered: no commit will be
 * refused for it any more. Or it is delivered in time, and the run begins again before it is taken in.
 */
export async function afterDelivery(world: World, of: Sent): Promise<Decided> {
  const { clock } = world;
  // A run that is paused takes nothing in before it is resumed.
  const until = clock.now() + (of.row.pause ? 0 : of.waitMs);
  for (;;) {
    const told = await heard(world, of);
    const isOpen = told.kind === "accepted" && told.stage === "waits";
    const leftMs = until - clock.now();
    if (!isOpen || leftMs <= 0) return told;
    await new Promise<void>((resolve) => void clock.after(Math.min(leftMs, LOOK_MS), resolve));
  }
}

async function heard(world: World, { row, gate, decision }: Sent): Promise<Decided> {
  const after = await world.table.read(row.run, world.clock.now());
  if (after === null) return { kind: "late" };
  // A run that did not move has the gate open, and whatever closes it from now on sees the stir.
  if (after.version === row.version && !after.cancel) return { kind: "accepted", stage: "waits" };
  const state = await loadAboutToBe(world, after);
  if (openGates(after, state).some((each) => each.gate === gate)) return { kind: "accepted", stage: "waits" };
  const fate = await fateOf(world, { row: after, gate });
  if (fate === "unread") return { kind: "accepted", stage: "unknown" };
  if (fate === null) return noEffect(after, { state, why: endsBefore(state, after) ?? closedFor(state, gate) });
  if (fate.kind === "ignored") return noEffect(after, { state, why: fate.why });
  const isOther = fate.decision.as !== decision.as || fate.decision.by !== decision.by;
  if (isOther) return { kind: "duplicate", decision: fate.decision };
  return askedAgain(state, gate) ?? { kind: "accepted", stage: "applied" };
}

/** Arguments that were given in place of the model's, and that a beat found not to fit the tool. */
function askedAgain({ open }: State, gate: string): Decided | null {
  const again = open.find(({ call, gate: asks, askedAgain = 0 }) => call === callOf(gate) && asks && askedAgain > 0);
  return again?.gate == null ? null : { kind: "argsInvalid", why: again.gate.reason, asks: again.gate.gate };
}

/** Null: a run may go on without its history, and its gates with it. */
async function eventsOf(world: World, run: string): Promise<readonly Event[] | null> {
  try {
    return (await timeline(world, { run, after: 0 })) ?? [];
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

export type Decided =
  | Accepted
  /** It was decided before, perhaps by this very sender; the first decision counts. Null: it cannot be told which. */
  | { readonly kind: "duplicate"; readonly decision: Decision | null }
  | NoEffect
  /** The run has no such open gate. `why`: it takes no decisions any more. */
  | { readonly kind: "stale"; readonly gates: readonly string[]; readonly why: string | null }
  /** It decides what was not asked, or gives too little. */
  | { readonly kind: "refused"; readonly why: string }
  /** What the call shall be run with does not fit its tool; `why` names each path. `asks`: the gate that asks again. */
  | { readonly kind: "argsInvalid"; readonly why: string; readonly asks: string | null }
  | Gone;
