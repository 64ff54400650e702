/** Records decisions that had no effect: the gate was closed already, or it closes before the decision is applied. */
import { closedFor, endsBefore, gatesIn, unapplied } from "../../core/calls/ignored-decisions.ts";
import type { MessageBody } from "../../core/event.ts";
import type { ActiveRun } from "./active-run.ts";

/** Records a decision that was just absorbed and whose gate is not open. */
export function noteIgnored(run: ActiveRun, body: MessageBody): void {
  if (body.kind !== "decision" || gatesIn(run.state).some(({ gate }) => gate === body.gate)) return;
  const { as, by } = body.decision;
  const why = endsBefore(run.state, run.row) ?? closedFor(run.state, body.gate);
  run.record({ kind: "DecisionIgnored", at: run.now, gate: body.gate, as, by, why });
}

/**
 * Schedule 84: the run ends or restarts and closes its gates. Some of their decisions were absorbed but not applied, so
 * each of them is recorded as ignored.
 */
export function ignoreUnapplied(run: ActiveRun): void {
  const why = endsBefore(run.state, run.row) ?? "the run ended before the decision was applied";
  for (const { gate, decision } of unapplied(run.state)) {
    const { as, by } = decision;
    run.record({ kind: "DecisionIgnored", at: run.now, gate, as, by, why });
  }
}
