/** Laws of firing times, in zones whose clocks change by hours, half hours and days. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { firingTimes } from "../../src/features/schedules/firing-times.ts";

const zone = fc.constantFrom(
  ...["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"],
  ...["Pacific/Apia", "America/St_Johns", "Africa/Cairo"],
);
const moment = fc.integer({ min: Date.UTC(2005, 0, 1), max: Date.UTC(2060, 0, 1) });
/** Moments around clock changes of several years, where mistakes are likely. */
const near = fc
  .tuple(
    fc.constantFrom(2011, 2024, 2026),
    fc.constantFrom(3, 4, 10, 11, 12),
    fc.integer({ min: -8, max: 32 * 24 * 60 }),
  )
  .map(([year, month, minutes]) => Date.UTC(year, month - 1, 1) + minutes * 60_000);

const minutes = fc.constantFrom("0", "*", "0/15", "7,37", "20-40/5", "59");
const hours = fc.constantFrom("*", "0", "1-3", "2", "0/6", "8,18", "23");
const days = fc.constantFrom(
  "* * ?",
  "1 * ?",
  "L * ?",
  "15W * ?",
  "? * MON-FRI",
  "? * 1",
  "? * FRI#2",
  "? * 2L",
  "31 JAN-JUL ?",
);
const every = fc.oneof(
  fc.tuple(minutes, hours, days).map((fields) => `cron(${fields.join(" ")} *)`),
  fc
    .tuple(fc.integer({ min: 2, max: 90 }), fc.constantFrom("minutes", "hours", "days"))
    .map((rate) => `rate(${rate.join(" ")})`),
);
const schedule = fc.record({ every, timezone: zone });

test("next is later than its argument, latest is not, and they agree without a gap", () => {
  fc.assert(
    fc.property(schedule, fc.oneof(moment, near), (of, from) => {
      const { next, latest } = firingTimes(of);
      const [after, before] = [next(from) ?? Number.NaN, latest(from) ?? Number.NaN];
      expect(after).toBeGreaterThan(from);
      expect(before).toBeLessThanOrEqual(from);
      expect(next(before)).toBe(after);
      expect(latest(after)).toBe(after);
      expect(latest(after - 1)).toBe(before);
      expect(next(after - 1)).toBe(after);
    }),
    { numRuns: 400 },
  );
});

test("every time occurs on the clocks of the zone, to the minute", () => {
  const format = (timeZone: string) =>
    new Intl.DateTimeFormat("en-US", {
      timeZone,
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
      hourCycle: "h23",
    });
  fc.assert(
    fc.property(zone, fc.oneof(moment, near), fc.integer({ min: 0, max: 23 }), (timezone, from, hour) => {
      const at = firingTimes({ every: `cron(30 ${hour} * * ? *)`, timezone }).next(from) ?? 0;
      expect(format(timezone).format(at)).toMatch(new RegExp(`^0?${hour}:30:00$`));
    }),
    { numRuns: 200 },
  );
});
