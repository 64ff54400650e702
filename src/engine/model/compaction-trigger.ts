/**
 * A context that is nearly as long as its agent allows is made shorter before the provider refuses it. What a question came
 * to is known with its reply, and the next question may be another process's: the reply's message says so.
 */
import type { Agent } from "../../ports/agent.ts";
import type { Trouble } from "../../core/policy/recovery.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { isWorthIt, stretchOf } from "./compaction-range.ts";

/** Of a question to come that would be nearly as long as the agent allows. Null: it may be asked as it is. */
export function reasonToCompact({ state }: ActiveRun, { contextTokensMax }: Agent): Trouble | null {
  const last = state.messages.findLast(({ role }) => role === "assistant");
  if (contextTokensMax === null || last?.crowded !== true) return null;
  const stretch = stretchOf(state);
  if (stretch === null || !isWorthIt(stretch)) return null;
  const message = `the last question had over ${CROWDED_SHARE * 100} % of ${contextTokensMax} tokens`;
  const failure = { code: "ContextNearlyFull", message };
  return { kind: "model", failure, retry: null, shortens: true };
}

/** From there on the next question may be too long: results of tools are added to it. */
const CROWDED_SHARE = 0.8;

export const isCrowded = ({ contextTokensMax }: Agent, tokensIn: number): boolean =>
  contextTokensMax !== null && tokensIn > contextTokensMax * CROWDED_SHARE;
