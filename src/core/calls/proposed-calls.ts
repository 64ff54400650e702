/**
 * The IDs of the calls that models proposed, counted through the events of a run. The one count for every reader of
 * events: a fork counts its calls after those of the run that it comes from, and a reader that began at `c1` would name
 * the wrong calls.
 */
import type { Event, ReplyPart } from "../event.ts";

type CallPart = Extract<ReplyPart, { readonly kind: "call" }>;

/** A proposed call with its ID. */
export type ProposedCall = CallPart & { readonly call: string };

/** The ID of a call. `before`: how many calls were proposed before it. */
export const callIdAfter = (before: number): string => `c${before + 1}`;

/** The calls that `event` proposes. `before`: how many were proposed before. */
export function proposedBy(event: Event, before: number): readonly ProposedCall[] {
  if (event.kind !== "ModelCallCompleted") return [];
  const calls: ProposedCall[] = [];
  for (const part of event.parts) {
    if (part.kind === "call") calls.push({ ...part, call: callIdAfter(before + calls.length) });
  }
  return calls;
}

/** How many calls are proposed once `event` has happened. */
export const countAfter = (event: Event, before: number): number =>
  event.kind === "RunStarted" ? (event.forked?.calls ?? 0) : before + proposedBy(event, before).length;

/** All calls that these events propose, which must be all events of the run in order. */
export function proposedCalls(events: Iterable<Event>): readonly ProposedCall[] {
  const calls: ProposedCall[] = [];
  let before = 0;
  for (const event of events) {
    calls.push(...proposedBy(event, before));
    before = countAfter(event, before);
  }
  return calls;
}
