/**
 * What the clocks on the walls of a time zone show. A time of a wall clock is written as the epoch milliseconds of the same
 * digits in UTC, so that a calendar without time zones can compute with it.
 *
 * Where clocks are put forward, some times are never shown; where they are put back, some are shown twice, and the first
 * one counts. So the times that come about are in the same order on the wall and in fact.
 */
export interface WallClock {
  /** What it shows at that moment, to the second. */
  readonly at: (moment: number) => number;
  /** When it first shows that time, or null if it never does. */
  readonly first: (wall: number) => number | null;
}

const DAY_MS = 24 * 3_600_000;

/** @throws RangeError for a zone that is none */
export function wallClock(timezone: string): WallClock {
  const format = new Intl.DateTimeFormat("en-US", {
    ...{ timeZone: timezone, hourCycle: "h23" },
    ...{ year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" },
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
