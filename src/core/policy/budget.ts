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
export const METERS = ["beats", "microUsd", "tokens", "wallMs", "toolCalls"] as const;
export type Meter = (typeof METERS)[number];

/** Null is no limit. `tokens` counts input and output together. */
export type Limits = { readonly [M in Meter]: number | null };
/** What a person gives a run beyond the budget of its agent. */
export type Grant = { readonly [M in Meter]?: number };

export interface Budget extends Limits {
  readonly beats: number;
  /** Whether an exhausted budget ends the run, or a person is asked for more. */
  readonly onExhausted: "stop" | "ask";
  /** Processes that may die in a row while they hold the run, without progress in between. */
  readonly takeovers: number;
}

export const NOTHING_SPENT: Spent = { tokensIn: 0, tokensOut: 0, microUsd: 0, beats: 0, toolCalls: 0 };

const COUNTED = ["tokensIn", "tokensOut", "microUsd", "beats", "toolCalls", "wallMs"] as const;

/** What is counted, limited or not. What a later version of cairn counts besides is not added up by this one. */
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

export function addGrant(one: Grant, other: Grant): Grant {
  const sums = METERS.map((meter) => [meter, (one[meter] ?? 0) + (other[meter] ?? 0)] as const);
  return { ...one, ...Object.fromEntries(sums.filter(([, sum]) => sum > 0)) };
}
