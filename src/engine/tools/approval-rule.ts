/**
 * Asks the approval rule of a tool whether a human has to approve a call. A gate never opens by accident: a rule that
 * throws, rejects, gives no answer in time or returns something else than a reason or false asks a human.
 */
import type { Tool } from "../../ports/agent.ts";
import { bounded, sentenceOf } from "../../codec/value.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { withTimeout } from "./tool-attempt.ts";
import { callContextOf } from "./tools.ts";

/** How long a rule may take, in milliseconds. */
const RULE_MS_MAX = 10_000;

/** Why a human has to approve the call, or null. `input` makes its parsed arguments. */
export async function reasonToAsk(run: ActiveRun, { approval }: Tool, input: () => unknown): Promise<string | null> {
  if (approval === "never") return null;
  if (approval === "always") return "this tool always needs approval";
  const context = await callContextOf(run);
  // Never rejects, also after its time.
  const judged = (async (): Promise<{ readonly reason: string | null }> => {
    try {
      return { reason: reasonIn(await approval(input(), context)) };
    } catch (error) {
      return { reason: `its approval policy threw: ${sentenceOf(error)}` };
    }
  })();
  const most = Math.max(1, Math.min(RULE_MS_MAX, run.leftMs));
  const answer = await withTimeout(judged, most, run.world.clock);
  const reason = answer === null ? `its approval policy gave no answer within ${most} ms` : answer.reason;
  return reason === null ? null : bounded(reason);
}

function reasonIn(given: unknown): string | null {
  if (given === false) return null;
  return typeof given === "string" ? given : `its approval policy returned no reason and not false: ${String(given)}`;
}
