/**
 * Requests that a run compensates, before it is cancelled or restarts. The request is a message, so it is delivered
 * once, survives a crash and records its author. The cancel request follows the message, so a run that ends has
 * absorbed it (schedule 75).
 */
import { compensateId } from "../protocol/ids.ts";
import type { World } from "../ports/world.ts";
import { type Effects as StandingEffects, effectsThatStand } from "../features/saga/core-standing.ts";
import type { Spent } from "../core/policy/budget.ts";
import { loadAfterRedrive } from "../features/redrive/after-redrive.ts";
import { deliver, senderOf } from "../engine/context/inbox.ts";
import { SegmentCache } from "../history/load.ts";
import { loadVouched } from "../history/vouch.ts";
import { ledger } from "./views.ts";
import { sendRequest } from "../engine/loop/request.ts";

/** The outcome of a request to compensate. `notStarted`: there is nothing to restart yet. */
export type Compensated = "accepted" | "duplicate" | "late" | "missing" | "unreadable" | "notStarted";

/** What the run has spent, and the effects of its calls since the last restart. */
export interface RunEffects extends StandingEffects {
  readonly spent: Spent;
}

/** Null if there is no such run. */
export async function effectsOf(world: World, run: string): Promise<RunEffects | null> {
  const row = await world.table.read(run, world.clock.now());
  if (row === null) return null;
  const { state } = await loadVouched(world, row, new SegmentCache());
  const entries = new Map((await ledger(world, run))?.map((entry) => [entry.call, entry]));
  const effects = effectsThatStand(state, ({ call }) => {
    const { effect = null, status } = entries.get(call) ?? {};
    return { effect, isUndone: status === "compensated" };
  });
  return { spent: state.spent, ...effects };
}

/** Delivers the request, then cancels the run, or resumes it if it is paused. */
export async function requestCompensation(
  world: World,
  { next, run, by }: { readonly run: string; readonly next: "cancel" | "restart"; readonly by: string },
): Promise<Compensated> {
  const row = await world.table.read(run, world.clock.now());
  if (row === null) return "missing";
  const state = await loadAfterRedrive(world, row);
  if (next === "restart" && (state.pausedFrom ?? state.phase) === "Preparing") return "notStarted";
  // An operator has cancelled the run. A restart does not override that.
  if (next === "restart" && (row.cancel || state.compensate?.next === "cancel")) return "late";
  const body = { kind: "compensate", next, by: senderOf(by) } as const;
  const message = { id: compensateId(next, state.restart), sentAt: world.clock.now(), body };
  const delivered = await deliver(world, { run: row.run, born: row.born, message });
  if (delivered === "late" || delivered === "missing" || delivered === "unreadable") return delivered;
  if (next === "cancel") {
    const asked = await sendRequest(world, { run: row.run, want: "cancel" });
    if (asked === "late" || asked === "missing" || asked === "unreadable") return asked;
  } else if (row.pause) {
    await sendRequest(world, { run: row.run, want: "resume" });
  }
  return delivered === "delivered" ? "accepted" : "duplicate";
}
