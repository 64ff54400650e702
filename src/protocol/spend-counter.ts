/**
 * How many runs a subject has started in a day and a month, and what they cost: one counter, which a start raises before
 * its run exists. A subject is a tenant, for example.
 *
 * A run counts in the day and in the month (UTC) in which it was started: with the money that its budget reserves while
 * it is under way, and with what it spent once it has ended. So the sum is never less than what was spent.
 *
 * Every change is a function of the counter as it was read, and its write is refused if the counter has changed since.
 */

/** What one period may hold. An absent limit does not exist. */
export interface PeriodLimits {
  readonly runs?: number;
  readonly microUsd?: number;
}

export type Period = "day" | "month";

export type SpendLimits = { readonly [P in Period]?: PeriodLimits };

/** What a period holds besides the runs under way. */
interface Window {
  /** The number of the day or month. */
  readonly period: number;
  readonly runs: number;
  /** What the ended runs of the period spent. */
  readonly microUsd: number;
}

/** A run that may be under way. */
export interface OpenRun {
  readonly day: number;
  readonly month: number;
  /** What it counts for. */
  readonly microUsd: number;
}

export interface SpendCounter {
  readonly day: Window;
  readonly month: Window;
  /** The runs whose end is not known, by ID. The one that was looked at longest ago is the first. */
  readonly open: Readonly<Record<string, OpenRun>>;
  /** When all open runs were looked at last, epoch milliseconds. */
  readonly readAt: number;
}

/** A start that a limit refuses. `open`: too many runs are under way to count them. */
export interface SpendRefusal {
  readonly kind: "spent";
  readonly what: "runs" | "microUsd" | "open";
  readonly per: Period;
  /** When the period ends, epoch milliseconds. */
  readonly resetsAt: number;
}

export type Reserved =
  | { readonly kind: "reserved"; readonly next: SpendCounter }
  /** An earlier attempt of the same start reserved it. */
  | { readonly kind: "already" }
  | SpendRefusal;

/** How many open runs a counter holds at most; it is one item of a table. */
export const OPEN_RUNS_MAX = 1_000;

/** The counter as it is at that time: runs of earlier months are dropped. Time that goes back opens no earlier period. */
export function atTime(counter: SpendCounter | null, at: number): SpendCounter {
  const [day, month] = [dayOf(at), monthOf(dayOf(at))];
  const before = counter ?? { day: emptyWindow(day), month: emptyWindow(month), open: {}, readAt: 0 };
  const [newDay, newMonth] = [windowAt(before.day, day), windowAt(before.month, month)];
  const open = Object.entries(before.open).filter(([, run]) => run.month >= newMonth.period);
  return { ...before, day: newDay, month: newMonth, open: Object.fromEntries(open) };
}

const emptyWindow = (period: number): Window => ({ period, runs: 0, microUsd: 0 });
const windowAt = (window: Window, period: number): Window => (window.period < period ? emptyWindow(period) : window);

/** Raises the counter for a run that is about to be started. `id`: the same for every attempt of this start. */
export function reserveIn(
  before: SpendCounter | null,
  {
    id,
    at,
    microUsd,
    limits,
  }: { readonly id: string; readonly at: number; readonly microUsd: number; readonly limits: SpendLimits },
): Reserved {
  const counter = atTime(before, at);
  if (counter.open[id] !== undefined) return { kind: "already" };
  for (const per of ["day", "month"] as const) {
    const { runs: runsMax = Infinity, microUsd: microUsdMax = Infinity } = limits[per] ?? {};
    const used = usedIn(counter, per);
    const what = used.runs + 1 > runsMax ? "runs" : used.microUsd + microUsd > microUsdMax ? "microUsd" : null;
    if (what !== null) return { kind: "spent", what, per, resetsAt: endOf(counter, per) };
  }
  if (Object.keys(counter.open).length >= OPEN_RUNS_MAX)
    return { kind: "spent", what: "open", per: "day", resetsAt: endOf(counter, "day") };
  const { day, month, open } = counter;
  const run: OpenRun = { day: day.period, month: month.period, microUsd };
  const next = { ...counter, day: withRun(day), month: withRun(month), open: { ...open, [id]: run } };
  return { kind: "reserved", next };
}

