/** Undoes the effects of a run before it is cancelled or restarts. The operator sees what that costs. */
import type { World } from "../ports/world.ts";
import { hasEnded } from "../protocol/row.ts";
import { type Compensated, type RunEffects, requestCompensation, effectsOf } from "./compensate.ts";

interface Undoing {
  readonly run: string;
  readonly by: string;
}

/** `effects`: what was spent so far, which effects will be undone, and which cannot be. */
export type Undone =
  | { readonly kind: "accepted"; readonly effects: RunEffects }
  | { readonly kind: Exclude<Compensated, "accepted"> };

/** Requests that the run undoes its effects and is cancelled. */
export async function undoAndCancel(world: World, { run, by }: Undoing): Promise<Undone> {
  const effects = await effectsOf(world, run);
  return effects === null ? { kind: "missing" } : asked(world, { run, by, next: "cancel", effects });
}

/** The last resort. Without `confirmed` it changes nothing and returns the cost. */
export async function undoAndRestart(
  world: World,
  { run, by, confirmed }: Undoing & { readonly confirmed: boolean },
): Promise<Undone | { readonly kind: "notConfirmed"; readonly effects: RunEffects }> {
  const effects = await effectsOf(world, run);
  const row = await world.table.read(run, world.clock.now());
  if (effects === null || row === null) return { kind: "missing" };
  // An operator is not asked to confirm what is impossible.
  if (hasEnded(row)) return { kind: "late" };
  return confirmed ? asked(world, { run, by, next: "restart", effects }) : { kind: "notConfirmed", effects };
}

async function asked(
  world: World,
  { run, by, next, effects }: Undoing & { readonly next: "cancel" | "restart"; readonly effects: RunEffects },
): Promise<Undone> {
  const kind = await requestCompensation(world, { run, next, by });
  return kind === "accepted" ? { kind, effects } : { kind };
}
