/**
 * Calls that failed and that their tool wants tried again: with the same key, a bounded number of times, and before the
 * model hears of them. Each decision is an event, and with it in one commit the try is counted in the state, before the
 * next one leaves: whoever takes over after a crash goes on with that count (schedule 45).
 */
import type { Agent, Tool } from "../../ports/agent.ts";
import { sentenceOf } from "../../codec/value.ts";
import { startsOnce } from "../../core/calls/ledger.ts";
import type { OpenCall } from "../../core/state.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { hasTime } from "../context/budget-gate.ts";
import { within } from "./tool-attempt.ts";
import { timeoutOf } from "./tools.ts";
import { askFromOf } from "./unknown-outcome.ts";

interface Failed {
  readonly open: OpenCall;
  readonly tool: Tool;
  readonly error: unknown;
  readonly why: string;
}

/** Null where another try was decided; else how it is known that the call has failed. */
export function triedAgain(run: ActiveRun, agent: Agent, failed: Failed): string | null {
  const { open, tool, error, why } = failed;
  const { retry } = tool;
  if (retry === null) return "";
  const tries = open.tries + 1;
  if (tries >= retry.attempts) return tries === 1 ? "" : `, in the last of ${tries} tries`;
  const unwilling = unwillingFor(retry, error);
  if (unwilling !== null) return unwilling;
  if (!hasTime(run, agent)) return ", and no time at work is left for another try";
  const { call } = open;
  // Only the epoch that released such a call may start it. A later one asks the other side first, as after a crash.
  const isLate = startsOnce(open) && timeoutOf(run, tool) > run.leftMs;
  const action = isLate
    ? ({ kind: "probe", call, at: askFromOf(run, tool), tried: true } as const)
    : ({ kind: "again", call } as const);
  run.record({ kind: "RecoveryDecided", at: run.now, rule: RULE, why, action });
  // Each further try has a release of its own, as after a probe.
  if (!isLate) run.record({ kind: "ToolInvoked", at: run.now, call, epoch: run.row.epoch });
  return null;
}

const RULE = "call failed, its tool says try again";

/** Why its tool wants no other try after that error, or null. */
function unwillingFor({ when }: NonNullable<Tool["retry"]>, error: unknown): string | null {
  if (when === undefined) return null;
  try {
    const wants: unknown = when(error);
    if (typeof wants === "boolean") return wants ? null : ", and its tool wants no other try";
    // Nobody waits for a promise, and if it fails that must not end the process.
    if (wants instanceof Promise) wants.catch(() => undefined);
    return ", and its retry.when gave neither true nor false";
  } catch (thrown) {
    return `, and so did its retry.when: ${sentenceOf(thrown)}`;
  }
}

/** What should lie before the next try of that call. */
export const pauseBefore = ({ tries }: OpenCall, { retry }: Tool): number =>
  tries === 0 ? 0 : (retry?.backoffMs ?? 0) * 2 ** (tries - 1);

/** False if the process was asked to come to an end meanwhile. */
export async function paused({ world, invocation }: ActiveRun, ms: number): Promise<boolean> {
  const { drain } = invocation;
  if (ms === 0) return true;
  let tell = (): void => undefined;
  const drained = new Promise<true>((resolve) => {
    tell = () => resolve(true);
  });
  drain.addEventListener("abort", tell);
  if (drain.aborted) tell();
  try {
    return (await within(drained, ms, world.clock)) === null;
  } finally {
    drain.removeEventListener("abort", tell);
  }
}
