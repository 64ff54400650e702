/**
 * A run that needs a newer version of cairn than this process. While a rollout is under way both versions take beats: this
 * one leaves the run as it is, and its chain tries again later, so the newer one goes on with it. Nothing is written, since
 * what this process would write lacks what it cannot read.
 */
import type { Payload, TaskResult } from "../../protocol/chain.ts";
import { TIMES } from "../../protocol/limits.ts";
import type { Newer } from "../../protocol/newer.ts";
import type { World } from "../../ports/world.ts";
import { alarm } from "../../history/alarm.ts";
import { noteBehind } from "../context/telemetry-events.ts";

/**
 * Schedule 103: the process before this one claimed the run and died. As its retry this one may claim, but the entry after the
 * wait begins its retries anew: it has the epoch of the row, or the dead process would refuse it.
 *
 * The chain waits as long again as the run has waited, within the bounds of a wait.
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
