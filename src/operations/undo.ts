/** Undoing what a run did, before it is cancelled or begins again: with what that costs, for the operator who decides. */
import type { World } from "../ports/world.ts";
import { hasEnded } from "../protocol/row.ts";
import { type Compensated, type Effects, askToUndo, effectsOf } from "./compensate.ts";

interface Undoing {
  readonly run: string;
  readonly by: string;
}

/** `effects`: what it cost so far, what is to be undone, and what cannot be. */
export type Undone =
  | { readonly kind: "accepted"; readonly effects: Effects }
  | { readonly kind: Exclude<Compensated, "accepted"> };

export async function undoAndCancel(world: World, { run, by }: Undoing): Promise<Undone> {
  const effects = await effectsOf(world, run);
  return effects === null ? { kind: "missing" } : asked(world, { run, by, next: "cancel", effects });
}

/** The last resort: without `confirmed` it only says what it costs. */
export async function undoAndRestart(
  world: World,
  { run, by, confirmed }: Undoing & { readonly confirmed: boolean },
): Promise<Undone | { readonly kind: "notConfirmed"; readonly effects: Effects }> {
  const effects = await effectsOf(world, run);
  const row = await world.table.read(run, world.clock.now());
  if (effects === null || row === null) return { kind: "missing" };
  // An operator is not asked to confirm what cannot be had.
  if (hasEnded(row)) return { kind: "late" };
  return confirmed ? asked(world, { run, by, next: "restart", effects }) : { kind: "notConfirmed", effects };
}

async function asked(
  world: World,
  of: Undoing & { readonly next: "cancel" | "restart"; readonly effects: Effects },
): Promise<Undone> {
  const { run, by, next, effects } = of;
  const kind = await askToUndo(world, { run, next, by });
  return kind === "accepted" ? { kind, effects } : { kind };
}
