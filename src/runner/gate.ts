/**
 * Gates: a person decides about a call before it is started. What is decided is frozen by its hashes (seed 3), the first
 * decision counts, and none in time is a denial.
 */
import { Unreadable } from "../codec/canonical.ts";
import { bounded } from "../codec/value.ts";
import type { Grant } from "../core/budget.ts";
import type { Decision, Event } from "../core/event.ts";
import { BUDGET, extensionOf, gateNamed } from "../core/extension.ts";
import { decisionId } from "../protocol/ids.ts";
import { ensure } from "../core/invariant.ts";
import type { Json } from "../core/json.ts";
import { SIZES } from "../codec/limits.ts";
import type { Gate, State } from "../core/state.ts";
import { type Row, hasEnded } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import type { ActiveRun } from "./active-run.ts";
import { endFor, refusalOf } from "./budget.ts";
import { keepValue } from "./put.ts";
import { absorbInbox, deliver } from "./inbox.ts";
import { SegmentCache, load } from "./load.ts";
import { timeline } from "./look.ts";
import { knowSecrets, redactionIn } from "./secrets.ts";
import type { Next } from "./think.ts";

/** Applies the decision that was absorbed. */
export function applyDecision(run: ActiveRun, call: string): Next {
  const gate = gateOf(run, call);
  ensure(gate.decision !== null, `gate ${gate.gate} has no decision`);
  return record(run, { call, gate, decision: gate.decision });
}

/**
 * Schedule 13: a timer wakes the run, a decision is acknowledged, the denial by expiry commits over it. A decision in
 * the inbox beats the clock, and the denial commits only while nobody stirred the run since the inbox was read.
 */
export async function expireGate(run: ActiveRun, call: string): Promise<Next> {
  const isAll = await absorbInbox(run);
  const gate = gateOf(run, call);
  if (gate.decision !== null || !isAll) return "on";
  const before = run.mark();
  const note = "nobody decided in time";
  record(run, { call, gate, decision: { as: "deny", args: null, by: "expiry", note } });
  const outcome = await run.commit({ release: false, unlessStirred: true });
  if (outcome === "stirred") run.restore(before);
  return "on";
}

function record(run: ActiveRun, of: { call: string; gate: Gate; decision: Decision }): Next {
  const { call, gate, decision } = of;
  run.record({ kind: "HumanApprovalReceived", at: run.now, gate: gate.gate, call, decision });
  // Durable before the model is asked: whoever finds the run has to find it where it may have asked (schedule 66).
  run.commitFirst = true;
  if (call === BUDGET && decision.as === "deny") run.record(endFor(run, gate.reason));
  return "on";
}

function gateOf(run: ActiveRun, call: string): Gate {
  const gate = gateNamed(run.state, call);
  ensure(gate !== null, `${call} waits at no gate`);
  return gate;
}

export type Decided =
  | { readonly kind: "accepted" }
  /** It was decided before, perhaps by this very sender; the first decision counts. Null: it cannot be told which. */
  | { readonly kind: "duplicate"; readonly decision: Decision | null }
  /** The run has no such open gate. */
  | { readonly kind: "stale"; readonly gates: readonly string[] }
  /** It decides what was not asked, or gives too little. */
  | { readonly kind: "refused"; readonly why: string }
  | { readonly kind: "late" }
  | { readonly kind: "missing" };

