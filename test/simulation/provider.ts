/**
 * The provider of a history's model: in one history of five it gives no answers for a while, from some seconds up to hours
 * of simulated time. Then no run may fail for that reason, and nothing that it did may be undone.
 */
import { APICallError } from "@ai-sdk/provider";
import type { Clock } from "../../src/ports/world.ts";
import type { SeededChoices } from "./seeded-choices.ts";
import type { ObservedHistory } from "./observed-history.ts";
import { replay } from "./replay.ts";

/** What the seed chose: from which question on, for how long, and whether a fallback answers meanwhile. */
export interface ModelOutagePlan {
  readonly fromQuestion: number;
  readonly ms: number;
  readonly fallback: "none" | "answers" | "away as well";
  /** What somebody does, once in each long wait of the run. */
  readonly wakes: "send" | "resume" | null;
}

/** How long the provider asks to be left alone. */
const RETRY_AFTER_SECONDS = 40;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** A sweeper comes every few seconds of all that time, so only histories without one have long outages. */
export function modelOutagePlanOf(chance: SeededChoices, isSwept: boolean): ModelOutagePlan | null {
  if (!chance.oneIn(5)) return null;
  const longest = isSwept ? 20 * MINUTE : 240 * MINUTE;
  return {
    fromQuestion: chance.below(4),
    ms: chance.pick([8 * SECOND, 5 * MINUTE, longest, longest]),
    fallback: chance.pick(["none", "none", "answers", "away as well"]),
    wakes: chance.pick(["send", "resume", null, null]),
  };
}

/** What the seed chose: one reply in so many is cut by its limit, and one request in so many is refused. */
export interface EndingsPlan {
  readonly cutOneIn: number;
  readonly refusedOneIn: number;
}

export function endingsPlanOf(chance: SeededChoices): EndingsPlan | null {
  if (!chance.oneIn(4)) return null;
  return { cutOneIn: chance.pick([2, 6, 12]), refusedOneIn: chance.pick([6, 12]) };
}

export class Provider {
  readonly #plan: ModelOutagePlan | null;
  /** The true time. */
  readonly #clock: Clock;
  #questions = 0;
  #awayUntil: number | null = null;

  constructor(plan: ModelOutagePlan | null, clock: Clock) {
    this.#plan = plan;
    this.#clock = clock;
  }

  /** Throws what a provider says that is away; `isFallback`: the question is to the fallback's. */
  answer({ isFallback }: { readonly isFallback: boolean }): void {
    const plan = this.#plan;
    if (plan === null) return;
    this.#questions += 1;
    if (this.#questions > plan.fromQuestion) this.#awayUntil ??= this.#clock.now() + plan.ms;
    if (this.#clock.now() >= (this.#awayUntil ?? 0) || (isFallback && plan.fallback === "answers")) return;
    throw this.#questions % 3 === 0 ? throttled() : refused();
  }
}

export const MODEL_OUTAGE_CELLS = ["for minutes", "for hours", "a fallback answers", "asked again at once"].map(
  (what) => `provider ${what}`,
);

export const ENDING_CELLS = ["a reply is cut", "a request is refused", "a run goes on after a resume"].map(
  (what) => `endings ${what}`,
);

/** What of cut replies and refused requests a history met, for the reach table. */
export function endingCells({ events, history }: ObservedHistory): readonly string[] {
  const decided = events("RecoveryDecided").map(({ event }) => event);
  const waits = decided.some(({ action }) => action.kind === "block" && action.mends !== "code");
  const cells: Readonly<Record<string, boolean>> = {
    "a reply is cut": events("ModelCallCompleted").some(({ event }) => event.cut !== undefined),
    "a request is refused": waits,
    "a run goes on after a resume": waits && replay(history).state.phase === "Completed",
  };
  return Object.entries(cells).flatMap(([name, isMet]) => (isMet ? [`endings ${name}`] : []));
}

/** What of outages a history met, for the reach table. */
export function modelOutageCells({ events, history }: ObservedHistory): readonly string[] {
  if (history.plan.away === null) return [];
  const retries = events("RecoveryDecided").flatMap(({ event: { at, rule, action } }) =>
    action.kind === "retry" ? [{ at, rule, action }] : [],
  );
  const longest = Math.max(0, ...retries.map(({ at, action }) => at - (action.outage?.since ?? at)));
  const cells: Readonly<Record<string, boolean>> = {
    "for minutes": longest > 2 * MINUTE,
    "for hours": longest > 120 * MINUTE,
    "a fallback answers": events("ModelCallCompleted").some(({ event }) => event.model.endsWith(":fallback")),
    "asked again at once": retries.some(({ rule }) => rule === "asked again at once"),
  };
  return Object.entries(cells).flatMap(([name, isMet]) => (isMet ? [`provider ${name}`] : []));
}

/** Somebody has rotated the key: waiting does not help. */
export const keyRefused = (): Error =>
  new APICallError({ message: "unknown key", url: "http://provider", requestBodyValues: {}, statusCode: 401 });

const refused = (): Error => Object.assign(new Error("connection refused"), { code: "ECONNREFUSED" });

/** Providers ask for less than it takes. */
const throttled = (): Error =>
  new APICallError({
    ...{ message: "slow down", url: "http://provider", requestBodyValues: {}, statusCode: 429 },
    responseHeaders: { "retry-after": String(RETRY_AFTER_SECONDS) },
  });
