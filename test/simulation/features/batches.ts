/**
 * What must hold of the model batches of a history: one batch for each that was begun, begun before it was sent, read once, and
 * never called absent while it exists. That each is in a debit, a checker says of all model calls.
 */
import type { EventOf } from "../../../src/core/event.ts";
import type { ObservedHistory } from "../observed-history.ts";
import type { Placed } from "../record.ts";
import type { Feature } from "./feature.ts";
import type { Batch } from "./batch-provider.ts";

const batchesIn = ({ history }: ObservedHistory): readonly Batch[] => history.batches;

function wrong(seen: ObservedHistory): readonly string[] {
  const { history } = seen;
  const { features, mode } = history.plan;
  return [
    ...(features.batches?.lostStart === "none" || mode.mayDouble ? [] : [...startedTwice(seen), ...calledAbsent(seen)]),
    ...sentBeforeBegun(seen),
    ...readOnce(seen),
    ...endedOnce(seen),
  ];
}

/** Two batches under one key would both be paid for. */
function startedTwice(seen: ObservedHistory): readonly string[] {
  const keys = batchesIn(seen).map(({ key }) => key);
  return keys.filter((key, index) => keys.indexOf(key) !== index).map((key) => `${key} was started twice`);
}

/** Who is told that there is no batch asks for another one, and a refusal of its start says so, too. */
function calledAbsent(seen: ObservedHistory): readonly string[] {
  const submitted = new Set(seen.events("DetachedCallSubmitted").map(({ event }) => event.key));
  return seen.events("DetachedCallEnded").flatMap(({ event: { key, how } }) => {
    const batch = batchesIn(seen).find((each) => each.key === key);
    const isNone = how === "absent" || how === "unsent" || (how === "failed" && !submitted.has(key));
    return batch !== undefined && isNone ? [`${key} is ${batch.reference}, and ended ${how}`] : [];
  });
}

/** The commit of a batch is there before its request leaves. */
function sentBeforeBegun(seen: ObservedHistory): readonly string[] {
  const begun = seen.events("DetachedCallBegun");
  return batchesIn(seen).flatMap(({ key, order }) =>
    begun.some((each) => each.event.key === key && each.order < order) ? [] : [`${key} was sent before it was begun`],
  );
}

/** A reply counts once, and only that of a batch that the run knows. */
function readOnce(seen: ObservedHistory): readonly string[] {
  const replies = seen.events("ModelCallCompleted").map(({ event }) => event.tokensOut);
  const submitted = new Set(seen.events("DetachedCallSubmitted").map(({ event }) => event.reference));
  return batchesIn(seen).flatMap(({ reference, tokensOut }) => {
    const times = replies.filter((each) => each === tokensOut).length;
    if (times > 1) return [`the reply of ${reference} counts ${times} times`];
    return times === 1 && !submitted.has(reference)
      ? [`the reply of ${reference} counts, which the run never knew`]
      : [];
  });
}

/** Each batch that was begun has one end: its reply, or why there is none. */
function endedOnce({ events }: ObservedHistory): readonly string[] {
  const begun: readonly Placed<{ event: EventOf<"DetachedCallBegun"> }>[] = events("DetachedCallBegun");
  const ends = events("DetachedCallEnded");
  return begun.flatMap(({ event: { key } }) => {
    const times = ends.filter((each) => each.event.key === key).length;
    return times > 1 ? [`${key} ended ${times} times`] : [];
  });
}

const ENDS = ["absent", "failed", "cancelled", "unsent", "lost"] as const;

const CELLS = ["read", "adopted", "taken over", "text held", ...ENDS].map((what) => `batch ${what}`);

function met(seen: ObservedHistory): readonly string[] {
  const { events, history } = seen;
  const replies = events("ModelCallCompleted");
  const read = history.batches.filter(({ tokensOut }) => replies.some(({ event }) => event.tokensOut === tokensOut));
  const takeovers = events("RecoveryDecided").filter(({ event }) => event.action.kind === "takeover");
  const texts = events("MessageAbsorbed").filter(({ event }) => event.stage === "taken" && event.body.kind === "user");
  const isWhile = (batch: Batch, order: number): boolean =>
    order > batch.order && replies.some((each) => each.event.tokensOut === batch.tokensOut && each.order > order);
  const cells: Readonly<Record<string, boolean>> = {
    read: read.length > 0,
    adopted: events("DetachedCallSubmitted").some(({ event }) => event.adopted === true),
    "taken over": read.some((batch) => takeovers.some(({ order }) => isWhile(batch, order))),
    "text held": read.some((batch) => texts.some(({ order }) => isWhile(batch, order))),
  };
  return [
    ...Object.entries(cells).flatMap(([name, isMet]) => (isMet ? [`batch ${name}`] : [])),
    ...new Set(events("DetachedCallEnded").map(({ event }) => `batch ${event.how}`)),
  ];
}

export const BATCHES: Feature = { isIn: ({ plan }) => plan.features.batches !== null, wrong, cells: CELLS, met };