/** Whatever names no open gate is refused before any write, so that it cannot take the place of a good decision. */
export async function decide(
  world: World,
  of: {
    readonly run: string;
    readonly gate: string;
    readonly as: Decision["as"];
    /** What the call shall be run with, if it is edited. */
    readonly args: Json;
    /** What the run may spend beyond its budget, if that is what is asked. */
    readonly more?: Grant;
    readonly by: string;
    readonly note: string | null;
  },
): Promise<Decided> {
  const row = await world.table.read(of.run, world.clock.now());
  if (row === null) return { kind: "missing" };
  const { state } = await load(world.objects, row, new SegmentCache());
  const gates = hasEnded(row) ? [] : gatesIn(state);
  const gate = gates.find((each) => each.gate === of.gate);
  if (gate === undefined) {
    const decision = await standing(world, { row, gate: of.gate });
    if (decision !== null) return { kind: "duplicate", decision };
    return hasEnded(row) ? { kind: "late" } : { kind: "stale", gates: gates.map((each) => each.gate) };
  }
  if (gate.decision !== null) return { kind: "duplicate", decision: gate.decision };
  const { as, more = {} } = of;
  const asks = extensionOf(state).gate;
  const why = refusalOf(state, { asks: asks?.gate === of.gate ? asks : null, as, more });
  if (why !== null) return { kind: "refused", why };
  await knowSecrets(world);
  // What runs is what is recorded, and a reference is not what somebody meant to approve.
  if (as === "edit" && redactionIn(world).json(of.args) !== of.args) return { kind: "refused", why: SECRET_IN_EDIT };
  // It stays in the state until its call is settled, and all open calls share that room.
  const inlineMax = Math.floor(SIZES.stateValueBytesMax / Math.max(1, state.open.length));
  const args = of.as === "edit" ? await keepValue(world, row, { json: of.args, inlineMax }) : null;
  const note = of.note === null ? null : bounded(of.note);
  const given = Object.keys(more).length === 0 ? {} : { more };
  const decision: Decision = { as, args, by: bounded(of.by), note, ...given };
  const body = { kind: "decision", gate: of.gate, decision } as const;
  const message = { id: decisionId(of.gate), sentAt: world.clock.now(), body };
  const delivered = await deliver(world, { run: row.run, born: row.born, message });
  if (delivered === "delivered") return heardInTime(world, { row, gate: of.gate, decision: body.decision });
  if (delivered === "duplicate") return { kind: "duplicate", decision: await standing(world, { row, gate: of.gate }) };
  return { kind: delivered === "late" ? "late" : "missing" };
}

const SECRET_IN_EDIT =
  "the arguments hold a secret or a credential, which would be kept with the run: leave it out; a tool asks for it with secrets.get";

const gatesIn = (state: State): readonly Gate[] =>
  [...state.open, extensionOf(state)].flatMap(({ gate }) => (gate === null ? [] : [gate]));

/**
 * Schedule 49: somebody looks at a gate, it expires, and then their decision is delivered: no commit will be refused for
 * it any more. A run that did not move in between has the gate open, and whatever closes it from now on sees the stir.
 */
async function heardInTime(
  world: World,
  of: { readonly row: Row; readonly gate: string; readonly decision: Decision },
): Promise<Decided> {
  const after = await world.table.read(of.row.run, world.clock.now());
  if (after === null || after.version === of.row.version) return { kind: "accepted" };
  const counts = await committed(world, { run: of.row.run, gate: of.gate });
  const isOther = counts !== null && (counts.as !== of.decision.as || counts.by !== of.decision.by);
  return isOther ? { kind: "duplicate", decision: counts } : { kind: "accepted" };
}

/** A decision that waits behind more messages than that cannot be told yet. */
const SENT_MAX = 100;

/**
 * What was decided about that gate: as it waits in the inbox, or as it was committed; null if nobody did, or if nobody
 * can tell any more.
 */
async function standing(
  world: World,
  { row, gate }: { readonly row: Row; readonly gate: string },
): Promise<Decision | null> {
  const { run, born } = row;
  const sent = await world.table.inbox({ run, born, now: world.clock.now(), limit: SENT_MAX });
  for (const { body } of sent) if (body.kind === "decision" && body.gate === gate) return body.decision;
  return committed(world, { run, gate });
}

/** The decision that was applied; null where there is none, or nobody can tell any more. */
async function committed(world: World, of: { readonly run: string; readonly gate: string }): Promise<Decision | null> {
  for (const event of await eventsOf(world, of.run)) {
    if (event.kind === "HumanApprovalReceived" && event.gate === of.gate) return event.decision;
  }
  return null;
}

/** A run may go on without its history, and its gates with it. */
async function eventsOf(world: World, run: string): Promise<readonly Event[]> {
  try {
    return (await timeline(world, { run, after: 0 })) ?? [];
  } catch (error) {
    if (error instanceof Unreadable) return [];
    throw error;
  }
}
