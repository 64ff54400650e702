/**
 * Somebody wants what a run did to be undone: before it is cancelled, or so that it begins again. It is a message, so it is
 * told once, kept with who said it, and lost in no crash; the request to end comes after it, so a run that ends has heard
 * it (schedule 75).
 */
import { compensateId } from "../protocol/ids.ts";
import type { World } from "../ports/world.ts";
import { EFFECTS } from "../core/calls/effects.ts";
import type { Spent } from "../core/policy/budget.ts";
import { loadAboutToBe } from "../history/after-redrive.ts";
import { deliver, senderOf } from "../engine/context/inbox.ts";
import { SegmentCache } from "../history/load.ts";
import { loadVouched } from "../history/vouch.ts";
import { ledger } from "./views.ts";
import { request } from "../engine/loop/request.ts";

export type Compensated = "accepted" | "duplicate" | "late" | "missing" | "unreadable" | "notStarted";

/** What an attempt cost, and what stands of it: `tool (call)`, in the order in which it was done. */
export interface Effects {
  readonly spent: Spent;
  readonly undoable: readonly string[];
  /** Nobody can undo these. */
  readonly standing: readonly string[];
}

/** Null: there is no such run. */
export async function effectsOf(world: World, run: string): Promise<Effects | null> {
  const row = await world.table.read(run, world.clock.now());
  if (row === null) return null;
  const { state } = await loadVouched(world, row, new SegmentCache());
  const open = state.open.filter(({ intent, status }) => intent?.undo === true && status !== "proposed");
  const undoable = [...(state.undo ?? []), ...open].map(({ call }) => call);
  const first = state.messages.slice(0, state.attemptFrom ?? 0).flatMap(({ parts }) => parts);
  const before = new Set(first.flatMap((part) => (part.kind === "call" ? [part.call] : [])));
  const calls = (await ledger(world, run)) ?? [];
  const named = new Map(calls.map(({ call, tool }) => [call, `${tool} (${call})`]));
  const standing = calls.filter(
    ({ call, effect, status, undoes }) =>
      undoes === undefined &&
      (effect === null || EFFECTS[effect].actsOutside) &&
      HAPPENED.has(status) &&
      !undoable.includes(call) &&
      !before.has(call),
  );
  return {
    spent: state.spent,
    undoable: undoable.map((call) => named.get(call) ?? call),
    standing: standing.map(({ call, tool }) => `${tool} (${call})`),
  };
}

const HAPPENED: ReadonlySet<string> = new Set(["started", "succeeded", "unknown", "reconciled"]);

export async function askToUndo(
  world: World,
  of: { readonly run: string; readonly next: "cancel" | "restart"; readonly by: string },
): Promise<Compensated> {
  const { next } = of;
  const row = await world.table.read(of.run, world.clock.now());
  if (row === null) return "missing";
  const state = await loadAboutToBe(world, row);
  if (next === "restart" && state.phase === "Preparing") return "notStarted";
  // Somebody cancels it, and it does not begin again over that.
  if (next === "restart" && state.compensate?.next === "cancel") return "late";
  const body = { kind: "compensate", next, by: senderOf(of.by) } as const;
  const message = { id: compensateId(next, state.attempt), sentAt: world.clock.now(), body };
  const delivered = await deliver(world, { run: row.run, born: row.born, message });
  if (delivered === "late" || delivered === "missing" || delivered === "unreadable") return delivered;
  if (next === "cancel") {
    const asked = await request(world, { run: row.run, want: "cancel" });
    if (asked === "late" || asked === "missing" || asked === "unreadable") return asked;
  } else if (row.pause) {
    await request(world, { run: row.run, want: "resume" });
  }
  return delivered === "delivered" ? "accepted" : "duplicate";
}
