/**
 * Handles a run that needs a newer version of cairn than this process. During a rollout both versions take beats. This
 * process leaves the run unchanged, and its chain retries later, so that a newer process continues it. It writes
 * nothing, because its write would drop the fields that it cannot read.
 */
import type { Payload, TaskResult } from "../../protocol/chain.ts";
import { TIMES } from "../../protocol/limits.ts";
import type { Newer } from "../../protocol/newer.ts";
import type { World } from "../../ports/world.ts";
import { alarm } from "../../history/alarm.ts";
import { noteBehind } from "../context/telemetry-events.ts";

/**
 * Replies that the chain waits as long as the run has waited so far, within bounds.
 *
 * Schedule 103: a newer process claimed the run and died, and this process is its retry. The entry after the wait
 * starts with a new first attempt. So the reply names the epoch of the row; otherwise the claim of the dead process
 * would fence that entry.
 */
export function waitsForNewer(
  world: World,
  payload: Payload,
  { why, at }: Newer,
): Extract<TaskResult, { readonly kind: "beat" }> {
  const { run, born, chain, epoch, agent } = payload;
  const waitedMs = at === null ? null : Math.max(0, world.clock.now() - at.since);
  noteBehind(world, { run, why, waitedMs });
  if (waitedMs !== null && waitedMs >= TIMES.lookMsMax) alarm(world, run, { what: "Unreadable", why });
  const seconds = waitedMs === null ? TIMES.waitSecondsMax : Math.ceil(waitedMs / 1_000);
  const bounded = Math.min(TIMES.waitSecondsMax, Math.max(WAIT_SECONDS_MIN, seconds));
  const from = { run, born, chain, epoch: at?.epoch ?? epoch, agent };
  const reply = { ...from, route: "wait", seconds: bounded, behind: true } as const;
  return { kind: "beat", reply };
}

const WAIT_SECONDS_MIN = 2;
