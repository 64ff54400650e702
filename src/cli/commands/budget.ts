/** Budgets on the command line: the options that grant more, and the parsing of their amounts. */
import { durationMs } from "../../sdk/duration.ts";
import type { Grant, Meter } from "../../core/policy/budget.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { GRANTS } from "../../render/grants.ts";
import { commandLine } from "../../render/words.ts";

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
  readonly means: string;
  readonly parse: (text: string) => number | null;
}

const whole = (text: string): number | null => (/^[1-9]\d{0,11}$/.test(text) ? Number(text) : null);
const micros = (text: string): number | null =>
  /^\d{1,6}(\.\d{1,6})?$/.test(text) ? Math.round(Number(text) * 1e6) || null : null;
const span = (text: string): number | null => whole(text) ?? durationMs(text);

const AMOUNTS: { readonly [M in Meter]: Amount } = {
  microUsd: { flag: "usd", means: "dollars", parse: micros },
  tokens: { flag: "tokens", means: "tokens", parse: whole },
  beats: { flag: "beats", means: "beats", parse: whole },
  toolCalls: { flag: "toolCalls", means: "tool calls", parse: whole },
  wallMs: { flag: "wall", means: "time at work, such as 30m", parse: span },
};

const METERS = Object.keys(AMOUNTS) as readonly Meter[];

/** The grant that the flags ask for. Throws if a flag is not an amount. */
export function grantOf(flags: GrantFlags): Grant {
  const given = METERS.flatMap((meter) => {
    const { flag, parse, means } = AMOUNTS[meter];
    const { option } = GRANTS[meter];
    const text = flags[flag];
    if (text === undefined) return [];
    const amount = parse(text);
    if (amount !== null) return [[meter, amount] as const];
    const [what, why] = [`${option} ${text} is not an amount`, `write a positive number of ${means}`];
    throw new UserError({ code: "Usage", exit: EXIT.usage, what, why, next: commandLine(["approve", "--help"]) });
  });
  return Object.fromEntries(given);
}