const withRun = (window: Window): Window => ({ ...window, runs: window.runs + 1 });

/** What is known of an open run now. */
export interface Seen {
  readonly id: string;
  /** Null: there is no row. The run may have ended and be gone, or its start is still under way. */
  readonly row: { readonly hasEnded: boolean; readonly microUsd: number } | null;
  /** The key of the run is kept, so that it has ended. */
  readonly isOver: boolean;
}

/**
 * Counts a run with what it spent once it has ended.
 *
 * Schedule 189: a start reserves, and freezes before it creates its run; a later start finds no such run. What was
 * reserved stays counted, since the frozen start may still go on. So does a run that spent more than was reserved. After
 * two days no start can go on.
 */
export function settleIn(before: SpendCounter, { id, row, isOver }: Seen): SpendCounter {
  const { [id]: found, ...others } = before.open;
  if (found === undefined) return before;
  // No start is under way for two days: it counts with what it reserved, and frees its place.
  const isGone = found.day < before.day.period - 1;
  const hasEnded = row === null ? isOver || isGone : row.hasEnded;
  // What a run that is gone spent is not known any more: it counts with what was known before.
  const microUsd = row === null ? found.microUsd : hasEnded ? row.microUsd : Math.max(found.microUsd, row.microUsd);
  if (!hasEnded) return { ...before, open: { ...others, [id]: { ...found, microUsd } } };
  const settled = (per: Period): Window => {
    const window = before[per];
    return found[per] === window.period ? { ...window, microUsd: window.microUsd + microUsd } : window;
  };
  return { ...before, day: settled("day"), month: settled("month"), open: others };
}

/** What a period holds: the runs under way count with what they reserve. */
export function usedIn(counter: SpendCounter, per: Period): Required<PeriodLimits> {
  const window = counter[per];
  const open = Object.values(counter.open).filter((run) => run[per] === window.period);
  return { runs: window.runs, microUsd: open.reduce((sum, run) => sum + run.microUsd, window.microUsd) };
}

const DAY_MS = 24 * 3_600_000;
const dayOf = (at: number): number => Math.floor(at / DAY_MS);

const endOf = (counter: SpendCounter, per: Period): number =>
  DAY_MS * (per === "day" ? counter.day.period + 1 : firstDayOf(counter.month.period + 1));

/** The number of the month of a day, in the Gregorian calendar: 12 times the year, and 0 to 11. */
export function monthOf(day: number): number {
  const era = Math.floor((day + DAYS_TO_MARCH) / DAYS_OF_ERA);
  const dayOfEra = day + DAYS_TO_MARCH - era * DAYS_OF_ERA;
  const leaps = Math.floor(dayOfEra / 1_460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096);
  const year = Math.floor((dayOfEra - leaps) / 365);
  const dayOfYear = dayOfEra - (365 * year + Math.floor(year / 4) - Math.floor(year / 100));
  // Years begin with March, so that the day that leap years have is the last one.
  const fromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  return 12 * (year + 400 * era) + fromMarch + 2;
}

/** Days from 0000-03-01 to 1970-01-01, and of 400 years. */
const DAYS_TO_MARCH = 719_468;
const DAYS_OF_ERA = 146_097;

/** The first day of a month, as a number of days since 1970. */
function firstDayOf(month: number): number {
  const [year, fromMarch] = [Math.floor((month - 2) / 12), (month - 2) % 12];
  const era = Math.floor(year / 400);
  const yearOfEra = year - era * 400;
  const dayOfYear = Math.floor((153 * fromMarch + 2) / 5);
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * DAYS_OF_ERA + dayOfEra - DAYS_TO_MARCH;
}
