/**
 * The budget: a ledger of limits and of what is spent. The commit of an event that spends also debits it. A
 * resumed run keeps what it has spent, so a crash never refills its budget.
 */

/** What a run has used: tokens, micro-dollars, beats (model replies) and released tool calls. */
export interface Spent {
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly microUsd: number;
  readonly beats: number;
  readonly toolCalls: number;
  /** Milliseconds between claim and release; absent until an agent of the run limits them. */
  readonly wallMs?: number;
}

/** The meters in the order in which they are checked. */
export const METERS = ["beats", "microUsd", "tokens", "wallMs", "toolCalls"] as const;
export type Meter = (typeof METERS)[number];

/** Null means no limit. `tokens` counts input and output together. */
export type BudgetLimits = { readonly [M in Meter]: number | null };
/** What a human grants a run beyond the budget of its agent. */
export type Grant = { readonly [M in Meter]?: number };

/** The limits that an agent declares for each of its runs. */
export interface Budget extends BudgetLimits {
  readonly beats: number;
  /** What happens when a limit is reached: the run stops, or a gate asks a human for more. */
  readonly onExhausted: "stop" | "ask";
  /** How many processes may die in a row while they hold the run, without progress in between. */
  readonly takeovers: number;
}

export const NOTHING_SPENT: Spent = { tokensIn: 0, tokensOut: 0, microUsd: 0, beats: 0, toolCalls: 0 };

const COUNTED = ["tokensIn", "tokensOut", "microUsd", "beats", "toolCalls", "wallMs"] as const;

/**
 * Every meter with an amount, limited or not. This version ignores meters that only a later version of cairn counts.
 */
export const metersOf = (amounts: Partial<Spent>): readonly (readonly [string, number])[] =>
  COUNTED.flatMap((meter) => (amounts[meter] === undefined ? [] : [[meter, amounts[meter]] as const]));

export function add(spent: Spent, debit: Partial<Spent>): Spent {
  return {
    ...spent,
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

/** The limits, none of them above the grant. A meter that the grant does not name keeps its limit. */
export function atMost(limits: BudgetLimits, grant: Grant | undefined): BudgetLimits {
  const bounds = METERS.map((meter) => {
    const [limit, most] = [limits[meter], grant?.[meter]];
    return [meter, most === undefined ? limit : Math.min(limit ?? most, most)] as const;
  });
  return Object.fromEntries(bounds) as BudgetLimits;
}

/** The meters that have a limit. */
export const limitedIn = (limits: BudgetLimits): Grant =>
  Object.fromEntries(METERS.flatMap((meter) => (limits[meter] === null ? [] : [[meter, limits[meter]]])));

export function addGrant(one: Grant, other: Grant): Grant {
  const sums = METERS.map((meter) => [meter, (one[meter] ?? 0) + (other[meter] ?? 0)] as const);
  return { ...one, ...Object.fromEntries(sums.filter(([, sum]) => sum > 0)) };
}

/** The limits without what is reserved for children. */
export function withoutReserved(limits: BudgetLimits, reserved: Grant): BudgetLimits {
  const rest = METERS.map((meter) => {
    const limit = limits[meter];
    return [meter, limit === null ? null : Math.max(0, limit - (reserved[meter] ?? 0))];
  });
  return Object.fromEntries(rest) as BudgetLimits;
}
