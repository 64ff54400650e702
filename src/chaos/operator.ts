/**
 * Acts as the operator that a run may need. It approves gates, and reconciles unknown outcomes from the trace of calls,
 * as a human would who checks the external service. If the trace does not show the outcome, it gives no answer.
 */
import { BUDGET } from "../core/policy/extension.ts";
import type { World } from "../ports/world.ts";
import { decide } from "../operations/decide.ts";
import { type UnknownCall, show } from "../operations/views.ts";
import { reconcile } from "../operations/reconcile.ts";
import type { CallLine, Line } from "./trace.ts";

const BY = "chaos";

/** What it decided, if anything. */
export type Answered = "approved" | "confirmed" | "repeated";

/** Decides about all open gates and unknown outcomes of a run. Returns the decisions that were accepted. */
export async function answer(
  world: World,
  of: { readonly run: string; readonly lines: () => readonly Line[] },
): Promise<readonly Answered[]> {
  const { run } = of;
  const shown = await show(world, run);
  const answered: Answered[] = [];
  for (const { gate, call, decided } of shown?.gates ?? []) {
    // Budget requests are not approved: a killed run must complete within its agent's budget.
    if (decided || call === BUDGET) continue;
    const outcome = await decide(world, { run, gate, as: "approve", args: null, by: BY, note: null });
    if (outcome.kind === "accepted") answered.push("approved");
  }
  for (const unknown of shown?.unknown ?? []) {
    const seen = truthOf(of.lines(), unknown);
    if (unknown.answered || seen === null) continue;
    const as = seen.kind === "happened" ? "succeeded" : "retry";
    if (as === "retry" && world.clock.now() < unknown.askFrom) continue;
    const result = seen.kind === "happened" ? seen.result : null;
    const said = { run, call: unknown.call, as, result, by: BY, note: null } as const;
    const outcome = await reconcile(world, said);
    if (outcome.kind === "accepted") answered.push(seen.kind === "happened" ? "confirmed" : "repeated");
  }
  return answered;
}

type Truth = { readonly kind: "happened"; readonly result: CallLine["result"] } | { readonly kind: "absent" };

/** The outcome of a call; null if it started and never returned, so the trace cannot show it. */
export function truthOf(lines: readonly Line[], { tool, key }: Pick<UnknownCall, "tool" | "key">): Truth | null {
  const calls = lines.filter((line) => line.kind === "call").filter((line) => line.tool === tool && line.key === key);
  const returned = calls.find(({ what }) => what === "returned");
  if (returned !== undefined) return { kind: "happened", result: returned.result };
  const begun = calls.filter(({ what }) => what === "begun").length;
  return begun === calls.filter(({ what }) => what === "threw").length ? { kind: "absent" } : null;
}
