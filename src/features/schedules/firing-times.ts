/**
 * Computes the firing times of a schedule where EventBridge Scheduler is not available, with the same rules. A time
 * that the zone's clocks skip does not fire; a time that they show twice fires once. Rates have no zone and count from
 * the epoch, so that all processes compute the same times. (On AWS they count from the creation of the schedule.)
 */
import { parseCron } from "./cron.ts";
import type { Schedule } from "../../ports/agent.ts";

/** Times in epoch milliseconds; null means never. */
export interface FiringTimes {
  /** The first time after `after`. */
  readonly next: (after: number) => number | null;
  /** The last time at or before `moment`. */
  readonly latest: (moment: number) => number | null;
}

/** The next times of a schedule after `now`, as many as a list shows. */
export function nextFirings(schedule: Pick<Schedule, "every" | "timezone">, now: number): readonly number[] {
  const times = firingTimes(schedule);
  const next: number[] = [];
  for (let at = times.next(now); at !== null && next.length < NEXT_SHOWN; at = times.next(at)) next.push(at);
  return next;
}

const NEXT_SHOWN = 5;

type Of = Pick<Schedule, "every" | "timezone">;

/**
 * The firing times of a valid schedule.
 *
 * @throws Error if `parseSchedule` would have refused it
 */
export function firingTimes(schedule: Of): FiringTimes {
  const times = parseTimes(schedule);
  if (typeof times === "string") throw new Error(times);
  return times;
}

const EXAMPLE = "write for example rate(5 minutes), cron(0 8 ? * MON-FRI *) or at(2027-01-31T08:00:00)";

/** The firing times of a schedule, or what is wrong with it. */
export function parseTimes({ every, timezone }: Of): FiringTimes | string {
  const clock = clockOf(timezone);
  if (clock === null) return `timezone: ${timezone} is not a time zone: write its IANA name, for example Europe/Berlin`;
  const [, kind, inside = ""] = /^(rate|cron|at)\((.*)\)$/s.exec(every) ?? [];
  if (kind === undefined) return `every: ${every} is not a schedule expression: ${EXAMPLE}`;
  const times = { rate: parseRate, cron: parseCronTimes, at: parseAt }[kind as "rate" | "cron" | "at"](inside, clock);
  return typeof times === "string" ? `every: ${every}: ${times}; ${EXAMPLE}` : times;
}

/** JavaScript accepts offsets such as +02:00 as zones, AWS does not: they are refused. */
function clockOf(timezone: string): WallClock | null {
  if (!/^[A-Za-z]/.test(timezone)) return null;
  try {
    return wallClock(timezone);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

const UNITS: Readonly<Record<string, number>> = { minute: 60_000, hour: 3_600_000, day: 24 * 3_600_000 };
const YEAR_DAYS = 366;

function parseRate(inside: string): FiringTimes | string {
  const [, digits = "", unit = "", plural = ""] = /^([1-9]\d{0,5}) (minute|hour|day)(s?)$/.exec(inside) ?? [];
  const value = Number(digits);
  if (digits === "" || (value === 1) !== (plural === "")) {
    return "a rate is a whole number and its unit, minute, hour or day, with an s unless the number is 1";
  }
  const periodMs = value * (UNITS[unit] ?? 0);
  if (periodMs > YEAR_DAYS * (UNITS["day"] ?? 0)) return "a rate must fire at least once a year";
  return {
    next: (after) => (Math.floor(after / periodMs) + 1) * periodMs,
    latest: (moment) => Math.floor(moment / periodMs) * periodMs,
  };
}

function parseCronTimes(inside: string, clock: WallClock): FiringTimes | string {
  const calendar = parseCron(inside);
  if (typeof calendar === "string") return calendar;
  return {
    next: (after) => {
      for (let wall = calendar.after(clock.at(after)); wall !== null; wall = calendar.after(wall)) {
        const moment = clock.first(wall);
        if (moment !== null && moment > after) return moment;
      }
      return null;
    },
    latest: (moment) => {
      // If clocks were just put back, they showed later times before.
      const shown = Math.max(clock.at(moment), clock.at(moment - PUT_BACK_MS) + PUT_BACK_MS);
      for (let wall = calendar.before(shown + 1_000); wall !== null; wall = calendar.before(wall)) {
        const then = clock.first(wall);
        if (then !== null && then <= moment) return then;
      }
      return null;
    },
  };
}

/** No zone puts its clocks back by more at once. */
const PUT_BACK_MS = 4 * 3_600_000;

function parseAt(inside: string, clock: WallClock): FiringTimes | string {
  const wall = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(inside) ? Date.parse(`${inside}Z`) : Number.NaN;
  // JavaScript reads the 30th of February as a day in March.
  if (Number.isNaN(wall) || !new Date(wall).toISOString().startsWith(inside)) return "that is not a date and time";
  const moment = clock.first(wall);
  if (moment === null) return "the clocks of that zone skip this time";
  return {
    next: (after) => (moment > after ? moment : null),
    latest: (now) => (moment <= now ? moment : null),
  };
}

/**
 * Converts between moments and the wall-clock time of a time zone. A wall-clock time is written as the epoch
 * milliseconds of the same digits in UTC, so that a calendar without time zones can compute with it.
 *
 * When clocks are put forward, some times never occur. When they are put back, some occur twice, and only the first
 * occurrence counts. So the times that occur have the same order on the wall clock and in fact.
 */
interface WallClock {
  /** The wall-clock time at `moment`, to the second. */
  readonly at: (moment: number) => number;
  /** The first moment at which the clock shows `wall`, or null if it never does. */
  readonly first: (wall: number) => number | null;
}

const DAY_MS = 24 * 3_600_000;

/**
 * The wall clock of an IANA time zone.
 *
 * @throws RangeError for an unknown zone
 */
function wallClock(timezone: string): WallClock {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: timezone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const at = (moment: number): number => {
    const parts = new Map(format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]));
    const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    return Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  };
  const ahead = (moment: number): number => at(moment) - Math.floor(moment / 1_000) * 1_000;
  return {
    at,
    first: (wall) => {
      // No zone changes its clocks twice within two days, and the larger difference gives the earlier moment.
      const differences = [ahead(wall - DAY_MS), ahead(wall + DAY_MS)].toSorted((one, other) => other - one);
      const moments = differences.map((difference) => wall - difference);
      return moments.find((moment) => at(moment) === wall) ?? null;
    },
  };
}
