/**
 * Converts between moments and the wall-clock time of a time zone. A wall-clock time is written as the epoch
 * milliseconds of the same digits in UTC, so that a calendar without time zones can compute with it.
 *
 * When clocks are put forward, some times never occur. When they are put back, some occur twice, and only the first
 * occurrence counts. So the times that occur have the same order on the wall clock and in fact.
 */
export interface WallClock {
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
export function wallClock(timezone: string): WallClock {
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
