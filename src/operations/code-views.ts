/** The view of what a run waits for at its agent: a version, its code, tools, or what an operator has to mend. */
import { upgradesOf } from "../core/policy/holds.ts";
import { lacksTool } from "../core/outstanding.ts";
import type { Mends } from "../core/policy/mends.ts";
import type { State } from "../core/state.ts";
import { upgradeId } from "../protocol/ids.ts";

/** What a run waits for at its agent. */
export type WaitsFor =
  /** An operator has to accept version `to`. `accepted`: an operator has, and the next beat will see it. */
  | { readonly kind: "upgrade"; readonly from: string; readonly to: string; readonly accepted: boolean }
  /** The agent cannot be loaded. */
  | { readonly kind: "agent"; readonly why: string }
  /** An operator has to mend what fails. A resume tries again. */
  | { readonly kind: "operator"; readonly mends: Mends; readonly code: string; readonly why: string }
  /** The agent has no tools for open calls any more. */
  | { readonly kind: "tools"; readonly tools: readonly string[] };

export function waitsFor(state: State, isSent: (id: string) => boolean): WaitsFor | null {
  const { lack, accepted, questions } = upgradesOf(state);
  if (lack?.kind === "upgrade") {
    const { to } = lack;
    return {
      kind: "upgrade",
      from: state.agentVersion,
      to,
      accepted: accepted?.to === to || isSent(upgradeId(questions)),
    };
  }
  if (lack?.kind === "operator") {
    const { mends, failure } = lack;
    return { kind: "operator", mends, code: failure.code, why: failure.message };
  }
  if (lack !== null) return lack;
  const tools = state.open.filter(lacksTool).map(({ tool }) => tool);
  return tools.length === 0 ? null : { kind: "tools", tools: [...new Set(tools)] };
}
