/**
 * A run that was restored from a backup asks first. What it did between the backup and the restore has happened, and its
 * row does not know it. So before the first attempt of a call since then, the effect table says what precedes it: a
 * probe, a question to a human, or nothing.
 *
 * Schedule 221: the model words its next reply differently after the restore. A derived key is then a new one: a probe under
 * it finds nothing, and the effect happens twice. So a probe counts only under a business key, or for the undo of a call
 * whose own key is in the backup. Every other probed call asks a human.
 *
 * A tool with a before-image asks too: the image would be taken now, after what may have happened, so that its probe
 * would see no difference.
 */
import { gateIn } from "../../core/calls/held-calls.ts";
import type { Tool } from "../../ports/agent.ts";
import { EFFECTS } from "../../core/calls/effects.ts";
import { asDeclared, effectOf } from "../../core/calls/ledger.ts";
import { isAside } from "../../core/phases.ts";
import type { OpenCall } from "../../core/state.ts";
import { type LostResult, type LostResults, lostResultKey, lostResults } from "../../history/newer-objects.ts";
import { type RestoredMark, openMark } from "../../protocol/restored.ts";
import { Unreadable } from "../../codec/canonical.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { openCall } from "./tools.ts";
import { reconcileFromOf, recordUnknown } from "./unknown-outcome.ts";

/** What precedes the first attempt of a call. `name`: nothing, and the ledger says what it may repeat. */
export interface AsksFirst {
  readonly mark: RestoredMark;
  readonly first: "probe" | "ask" | "name";
}

/** Null: the call is made as in a run that was never restored. `open`: the call with its intent. */
export function asksFirst(run: ActiveRun, called: { readonly open: OpenCall; readonly tool: Tool }): AsksFirst | null {
  const { tool } = called;
  const open = asDeclared(called.open, tool.effect);
  const mark = openMark(run.row);
  if (mark === null || open.restored === mark.at || tool.child !== undefined || tool.wait !== undefined) return null;
  const { actsOutside, afterRestore } = EFFECTS[effectOf(open)];
  if (!actsOutside) return null;
  const hasOwnKey = open.intent?.business === true || open.undoes !== undefined;
  if (afterRestore === "again") return hasOwnKey ? null : { mark, first: "name" };
  const canProbe = afterRestore === "probe" && hasOwnKey && tool.before === undefined && tool.probe !== null;
  return { mark, first: canProbe ? "probe" : "ask" };
}

/** What a human reads. Both times are those of the mark. */
export const restoredWords = ({ at, asOf }: Pick<RestoredMark, "at" | "asOf">): string =>
  `this run was restored from its state of ${isoOf(asOf)}, at ${isoOf(at)}; this may have happened in between`;

const isoOf = (time: number): string => new Date(time).toISOString();

/**
 * Schedule 207: a gate of before the restore is approved, and its call is asked about once more. Such a gate closes before
 * anyone is told of it, and the call is judged anew: its result is taken from newer objects, or one question says both.
 */
export function reopenGates(run: ActiveRun): void {
  const mark = openMark(run.row);
  const { phase, open, ending, compensate } = run.state;
  const isOver = run.row.cancel || ending !== null || compensate !== undefined;
  if (mark === null || isOver || isAside(phase)) return;
  for (const each of open) {
    const gate = gateIn(each);
    const isAsked = gate === null || gate.decision !== null || gate.restored === mark.at || each.restored === mark.at;
    if (isAsked || EFFECTS[effectOf(each)].afterRestore === "again") continue;
    const action = { kind: "askAgain", call: each.call, gate: gate.gate, restored: mark.at } as const;
    run.record({ kind: "RecoveryDecided", at: run.now, rule: RESTORED, why: restoredWords(mark), action });
  }
}

const RESTORED = "run was restored from a backup";

/**
 * Does what precedes the first attempt of the call: takes its result from newer objects, asks its probe, or asks a human.
 * The call is intended, and no earlier attempt of this run may still take effect. `reason`: why its tool needs approval.
 * Then one question says both, and the answer *retry* approves the call. False: the probe has nothing to say about an
 * approval, so its gate comes first.
 */
