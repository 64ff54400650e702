/** Describes a wall clock that cairn does not trust: what happened, what follows, and what to do. */
import { CLOCK, type ClockDoubt } from "../protocol/steadiness.ts";

/** What happened, what follows from it, and what to do. */
export interface ClockWords {
  readonly what: string;
  readonly why: string;
  readonly mend: string;
}

export function describeDoubt({ kind, byMs, forMs }: ClockDoubt): ClockWords {
  const leftMinutes = Math.max(1, Math.ceil((CLOCK.settleMs - forMs) / 60_000));
  const held = "runs expire and data is removed only when all clocks agree that it is time";
  const believed = `cairn trusts a clock that keeps this time for ${leftMinutes} more minutes`;
  const mend = `if this time is wrong, set it: timedatectl set-ntp true; if it is right, wait: ${believed}`;
  const by = span(byMs);
  if (kind === "away") {
    const what = `the clock of this machine moved on by ${by} while the machine was off, or was put ahead by as much`;
    return { what, why: held, mend };
  }
  const what = `the clock of this machine was put ${kind === "ahead" ? "ahead" : "back"} by ${by}`;
  return { what, why: `cairn continues with the time before that, and ${held}`, mend };
}

const UNITS = [
  ["day", 24 * 3_600_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** Formats a duration in the largest unit of which it has at least two. */
function span(ms: number): string {
  const [unit, size] = UNITS.find(([, each]) => Math.round(ms / each) >= 2) ?? UNITS[3];
  return `${Math.round(ms / size)} ${unit}s`;
}
