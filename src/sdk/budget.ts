/** What an agent may spend, as its author writes it: dollars, tokens, and time as people say it. */
import * as z from "zod";
import type { Budget } from "../core/policy/budget.ts";

export interface BudgetOptions {
  /** Dollars. */
  readonly usd?: number;
  /** Input and output together. */
  readonly tokens?: number;
  readonly beats?: number;
  /** Calls that are released; what a crash or a timeout repeats is not counted again. */
  readonly toolCalls?: number;
  /** Time between claim and release, parked time not included: milliseconds, or `90s`, `30m`, `2h`, `1d`. */
  readonly wall?: number | string;
  /** What recovery itself may cost: processes that died while they held the run. */
  readonly takeovers?: number;
  /** `ask`: a person is asked for more before the run ends. Without it the run ends. */
  readonly onExhausted?: "stop" | "ask";
}

const whole = z.int().positive().optional();
const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const span = z
  .string()
  .regex(/^[1-9]\d{0,5}[smhd]$/)
  .transform((text) => Number(text.slice(0, -1)) * (UNITS[text.slice(-1)] ?? 0));

/** Milliseconds of time at work, however they are written. */
export const wallMsSchema = z.union([z.int().positive(), span], {
  error: "write milliseconds, or a number with s, m, h or d, such as 2h",
});

export const budgetSchema = z.strictObject({
  usd: z.number().min(1e-6).max(1e9).optional(),
  ...{ tokens: whole, beats: whole, toolCalls: whole, takeovers: whole },
  wall: wallMsSchema.optional(),
  onExhausted: z.enum(["stop", "ask"]).optional(),
});

/** `beatsMax`: of the agent's topology. */
export function budgetFrom(options: z.output<typeof budgetSchema>, beatsMax: number): Budget {
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
