/** Records decisions that had no effect: the gate was closed already, or it closes before the decision is applied. */
import { openGatesIn } from "../../core/policy/extension.ts";
import { whyGateClosed, endBeforeDecision, unappliedDecisions } from "./core-ignored-decisions.ts";
import type { MessageBody } from "../../core/event.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";

/** Records a decision that was just absorbed and whose gate is not open. */
export function recordIgnoredDecision(run: ActiveRun, body: MessageBody): void {
  if (body.kind !== "decision" || openGatesIn(run.state).some(({ gate }) => gate === body.gate)) return;
  const { as, by } = body.decision;
  const why = endBeforeDecision(run.state, run.row) ?? whyGateClosed(run.state, body.gate);
  run.record({ kind: "DecisionIgnored", at: run.now, gate: body.gate, as, by, why });
}

/**
 * Schedule 84: the run ends or restarts and closes its gates. Some of their decisions were absorbed but not applied, so
 * each of them is recorded as ignored.
 */
export function ignoreUnappliedDecisions(run: ActiveRun): void {
  const why = endBeforeDecision(run.state, run.row) ?? "the run ended before the decision was applied";
  for (const { gate, decision } of unappliedDecisions(run.state)) {
    const { as, by } = decision;
    run.record({ kind: "DecisionIgnored", at: run.now, gate, as, by, why });
  }
}