export async function askFirst(
  run: ActiveRun,
  { call, tool, mark, first, reason }: AsksFirst & AskedCall,
): Promise<boolean> {
  if (await takeLostResult(run, { call, mark, reason })) return true;
  if (first === "probe" && reason !== undefined) return false;
  const why = restoredWords(mark);
  const reconcilableFrom = reconcileFromOf(run, tool);
  if (first === "ask") {
    // A policy of the tool for unknown outcomes does not count: nothing of this run is unknown but its lost time.
    recordUnknown(run, { call, tool: null, why, reconcilableFrom, restored: mark.at, approval: reason });
    return true;
  }
  const at = run.now;
  run.record({ kind: "ToolInvoked", at, call, epoch: run.row.epoch });
  const action = { kind: "probe", call, at: reconcilableFrom, tried: false, restored: mark.at } as const;
  run.record({ kind: "RecoveryDecided", at, rule: RESTORED, why, action });
  return true;
}

interface AskedCall {
  readonly call: string;
  readonly tool: Tool;
  readonly reason?: string | undefined;
}

type OfLostTime = Pick<AsksFirst, "mark"> & Omit<AskedCall, "tool">;

/** The results that newer objects know, read once by an invocation. */
const known = new WeakMap<ActiveRun, Promise<LostResults>>();

async function lostResultOf(run: ActiveRun, call: string, mark: RestoredMark): Promise<LostResult | undefined> {
  const { intent } = openCall(run, call);
  if (intent === null) return undefined;
  const results = known.get(run) ?? lostResults(run.world, run.row, mark);
  known.set(run, results);
  return (await results).get(lostResultKey(intent));
}

/**
 * Schedule 263: a call happened in the lost time and was undone there. Its result would let the run go on as if the effect
 * stood, and the service may answer the same key with what was cancelled. So a human says what is true.
 */
function askAboutUndone(run: ActiveRun, { call, mark, reason }: OfLostTime): void {
  const why = `${restoredWords(mark)}; newer objects of this run say that it happened and that its undo was begun`;
  const reconcilableFrom = reconcileFromOf(run, null);
  recordUnknown(run, { call, tool: null, why, reconcilableFrom, restored: mark.at, approval: reason });
}

/**
 * Asks about a call that was undone and that its class would repeat under its key. Where the service does not know the
 * key, a repetition does it again, as wanted.
 */
export async function asksAboutUndone(
  run: ActiveRun,
  { open, tool }: Parameters<typeof asksFirst>[1],
): Promise<boolean> {
  const mark = openMark(run.row);
  const { isKnownByKey, afterRestore } = EFFECTS[tool.effect];
  const isRepeated = isKnownByKey && afterRestore === "again";
  if (mark === null || !isRepeated || tool.undo === null || open.restored === mark.at) return false;
  const found = await lostResultOf(run, open.call, mark);
  if (found?.isUndone !== true) return false;
  askAboutUndone(run, { call: open.call, mark });
  return true;
}

/**
 * Settles the call with its result of the lost time, if newer objects of the run have it. If they say that its effect was
 * undone, a human is asked. False: they do not know it.
 */
export async function takeLostResult(run: ActiveRun, asked: OfLostTime): Promise<boolean> {
  const { call, mark } = asked;
  const found = await lostResultOf(run, call, mark);
  if (found?.isUndone === true) {
    askAboutUndone(run, asked);
    return true;
  }
  if (found === undefined || !(await isWhole(run, found))) return false;
  const { outcome, value, externalId, files } = found;
  const evidence = "newer objects of this run have its result, under the same key and arguments";
  const why = restoredWords(mark);
  // It was unknown until now, so its key counts as used and its effect can be undone.
  recordUnknown(run, { call, tool: null, why, reconcilableFrom: run.now, restored: mark.at });
  const given = files === undefined ? {} : { files };
  const answer = { as: outcome, value, by: "newer objects", note: null, ...given } as const;
  const named = externalId === null ? {} : { externalId };
  run.record({ kind: "ToolResultReconciled", at: run.now, call, answer, evidence, ...named });
  // The result has to be durable before the model sees it.
  run.pending.requireCommit();
  return true;
}

/** Whether the value of the result is there: a clean-up may have removed it. */
async function isWhole(run: ActiveRun, { value }: LostResult): Promise<boolean> {
  try {
    if (value !== null) await run.json(value);
    return true;
  } catch (error) {
    if (error instanceof Unreadable) return false;
    throw error;
  }
}
