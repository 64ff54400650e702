/**
 * Retries of failed calls that their tool asks for. A retry uses the same key, the number of attempts is bounded, and
 * the model does not see the failures in between. Each decision is an event. Its commit counts the attempt in the state
 * before the next attempt leaves. So an invocation that continues after a crash goes on with that count (schedule 45).
 */
import type { Agent, Tool } from "../../ports/agent.ts";
import { sentenceOf } from "../../codec/value.ts";
import { startsOnce } from "../../core/calls/ledger.ts";
import type { OpenCall } from "../../core/state.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { hasTime } from "../context/budget-gate.ts";
import { withTimeout } from "../../ports/with-timeout.ts";
import { timeoutOf } from "./tools.ts";
import { reconcileFromOf } from "./unknown-outcome.ts";

/** A failed attempt of an open call. */
interface Failed {
  readonly open: OpenCall;
  readonly tool: Tool;
  readonly error: unknown;
  readonly why: string;
}

/**
 * Decides about another attempt. Returns null if one was decided. Otherwise returns the evidence that the call has
 * failed, to append to the outcome.
 */
export function recordRetry(run: ActiveRun, agent: Agent, failed: Failed): string | null {
  const { open, tool, error, why } = failed;
  const { retry } = tool;
  if (retry === null) return "";
  const tries = open.attempts + 1;
  if (tries >= retry.attempts) return tries === 1 ? "" : `, in the last of ${tries} tries`;
  const unwilling = unwillingFor(retry, error);
  if (unwilling !== null) return unwilling;
  if (!hasTime(run, agent)) return ", and no time at work is left for another try";
  const { call } = open;
  // Only the epoch that released such a call may start it. A later epoch probes first, as after a crash.
  const isLate = startsOnce(open) && timeoutOf(run, tool) > run.leftMs;
  const action = isLate
    ? ({ kind: "probe", call, at: reconcileFromOf(run, tool), tried: true } as const)
    : ({ kind: "again", call } as const);
  run.record({ kind: "RecoveryDecided", at: run.now, rule: RULE, why, action });
  // Each further attempt is released by an event of its own, as after a probe.
  if (isLate) return null;
  run.record({ kind: "ToolInvoked", at: run.now, call, epoch: run.row.epoch });
  run.noticed.noteReleasedAgain(call);
  return null;
}

const RULE = "call failed, its tool says try again";

/** Why the tool wants no other attempt after this error, or null if it wants one. */
function unwillingFor({ when }: NonNullable<Tool["retry"]>, error: unknown): string | null {
  if (when === undefined) return null;
  try {
    const wants: unknown = when(error);
    if (typeof wants === "boolean") return wants ? null : ", and its tool wants no other try";
    // A promise is not awaited. Its rejection must not end the process.
    if (wants instanceof Promise) wants.catch(() => undefined);
    return ", and its retry.when gave neither true nor false";
  } catch (thrown) {
    return `, and so did its retry.when: ${sentenceOf(thrown)}`;
  }
}

/** The pause before the next attempt of the call, in milliseconds. It doubles with each attempt. */
export const pauseBefore = ({ attempts }: OpenCall, { retry }: Tool): number =>
  attempts === 0 ? 0 : (retry?.backoffMs ?? 0) * 2 ** (attempts - 1);

/** Waits `ms` milliseconds. Returns false if the process was asked to end meanwhile. */
export async function waitUnlessDrained({ world, invocation }: ActiveRun, ms: number): Promise<boolean> {
  const { drain } = invocation;
  if (ms === 0) return true;
  let tell = (): void => undefined;
  const drained = new Promise<true>((resolve) => {
    tell = () => resolve(true);
  });
  drain.addEventListener("abort", tell);
  if (drain.aborted) tell();
  try {
    return (await withTimeout(drained, ms, world.clock)) === null;
  } finally {
    drain.removeEventListener("abort", tell);
  }
}
