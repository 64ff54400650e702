/**
 * Budgets on the command line: the options that grant more, the amounts that a gate asks for, and the parsing of
 * amounts.
 */
import { durationMs } from "../../sdk/duration.ts";
import { exhaustedMeters, usd } from "../../core/policy/spending.ts";
import type { Grant, Limits, Meter, Spent } from "../../core/policy/budget.ts";
import type { OpenGate } from "../../operations/views.ts";
import { CliError, EXIT } from "../errors.ts";
import { commandLine, dollars, duration, grouped } from "../render/words.ts";

/** Options of `approve`: how much more a run may spend. */
export interface GrantFlags {
  readonly usd?: string;
  readonly tokens?: string;
  readonly beats?: string;
  readonly toolCalls?: string;
  readonly wall?: string;
}

interface Amount {
  readonly flag: keyof GrantFlags;
  readonly option: string;
  readonly means: string;
  readonly parse: (text: string) => number | null;
  readonly says: (amount: number) => string;
  /** Formats an amount as a user types it. */
  readonly typed: (amount: number) => string;
}

const whole = (text: string): number | null => (/^[1-9]\d{0,11}$/.test(text) ? Number(text) : null);
const micros = (text: string): number | null =>
  /^\d{1,6}(\.\d{1,6})?$/.test(text) ? Math.round(Number(text) * 1e6) || null : null;
const span = (text: string): number | null => whole(text) ?? durationMs(text);

const AMOUNTS: { readonly [M in Meter]: Amount } = {
  microUsd: { flag: "usd", option: "--usd", means: "dollars", parse: micros, says: dollars, typed: usd },
  tokens: {
    flag: "tokens",
    option: "--tokens",
    means: "tokens",
    parse: whole,
    says: (n) => `${grouped(n)} tokens`,
    typed: String,
  },
  beats: {
    flag: "beats",
    option: "--beats",
    means: "beats",
    parse: whole,
    says: (n) => `${grouped(n)} beats`,
    typed: String,
  },
  toolCalls: {
    flag: "toolCalls",
    option: "--tool-calls",
    means: "tool calls",
    parse: whole,
    says: (n) => `${grouped(n)} tool calls`,
    typed: String,
  },
  wallMs: {
    flag: "wall",
    option: "--wall",
    means: "time at work, such as 30m",
    parse: span,
    says: (n) => `${duration(n)} at work`,
    typed: String,
  },
};

const METERS = Object.keys(AMOUNTS) as readonly Meter[];

/** The options `--usd <amount>` and so on. */
export const GRANT_OPTIONS: readonly (readonly [string, string])[] = METERS.map((meter) => [
  `${AMOUNTS[meter].option} <amount>`,
  `if it waits for more budget: grant it more ${AMOUNTS[meter].means}`,
]);

/** The grant that the flags ask for. Throws if a flag is not an amount. */
export function grantOf(flags: GrantFlags): Grant {
  const given = METERS.flatMap((meter) => {
    const { flag, option, parse, means } = AMOUNTS[meter];
    const text = flags[flag];
    if (text === undefined) return [];
    const amount = parse(text);
    if (amount !== null) return [[meter, amount] as const];
    const [what, why] = [`${option} ${text} is not an amount`, `write a positive number of ${means}`];
    throw new CliError({ code: "Usage", exit: EXIT.usage, what, why, next: commandLine(["approve", "--help"]) });
  });
  return Object.fromEntries(given);
}

/** Formats a grant, such as `$2.00, 20 beats`. */
export const grantWords = (grant: Grant): string =>
  METERS.flatMap((meter) => (grant[meter] === undefined ? [] : [AMOUNTS[meter].says(grant[meter])])).join(", ");

/** The options to type to grant each exhausted budget as much again as its limit. */
export function askedFor({ args }: OpenGate): readonly string[] {
  const { spent, limits, calls } = args as unknown as { spent: Spent; limits: Limits; calls: number };
  return exhaustedMeters(spent, limits, calls).flatMap((meter) => [
    AMOUNTS[meter].option,
    AMOUNTS[meter].typed(Math.max(limits[meter] ?? 0, calls)),
  ]);
}
