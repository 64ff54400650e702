/**
 * Starts a compaction before the provider refuses the context. The length of a request is known only with its reply,
 * and another process may send the next request. So the message of the reply records that the context was nearly full.
 */
import type { Agent } from "../../ports/agent.ts";
import type { Trouble } from "../../core/policy/recovery.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { isWorthCompacting, compactionRangeOf } from "./compaction-range.ts";

/** Why the context has to be compacted before the next model call, or null. */
export function reasonToCompact({ state }: ActiveRun, { contextTokensMax }: Agent): Trouble | null {
  const last = state.messages.findLast(({ role }) => role === "assistant");
  if (contextTokensMax === null || last?.crowded !== true) return null;
  const stretch = compactionRangeOf(state);
  if (stretch === null || !isWorthCompacting(stretch)) return null;
  const message = `the last question had over ${CROWDED_SHARE * 100} % of ${contextTokensMax} tokens`;
  const failure = { code: "ContextNearlyFull", message };
  return { kind: "model", failure, retry: null, shortens: true };
}

/** Above this share of the limit the next request may be too long, because tool results are added to it. */
const CROWDED_SHARE = 0.8;

/** Whether a request of this many tokens nearly filled the context. */
export const needsCompaction = ({ contextTokensMax }: Agent, tokensIn: number): boolean =>
  contextTokensMax !== null && tokensIn > contextTokensMax * CROWDED_SHARE;
