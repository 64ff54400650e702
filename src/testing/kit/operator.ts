/**
 * The operator of a test: decides about gates and reconciles unknown outcomes, as a human would who looks at the
 * external service.
 */
import type { Json } from "../../core/json.ts";
import { decide } from "../../operations/decide.ts";
import { reconcile } from "../../operations/reconcile.ts";
import { type OpenGate, type UnknownCall, show } from "../../operations/views.ts";
import type { World } from "../../ports/world.ts";

/** What the operator saw in the external service. */
export type Truth = { readonly kind: "happened"; readonly result: Json } | { readonly kind: "absent" };

/** A decision that the run accepted: a gate, or an outcome reconciled as happened (`confirmed`) or not (`repeated`). */
export type Decided = "approved" | "denied" | "confirmed" | "repeated";

export interface Operator {
  /** The name in the records of the run. */
  readonly by: string;
  /** The decision about a gate; null: none. The gate of the budget has the tool `budget`. */
  readonly decide: (gate: OpenGate) => "approve" | "deny" | null;
  /** The outcome of a call; null if the operator cannot know it. */
  readonly truth: (call: UnknownCall) => Truth | null;
}

export interface Answers {
  /** The accepted decisions. */
  readonly decided: readonly Decided[];
  /** The calls of which the operator does not know the outcome. */
  readonly unanswered: readonly UnknownCall[];
  /** When the operator may say of a call that it did not happen, epoch milliseconds; null if no call waits for that. */
  readonly askFrom: number | null;
}

/** Decides about all open gates and unknown outcomes of a run. */
export async function answer(world: World, run: string, { by, ...operator }: Operator): Promise<Answers> {
  const shown = await show(world, run);
  const decided: Decided[] = [];
  const unanswered: UnknownCall[] = [];
  const early: number[] = [];
  for (const gate of shown?.gates ?? []) {
    const as = gate.decided ? null : operator.decide(gate);
    if (as === null) continue;
    const outcome = await decide(world, { run, gate: gate.gate, as, args: null, by, note: null });
    if (outcome.kind === "accepted") decided.push(as === "approve" ? "approved" : "denied");
  }
  for (const call of shown?.unknown ?? []) {
    const seen = call.answered ? null : operator.truth(call);
    if (seen === null) {
      if (!call.answered) unanswered.push(call);
      continue;
    }
    const as = seen.kind === "happened" ? "succeeded" : "retry";
    if (as === "retry" && world.clock.now() < call.askFrom) {
      early.push(call.askFrom);
      continue;
    }
    const result = seen.kind === "happened" ? seen.result : null;
    const outcome = await reconcile(world, { run, call: call.call, as, result, by, note: null });
    if (outcome.kind === "accepted") decided.push(as === "succeeded" ? "confirmed" : "repeated");
  }
  return { decided, unanswered, askFrom: early.length === 0 ? null : Math.min(...early) };
}
