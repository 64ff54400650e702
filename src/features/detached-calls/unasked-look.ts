/**
 * Looks at a model job whose provider could not be asked: its key was revoked, its package is missing, or nothing answers.
 * The job may go on at its provider, so the run waits for it as before. An operator has to know, because the job may be
 * given up although its reply is there.
 */
import { BOUNDS } from "../../core/limits.ts";
import type { DetachedCall } from "../../core/detached-call.ts";
import { alarm } from "../../history/alarm.ts";
import { redactionIn } from "../../history/secrets.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";

/** What a look that brought no news says. */
export interface NoNews {
  readonly why: string;
  readonly isUnasked?: true;
}

/** The look of a provider that did not answer in time. */
export const NO_ANSWER = { why: "its provider did not answer in time", isUnasked: true } as const;

/**
 * Reports a look that could not ask. The pauses between two looks grow with the age of the job, and no look without news
 * is stored. So from a certain age on, one such look says that nothing was known of the job for as long as an outage lasts
 * that raises an alarm.
 */
export function noteUnasked(run: ActiveRun, { model, at, reference }: DetachedCall, { why, isUnasked }: NoNews): void {
  // A process that has to end breaks its own requests off.
  if (isUnasked !== true || run.invocation.drain.aborted) return;
  const { world, now } = run;
  const detail = { model, reference: reference ?? null, why: redactionIn(world).text(why) };
  world.telemetry.record({ at: now, run: run.row.run, level: "trace", what: "DetachedCallUnasked", detail });
  if (now - at < BOUNDS.outageAlarmMs) return;
  const named = reference === undefined ? `the job that ${model} may have` : `job ${reference} of ${model}`;
  const minutes = Math.round((now - at) / 60_000);
  const said = `${named} was begun ${minutes} minutes ago, and its provider cannot be asked for it: ${why}`;
  alarm(world, run.row.run, { what: "ModelUnavailable", why: said });
}
