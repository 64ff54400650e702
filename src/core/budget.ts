/**
 * The budget is a ledger of limit and spent (seed 3). It is debited in the commit of the event that spent, and a
 * resumed run gets no fresh one (seed 4).
 */

/** What a run has used: tokens, micro-dollars, beats (model replies), tool calls that were released. */
export interface Spent {
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly microUsd: number;
  readonly beats: number;
  readonly toolCalls: number;
  /** Milliseconds between claim and release; absent as long as no agent of the run limits it. */
  readonly wallMs?: number;
}

/** In the order in which they are judged. */
const METERS = ["beats", "microUsd", "tokens", "wallMs", "toolCalls"] as const;
export type Meter = (typeof METERS)[number];

/** Null is no limit. `tokens` counts input and output together. */
export type Limits = { readonly [M in Meter]: number | null };
/** What a person gives a run beyond the budget of its agent. */
export type Grant = { readonly [M in Meter]?: number };

export interface Budget extends Limits {
  readonly beats: number;
  /** Whether an exhausted budget ends the run, or a person is asked for more. */
  readonly onExhausted: "stop" | "ask";
  /** Claims that found an owner, and hand-overs after a death: what recovery itself may cost. */
  readonly takeovers: number;
}

export const NOTHING_SPENT: Spent = { tokensIn: 0, tokensOut: 0, microUsd: 0, beats: 0, toolCalls: 0 };

export function add(spent: Spent, debit: Partial<Spent>): Spent {
  return {
    tokensIn: spent.tokensIn + (debit.tokensIn ?? 0),
    tokensOut: spent.tokensOut + (debit.tokensOut ?? 0),
    microUsd: spent.microUsd + (debit.microUsd ?? 0),
    beats: spent.beats + (debit.beats ?? 0),
    toolCalls: spent.toolCalls + (debit.toolCalls ?? 0),
    ...(spent.wallMs === undefined && debit.wallMs === undefined
      ? {}
      : { wallMs: (spent.wallMs ?? 0) + (debit.wallMs ?? 0) }),
  };
}

/** More of what has a limit; what has none needs no more. */
export function extended(limits: Limits, { granted }: { readonly granted: Grant }): Limits {
  const more = METERS.map((meter) => {
    const limit = limits[meter];
    return [meter, limit === null ? null : limit + (granted[meter] ?? 0)];
  });
  return Object.fromEntries(more) as Limits;
}

export function addGrant(one: Grant, other: Grant): Grant {
  const sums = METERS.map((meter) => [meter, (one[meter] ?? 0) + (other[meter] ?? 0)] as const);
  return Object.fromEntries(sums.filter(([, sum]) => sum > 0));
}

/**
 * The first limit that leaves no room, in words; null while there is room. Room is for another beat or, with `calls`, for
 * releasing that many: a run that has made all of its calls may still say what came of them.
 */
export function exhausted(spent: Spent, limits: Limits, calls = 0): string | null {
  const [full] = shortOf(spent, limits, calls);
  return full === undefined ? null : WORDS[full](usedOf(spent)[full], limits[full] ?? 0);
}

/** Every limit that leaves no room. */
export function shortOf(spent: Spent, limits: Limits, calls: number): readonly Meter[] {
  const used = usedOf(spent);
  return METERS.filter((meter) => {
    const limit = limits[meter] ?? null;
    if (limit === null || (meter === "toolCalls") !== calls > 0) return false;
    return meter === "toolCalls" ? used.toolCalls + calls > limit : used[meter] >= limit;
  });
}

const usedOf = ({ beats, microUsd, tokensIn, tokensOut, toolCalls, wallMs = 0 }: Spent) => ({
  ...{ beats, microUsd, tokens: tokensIn + tokensOut, wallMs, toolCalls },
});

const WORDS: { readonly [M in Meter]: (used: number, limit: number) => string } = {
  beats: (used, limit) => `${used} of ${limit} beats are used`,
  microUsd: (used, limit) => `$${usd(used)} of $${usd(limit)} is spent`,
  tokens: (used, limit) => `${used} of ${limit} tokens are used`,
  wallMs: (used, limit) => `${used / 1_000} of ${limit / 1_000} seconds at work are used`,
  toolCalls: (used, limit) => `${used} of ${limit} tool calls are used, and more are asked for`,
};

/** Micro-dollars as dollars with the digits that matter: `0.17`, `0.0042`. */
export function usd(microUsd: number): string {
  const isWholeCents = microUsd % 10_000 === 0;
  return isWholeCents ? (microUsd / 1e6).toFixed(2) : (microUsd / 1e6).toFixed(6).replace(/0+$/, "");
}
