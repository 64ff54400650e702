/**
 * A run that needs a newer version of cairn than this process. While a rollout is under way both versions take beats: this
 * one leaves the run as it is, and its chain tries again later, so the newer one goes on with it. Nothing is written, since
 * what this process would write lacks what it cannot read.
 */
import type { Payload, TaskResult } from "../protocol/chain.ts";
import { TIMES } from "../protocol/limits.ts";
import type { Newer } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { alarm } from "./alarm.ts";
import { noteBehind } from "./facts.ts";

/** The chain waits as long again as the run has waited, within the bounds of a wait. */
export function waitsForNewer(
  world: World,
  { run, born, chain, epoch }: Payload,
  { why, since }: Newer,
): Extract<TaskResult, { readonly kind: "beat" }> {
  const waitedMs = since === null ? null : Math.max(0, world.clock.now() - since);
  noteBehind(world, { run, why, waitedMs });
  if (waitedMs !== null && waitedMs >= TIMES.lookMsMax) alarm(world, run, { what: "Unreadable", why });
  const seconds = waitedMs === null ? TIMES.waitSecondsMax : Math.ceil(waitedMs / 1_000);
  const bounded = Math.min(TIMES.waitSecondsMax, Math.max(WAIT_SECONDS_MIN, seconds));
  return { kind: "beat", reply: { run, born, chain, epoch, route: "wait", seconds: bounded, behind: true } };
}

const WAIT_SECONDS_MIN = 2;
