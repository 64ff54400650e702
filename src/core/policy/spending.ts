/** What is left of a budget, and the text for an exhausted limit. */
import type { State } from "../state.ts";
import { type Grant, type BudgetLimits, METERS, type Meter, type Spent, addGrant } from "./budget.ts";

/** The limits plus the grants. A meter without a limit stays without one. */
export function withGrants(limits: BudgetLimits, { granted }: { readonly granted: Grant }): BudgetLimits {
  const more = METERS.map((meter) => {
    const limit = limits[meter];
    return [meter, limit === null ? null : limit + (granted[meter] ?? 0)];
  });
  return Object.fromEntries(more) as BudgetLimits;
}

/**
 * The first limit that leaves no room, as text; null while there is room. Without `calls` it checks the room for
 * another beat, with `calls` the room to release that many calls. A run without calls left may still make its final
 * reply.
 */
export function exhaustedMeter(spent: Spent, limits: BudgetLimits, calls = 0): string | null {
  const [full] = exhaustedMeters(spent, limits, calls);
  return full === undefined ? null : WORDS[full](usedOf(spent)[full], limits[full] ?? 0);
}

/** All limits that leave no room. */
export function exhaustedMeters(spent: Spent, limits: BudgetLimits, calls: number): readonly Meter[] {
  const used = usedOf(spent);
  return METERS.filter((meter) => {
    const limit = limits[meter] ?? null;
    if (limit === null || (meter === "toolCalls") !== calls > 0) return false;
    return meter === "toolCalls" ? used.toolCalls + calls > limit : used[meter] >= limit;
  });
}

/** The first meter that has no room for the grant, as text; null if it fits. */
export function missingGrant(spent: Spent, limits: BudgetLimits, grant: Grant): string | null {
  const used = usedOf(spent);
  for (const meter of METERS) {
    const [limit, wanted] = [limits[meter] ?? null, grant[meter] ?? 0];
    const free = limit === null ? Infinity : Math.max(0, limit - used[meter]);
    if (wanted > free) return `it takes ${wanted} of ${meter}, and ${free} are free`;
  }
  return null;
}

/** What is spent, by meter. */
export const usedOf = ({ beats, microUsd, tokensIn, tokensOut, toolCalls, wallMs = 0 }: Spent) => ({
  beats,
  microUsd,
  tokens: tokensIn + tokensOut,
  wallMs,
  toolCalls,
});

const WORDS: { readonly [M in Meter]: (used: number, limit: number) => string } = {
  beats: (used, limit) => `${used} of ${limit} beats are used`,
  microUsd: (used, limit) => `$${usd(used)} of $${usd(limit)} is spent`,
  tokens: (used, limit) => `${used} of ${limit} tokens are used`,
  wallMs: (used, limit) => `${used / 1_000} of ${limit / 1_000} seconds at work are used`,
  toolCalls: (used, limit) => `${used} of ${limit} tool calls are used, and more are asked for`,
};

/** Micro-dollars as dollars with the significant digits: `0.17`, `0.0042`. */
export function usd(microUsd: number): string {
  const isWholeCents = microUsd % 10_000 === 0;
  return isWholeCents ? (microUsd / 1e6).toFixed(2) : (microUsd / 1e6).toFixed(6).replace(/0+$/, "");
}

/** C1: what the standing entries reserve. A child that is left alone has spent its grant already. */
export const reservedBy = ({ children }: Pick<State, "children">): Grant =>
  children.filter(({ left }) => left !== true).reduce<Grant>((sum, { grant }) => addGrant(sum, grant), {});
