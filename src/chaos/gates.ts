/**
 * Decides about the calls of a trial that ask a human: by the rule of the agent's file, or by the decision that was typed.
 * Without either, nothing decides, so that no call is approved in silence.
 */
import { AgentInvalid } from "../ports/agent-invalid.ts";
import type { Chaos, ChaosGate } from "../sdk/chaos.ts";

export type GateDecision = "approve" | "deny";

/** Throws `GateUndecided` if nothing decides. */
export type GateRule = (gate: ChaosGate) => GateDecision;

/** A call asks for approval, and the trial has no rule for it. */
export class GateUndecided extends Error {
  override readonly name = "GateUndecided";
  readonly tool: string;
  readonly reason: string;

  constructor({ tool, reason }: ChaosGate) {
    super(`a call of ${tool} asks for approval (${reason}), and nothing decides about it`);
    this.tool = tool;
    this.reason = reason;
  }
}

/** `typed`: the decision about all calls, which the user typed; null: none. It stands over the rule of the file. */
export function gateRule(chaos: Pick<Chaos, "decide"> | null, typed: GateDecision | null): GateRule {
  return (gate) => {
    const decision = typed ?? chaos?.decide?.(gate);
    if (decision === undefined) throw new GateUndecided(gate);
    if (decision === "approve" || decision === "deny") return decision;
    throw new AgentInvalid(`decide of chaos returned ${String(decision)} for ${gate.tool}: return "approve" or "deny"`);
  };
}
