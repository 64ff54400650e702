/**
 * Sends a human's answer about a call whose outcome is unknown. An answer that names no open question is refused before
 * any write (schedule 29). So is "it did not happen" while the call may still take effect (schedule 35).
 */
import { nextCompensationStep } from "../core/policy/ending.ts";
import { TOO_DEEP, isTooDeep } from "../codec/to-json.ts";
import { bounded } from "../codec/value.ts";
import type { Answer } from "../core/event.ts";
import type { State } from "../core/state.ts";
import { reconcileId } from "../protocol/ids.ts";
import type { Json } from "../core/json.ts";
import { SIZES } from "../codec/limits.ts";
import type { World } from "../ports/world.ts";
import { type Row, hasEnded } from "../protocol/row.ts";
import { keepValue } from "../history/write-objects.ts";
import { loadAfterRedrive } from "../features/redrive/after-redrive.ts";
import { type Gone, type Sending, checkThenDeliver } from "./look-then-deliver.ts";
import { timeline } from "./views.ts";

/** The outcome of a reconciliation. */
export type Reconciled =
  | { readonly kind: "accepted" }
  /** The question was answered before; the first answer counts. */
  | { readonly kind: "duplicate"; readonly answer: Answer | null }
  /** The tool of the call has no undo. */
  | { readonly kind: "noUndo"; readonly tool: string }
  /** The run has no such open question. `unknown`: the calls that it does ask about. */
  | { readonly kind: "stale"; readonly unknown: readonly string[] }
  | { readonly kind: "tooEarly"; readonly reconcilableFrom: number }
  /** The result cannot be stored. */
  | { readonly kind: "refused"; readonly why: string }
  | Gone;

interface Answered {
  readonly run: string;
  readonly call: string;
  /**
   * The number of the question that the sender saw (`OpenCall.timesUnknown`). Without it the answer is for the open question,
   * which suits humans who have just looked. A client that resends its answer after a crash must give the number. Its
   * first copy may have permitted an attempt, and the second copy would permit one more (schedule 18).
   */
  readonly asked?: number;
  readonly as: Answer["as"];
  readonly result: Json | null;
  readonly by: string;
  readonly note: string | null;
}

/** Sends the answer and reports whether it can still count. */
export function reconcile(world: World, said: Answered): Promise<Reconciled> {
  return checkThenDeliver<Reconciled>(world, said.run, (row) => answerTo(world, row, said));
}

async function answerTo(world: World, row: Row, said: Answered): Promise<Reconciled | Sending<Reconciled>> {
  const state = await loadAfterRedrive(world, row);
  const unknown = state.open.filter((open) => open.status === "unknown");
  const open = unknown.find((each) => each.call === said.call);
  const isOther = said.asked !== undefined && open?.timesUnknown !== said.asked;
  if (open === undefined || isOther) return { kind: "stale", unknown: unknown.map(({ call }) => call) };
  if (open.answer !== null) return { kind: "duplicate", answer: open.answer };
  // Also for a run that is redriven before the answer arrives: it asks its own questions then.
  if (hasEnded(row)) return { kind: "late" };
  if (said.as === "compensate" && open.intent?.undo !== true) return { kind: "noUndo", tool: open.tool };
  const reconcilableFrom = open.reconcilableFrom ?? 0;
  if (said.as !== "succeeded" && said.as !== "compensate" && world.clock.now() < reconcilableFrom)
    return { kind: "tooEarly", reconcilableFrom };
  const result = said.as === "succeeded" ? said.result : null;
  if (isTooDeep(result)) return { kind: "refused", why: TOO_DEEP };
  const inlineMax = SIZES.stateValueBytesMax;
  const value = result === null ? null : await keepValue(world, row, { json: result, inlineMax });
  const note = said.note === null ? null : bounded(said.note);
  const answer: Answer = { as: said.as, value, by: bounded(said.by), note };
  const { call, timesUnknown } = open;
  return {
    kind: "send",
    id: reconcileId(call, timesUnknown),
    body: { kind: "reconcile", call, question: timesUnknown, answer },
    onDelivered: async () =>
      (await wentOn(world, { row, call, question: timesUnknown, as: said.as }))
        ? { kind: "stale", unknown: [] }
        : { kind: "accepted" },
    onDuplicate: () => ({ kind: "duplicate", answer: null }),
  };
}

/**
 * Whether the run moved past the question before the answer arrived. Schedules 56 and 60: an operator sees a call. Then
 * the call goes on, is given up, or the run begins to end. Then the answer is delivered, and no beat applies it any more.
 *
 * Schedule 268: another operator cancels the run meanwhile, perhaps with a compensation, which settles the call as unknown.
 * So the question has to be open still, in a run that takes answers: one that ends takes them only about its undos. Where
 * the cancel is not decided yet the answer may still count (schedule 265), which cannot be promised.
 */
async function wentOn(
  world: World,
  { row, call, question, as }: { readonly row: Row; readonly as: Answer["as"] } & AskedQuestion,
): Promise<boolean> {
  const after = await world.table.read(row.run, world.clock.now());
  if (after === null) return false;
  // A beat applied the answer before this read. What followed, even a failure, is its consequence.
  const events = (await timeline(world, { run: row.run, after: row.version })) ?? [];
  const isApplied = events.some(
    (event) =>
      (event.kind === "ToolResultReconciled" && event.call === call && event.evidence === undefined) ||
      (as === "compensate" && event.kind === "RecoveryDecided" && event.action.kind === "compensate"),
  );
  return !isApplied && (hasEnded(after) || !isAsked(await loadAfterRedrive(world, after), after, { call, question }));
}

interface AskedQuestion {
  readonly call: string;
  readonly question: number;
}

function isAsked(state: State, { cancel }: Row, { call, question }: AskedQuestion): boolean {
  const takesAnswers = state.ending === null ? !cancel : nextCompensationStep(state) === "calls";
  const open = state.open.find((each) => each.call === call);
  return takesAnswers && open?.status === "unknown" && open.timesUnknown === question;
}
