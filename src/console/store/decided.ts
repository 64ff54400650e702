/**
 * The decisions that this page has sent, so that no second click is invited: the API accepts a decision before the run
 * has taken it. What was refused may be decided again.
 */
import { signal } from "@preact/signals";
import type { ShownProblem } from "../api/problem.ts";
import type { ConsoleAction } from "../model/commands.ts";
import { sendAction } from "./act.ts";

export type Fate =
  | { readonly kind: "sending" }
  | { readonly kind: "accepted"; readonly toolGone: boolean }
  | { readonly kind: "refused"; readonly trouble: ShownProblem };

export const fates = signal<ReadonlyMap<string, Fate>>(new Map());

const set = (id: string, fate: Fate): void => {
  fates.value = new Map(fates.peek()).set(id, fate);
};

/** Sends a decision once: while it is under way or accepted, another click does nothing. */
export async function sendDecision(id: string, action: ConsoleAction): Promise<void> {
  const fate = fates.peek().get(id);
  if (fate !== undefined && fate.kind !== "refused") return;
  set(id, { kind: "sending" });
  const sent = await sendAction(action);
  if (sent.kind === "refused") set(id, sent);
  else set(id, { kind: "accepted", toolGone: sent.kind === "accepted" && sent.outcome["toolGone"] === true });
}
