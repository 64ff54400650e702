/** The budget options of an agent: dollars, tokens, beats, calls and time, in the units that authors write. */
import * as z from "zod";
import { builtOnUse } from "../codec/fit.ts";
import type { Budget } from "../core/policy/budget.ts";
import { durationMs } from "./duration.ts";

/** Limits for one run. Each is optional, and each holds across crashes. */
export interface BudgetOptions {
  /** Dollars for model calls. It needs a price of the model. */
  readonly usd?: number;
  /** Tokens of model calls, input and output together. */
  readonly tokens?: number;
  /** Model replies. The limit of the topology (`maxBeats`) holds too. */
  readonly beats?: number;
  /** Released tool calls. A repetition after a crash or a timeout is not counted again. */
  readonly toolCalls?: number;
  /** Working time from claim to release, without parked time: milliseconds, or `90s`, `30m`, `2h`, `1d`. */
  readonly wall?: number | string;
  /** How many processes may die in a row while they hold the run, without progress in between; default 10. */
  readonly takeovers?: number;
  /** `ask`: a gate asks a human for more budget before the run ends. `stop` (default): the run ends. */
  readonly onExhausted?: "stop" | "ask";
}

const whole = builtOnUse(() => z.int().positive().optional());
const span = builtOnUse(() =>
  z.string().transform((text, context) => {
    const ms = durationMs(text);
    if (ms !== null) return ms;
    context.addIssue({ code: "custom" });
    return z.NEVER;
  }),
);

/** A duration: whole milliseconds, or text such as `2h`. Parses to milliseconds. */
export const wallMsSchema = builtOnUse(() =>
  z.union([z.int().positive(), span()], {
    error: "write milliseconds, or a number with s, m, h or d, such as 2h",
  }),
);

export const budgetSchema = builtOnUse(() =>
  z.strictObject({
    usd: z.number().min(1e-6).max(1e9).optional(),
    tokens: whole(),
    beats: whole(),
    toolCalls: whole(),
    takeovers: whole(),
    wall: wallMsSchema().optional(),
    onExhausted: z.enum(["stop", "ask"]).optional(),
  }),
);

/** The budget with its defaults filled in. `beatsMax` is the limit of the agent's topology. */
export function budgetFrom(options: z.output<ReturnType<typeof budgetSchema>>, beatsMax: number): Budget {
  const { usd, tokens, beats, toolCalls, wall, takeovers, onExhausted } = options;
  return {
    microUsd: usd === undefined ? null : Math.round(usd * 1e6),
    tokens: tokens ?? null,
    beats: Math.min(beats ?? beatsMax, beatsMax),
    toolCalls: toolCalls ?? null,
    wallMs: wall ?? null,
    takeovers: takeovers ?? 10,
    onExhausted: onExhausted ?? "stop",
  };
}
