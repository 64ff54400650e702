/** Warns of the end of a run that no answer, resume or message reaches for as long as a run may wait, and ends it. */
import { type Trouble, decideRecovery, forceEnd } from "../../core/policy/recovery.ts";
import type { Event } from "../../core/event.ts";
import { alarm } from "../../history/alarm.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { type Warning, noticeMs } from "./next-look.ts";
import { commitDecided } from "./terminal-commit.ts";

const EXPIRED: Trouble = {
  kind: "deadline",
  failure: { code: "Expired", message: "no answer, resume or message reached this run for as long as it may wait" },
};

/** The event notes that the inbox item of an absorbed message is removed. */
const isOfInbox = (event: Event): boolean => event.kind === "MessageAbsorbed" && event.stage !== "taken";

/** Whether anything has happened in this invocation that begins the wait anew. */
export const hasNews = (run: ActiveRun): boolean => run.moved || !run.pending.events.every(isOfInbox);

/**
 * Tells operators that the run will end, or that it goes on waiting, as its agent declares. A run that did anything in
 * this invocation is not warned: its wait begins anew. Returns null if it did not warn.
 *
 * Schedule 229: no process ran for a month, on a laptop or behind a disabled schedule. The deadline is over before anyone
 * was told, so the run waits for as long as after any warning.
 */
export function warnIfDue(run: ActiveRun): Warning | null {
  const { state, now, world } = run;
  const waitsUntil = run.committed.claimed.deadline;
  const notice = noticeMs(world.limits);
  const { clock, limits } = world;
  const isDue = clock.earliest() + limits.skewMs >= waitsUntil - notice && state.warnedOf !== waitsUntil;
  if (!isDue || hasNews(run)) return null;
  const goesOn = state.onIdle === "wait" && state.ending === null;
  const expiresAt = goesOn ? null : isTooLate(run) ? now + notice : waitsUntil;
  const why = "no answer, resume or message has reached this run for long";
  run.record({ kind: "RecoveryDecided", at: now, rule: "nobody answers", why, action: { kind: "warn", expiresAt } });
  const next = expiresAt === null ? "it goes on waiting" : `it ends at ${new Date(expiresAt).toISOString()}`;
  alarm(world, state.run, { what: "Expiring", why: `${why}: ${next}` });
  return { expiresAt };
}

/** Whether the wait is over. The chain's clock may be ahead, so a wake-up may come early by the margin of clocks. */
export const isTooLate = (run: ActiveRun): boolean =>
  run.world.clock.earliest() + run.world.limits.skewMs >= run.committed.claimed.deadline;

/**
 * Ends a run that has waited too long. As with the expiry of a gate (schedule 13), a message, a reconciliation or a
 * resume that comes before the commit wins. Then the run has not expired.
 */
export async function expire(run: ActiveRun): Promise<"continue" | "woken"> {
  const { row } = run;
  const before = run.mark();
  run.record(forceEnd(run.state, EXPIRED, run.now) ?? decideRecovery(run.state, EXPIRED, run.now));
  // Before `effectsSettleAt` the end cannot be committed yet. The decision alone is committed then, and nothing reverts it.
  if (run.state.ending === null || run.owed()[0]?.kind !== "end") return "continue";
  await commitDecided(run, run.state.ending);
  // A long inbox may have needed a commit, which then contains this decision as well. A committed decision stays.
  if (run.state.ending === null || run.row.version !== row.version || run.row === row) return "continue";
  run.restore(before);
  return "woken";
}
