/**
 * Begins a job of an asynchronous model: commits the key of the job, before its request leaves (`detached-call.ts`). The
 * state then says that the job may exist, so a process that dies from here on loses no track of it.
 */
import type { Agent } from "../../ports/agent.ts";
import { visibleMessages } from "../../core/policy/window.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";
import { type Next, goesOn } from "../../engine/context/next.ts";
import { estimatedCost } from "../../engine/context/unaccounted-model-calls.ts";
import { type Routing, routeOf } from "../../engine/model/provider-outage.ts";
import { withMemoryDigest } from "../memory/recalled.ts";
import { requestDigests } from "../../engine/model/request-digests.ts";

/** The time for one request about a job, in milliseconds. */
export const REQUEST_MS = 60_000;

/** How many hex digits of a random number a key has. */
const KEY_DIGITS = 32;

/** Commits that the job begins. The commit may bring news, such as a cancel, so the caller decides again. */
export async function beginDetached(
  run: ActiveRun,
  agent: Agent,
  { model, routed }: Pick<Routing, "model" | "routed">,
): Promise<Next> {
  if (run.leftMs < Math.min(REQUEST_MS, run.world.limits.modelMs) && run.moved) return "release";
  const random = run.world.random.hex().slice(0, KEY_DIGITS);
  run.record({
    kind: "DetachedCallBegun",
    at: run.now,
    key: `cairn-${random}`,
    model: model.name,
    epoch: run.row.epoch,
    reserved: estimatedCost(run.state, agent.price),
    request: requestDigests(withMemoryDigest(run.state, agent), visibleMessages(run.state)),
    ...routeOf({ routed }),
  });
  await run.commitPending();
  return goesOn("newJob");
}
