/** When schedules fire: AWS's own examples, clocks that change, and what is refused. */
import { surpriseIn } from "../../../src/features/schedules/cron.ts";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { firingTimes } from "../../../src/features/schedules/firing-times.ts";
import { firingKey } from "../../../src/features/schedules/schedule-memory.ts";
import { scheduledTime } from "../../../src/features/schedules/fire.ts";
import { parseSchedule } from "../../../src/sdk/schedule.ts";

const iso = (moment: number | null): string =>
  moment === null ? "never" : new Date(moment).toISOString().replace(":00.000Z", "");

/** The next times after a moment. */
function following(every: string, after: string, { timezone = "UTC", count = 3 } = {}): string {
  const { next } = firingTimes({ every, timezone });
  const found: string[] = [];
  let at: number | null = Date.parse(after);
  for (let index = 0; index < count && at !== null; index += 1) {
    at = next(at);
    found.push(iso(at));
  }
  return found.join(" ");
}

describe("an expression of AWS's documentation", () => {
  test.each([
    ["rate(1 minute)", "2026-01-01T00:00:30Z", "2026-01-01T00:01 2026-01-01T00:02 2026-01-01T00:03"],
    ["rate(5 minutes)", "2026-01-01T00:05:00Z", "2026-01-01T00:10 2026-01-01T00:15 2026-01-01T00:20"],
    ["rate(1 hour)", "2026-01-01T00:05:00Z", "2026-01-01T01:00 2026-01-01T02:00 2026-01-01T03:00"],
    ["rate(1 day)", "2026-01-01T00:05:00Z", "2026-01-02T00:00 2026-01-03T00:00 2026-01-04T00:00"],
    ["cron(0 10 * * ? *)", "2026-01-01T10:00:00Z", "2026-01-02T10:00 2026-01-03T10:00 2026-01-04T10:00"],
    ["cron(15 12 * * ? *)", "2026-01-01T10:00:00Z", "2026-01-01T12:15 2026-01-02T12:15 2026-01-03T12:15"],
    ["cron(0 18 ? * MON-FRI *)", "2026-01-01T19:00:00Z", "2026-01-02T18:00 2026-01-05T18:00 2026-01-06T18:00"],
    ["cron(0 8 1 * ? *)", "2026-01-01T08:00:00Z", "2026-02-01T08:00 2026-03-01T08:00 2026-04-01T08:00"],
    ["cron(0/15 * * * ? *)", "2026-01-01T00:50:00Z", "2026-01-01T01:00 2026-01-01T01:15 2026-01-01T01:30"],
    ["cron(0/10 * ? * MON-FRI *)", "2026-01-02T23:45:00Z", "2026-01-02T23:50 2026-01-05T00:00 2026-01-05T00:10"],
    ["cron(0/5 8-17 ? * MON-FRI *)", "2026-01-01T17:53:00Z", "2026-01-01T17:55 2026-01-02T08:00 2026-01-02T08:05"],
    ["cron(0 9 ? * 2#1 *)", "2026-01-01T00:00:00Z", "2026-01-05T09:00 2026-02-02T09:00 2026-03-02T09:00"],
    ["cron(15 10 ? * 6L 2026-2027)", "2026-11-01T00:00:00Z", "2026-11-27T10:15 2026-12-25T10:15 2027-01-29T10:15"],
    ["cron(15 10 ? * FRIL *)", "2026-11-01T00:00:00Z", "2026-11-27T10:15 2026-12-25T10:15 2027-01-29T10:15"],
    ["cron(0 8 ? * L *)", "2026-01-01T00:00:00Z", "2026-01-03T08:00 2026-01-10T08:00 2026-01-17T08:00"],
    ["cron(0 8 ? * 1,7 *)", "2026-01-01T00:00:00Z", "2026-01-03T08:00 2026-01-04T08:00 2026-01-10T08:00"],
    ["cron(0 8 ? * WED,SAT *)", "2026-01-01T00:00:00Z", "2026-01-03T08:00 2026-01-07T08:00 2026-01-10T08:00"],
    ["cron(0 8 L * ? *)", "2026-01-31T08:00:00Z", "2026-02-28T08:00 2026-03-31T08:00 2026-04-30T08:00"],
    ["cron(0 8 3W * ? *)", "2026-01-01T00:00:00Z", "2026-01-02T08:00 2026-02-03T08:00 2026-03-03T08:00"],
    ["cron(0 8 1 JAN,jul ? *)", "2026-01-02T00:00:00Z", "2026-07-01T08:00 2027-01-01T08:00 2027-07-01T08:00"],
    ["cron(0 0 29 2 ? *)", "2026-01-01T00:00:00Z", "2028-02-29T00:00 2032-02-29T00:00 2036-02-29T00:00"],
    ["cron(0 0 1 1 ? 2030/2)", "2026-01-01T00:00:00Z", "2030-01-01T00:00 2032-01-01T00:00 2034-01-01T00:00"],
    ["cron(0 0 1 1 ? 2199)", "2026-01-01T00:00:00Z", "2199-01-01T00:00 never"],
    ["cron(0 0 1 1 ? 2020)", "2026-01-01T00:00:00Z", "never"],
    ["at(2026-11-20T13:00:00)", "2026-01-01T00:00:00Z", "2026-11-20T13:00 never"],
    ["at(2026-11-20T13:00:00)", "2026-11-20T13:00:00Z", "never"],
  ])("%s after %s", (every, after, times) => {
    expect(following(every, after)).toBe(times);
  });
});

describe("where clocks change", () => {
  test.each([
    {
      says: "a time that clocks skip in spring does not fire",
      every: "cron(30 2 * * ? *)",
      after: "2026-03-28T00:00:00Z",
      times: "2026-03-28T01:30 2026-03-30T00:30 2026-03-31T00:30",
    },
    {
      says: "a time that clocks show twice in autumn fires once",
      every: "cron(30 2 * * ? *)",
      after: "2026-10-24T00:00:00Z",
      times: "2026-10-24T00:30 2026-10-25T00:30 2026-10-26T01:30",
    },
    {
      says: "an hourly schedule fires once in the repeated hour in autumn",
      every: "cron(30 * * * ? *)",
      after: "2026-10-24T23:00:00Z",
      times: "2026-10-24T23:30 2026-10-25T00:30 2026-10-25T02:30",
    },
    {
      says: "an hourly schedule does not fire in the skipped hour in spring",
      every: "cron(30 * * * ? *)",
      after: "2026-03-29T00:00:00Z",
      times: "2026-03-29T00:30 2026-03-29T01:30 2026-03-29T02:30",
    },
    {
      says: "a daily rate fires every 24 hours",
      every: "rate(1 day)",
      after: "2026-03-28T12:00:00Z",
      times: "2026-03-29T00:00 2026-03-30T00:00 2026-03-31T00:00",
    },
    {
      says: "an at() time that clocks show twice fires at the first",
      every: "at(2026-10-25T02:30:00)",
      after: "2026-10-24T23:00:00Z",
      times: "2026-10-25T00:30 never",
    },
  ])("$says", ({ every, after, times }) => {
    expect(following(every, after, { timezone: "Europe/Berlin" })).toBe(times);
  });

  test("finds the latest time among those that clocks show twice", () => {
    const { latest } = firingTimes({ every: "cron(30 2 * * ? *)", timezone: "Europe/Berlin" });
    // A quarter past two for the second time: the clocks have shown half past two before.
    expect(iso(latest(Date.parse("2026-10-25T01:15:00Z")))).toBe("2026-10-25T00:30");
    expect(iso(latest(Date.parse("2026-10-25T00:29:59Z")))).toBe("2026-10-24T00:30");
    expect(iso(latest(Date.parse("2026-03-29T12:00:00Z")))).toBe("2026-03-28T01:30");
  });

  test("handles clock changes of half an hour, and a day that a zone skipped", () => {
    expect(following("cron(0 8 * * ? *)", "2026-01-01T00:00:00Z", { timezone: "Asia/Kolkata", count: 1 })).toBe(
      "2026-01-01T02:30",
    );
    // Samoa went from the 29th to the 31st.
    expect(following("cron(0 8 * * ? *)", "2011-12-29T00:00:00Z", { timezone: "Pacific/Apia", count: 2 })).toBe(
      "2011-12-29T18:00 2011-12-30T18:00",
    );
  });
});

describe("a schedule", () => {
  const task = z.object({ to: z.string(), nights: z.int().default(1) });

  test("has defaults and keeps its input", () => {
    expect(parseSchedule({ every: "rate(1 day)", input: { to: "Lisbon" } }, task)).toStrictEqual({
      ...{ every: "rate(1 day)", timezone: "UTC", input: { to: "Lisbon" }, overlap: "skip", missed: "latest" },
    });
  });

  const every = (text: string) => ({ every: text, input: { to: "Lisbon" } });
  test.each([
    [every("daily"), /^every: daily is not a schedule expression: write for example rate\(5 minutes\), cron\(/],
    [every("rate(5 minute)"), /a rate is a whole number.*; write for example/],
    [every("rate(1 days)"), /a rate is a whole number/],
    [every("rate(0 days)"), /a rate is a whole number/],
    [every("rate(1.5 hours)"), /a rate is a whole number/],
    [every("rate(9999 days)"), /once a year/],
    [every("cron(0 8 * * *)"), /it has 5 fields and needs 6: minutes, hours, day of month, month, day of week, year/],
    [every("cron(0 8 * * * *)"), /exactly one of day of month and day of week is \?/],
    [every("cron(0 8 ? * ? *)"), /exactly one/],
    [every("cron(60 8 ? * MON *)"), /the minutes is 60, and has values from 0 to 59/],
    [every("cron(? 8 ? * MON *)"), /the minutes is \?/],
    [every("cron(0 8 ? * 0 *)"), /the day of week is 0, and has values from 1 to 7 or SUN to SAT/],
    [every("cron(0 8 ? * FRI-MON *)"), /the day of week is FRI-MON/],
    [every("cron(0 8 ? * MON/2 *)"), /the day of week is MON\/2/],
    [every("cron(0 8 ? * MON#6 *)"), /the day of week is MON#6/],
    [every("cron(0 8 ? * 3#1,6#3 *)"), /the day of week is 3#1,6#3/],
    [every("cron(0 8 L,3 * ? *)"), /the day of month is L,3/],
    [every("cron(0 8 32W * ? *)"), /the day of month is 32W/],
    [every("cron(0 8 1 13 ? *)"), /the month is 13.* or JAN to DEC/],
    [every("cron(0/0 8 1 * ? *)"), /the minutes is 0\/0/],
    [every("cron(0 8 1 * ? 1969)"), /the year is 1969/],
    [every("cron(0 8 30 2 ? *)"), /no date matches it, so it would never fire/],
    [every("at(2026-02-30T08:00:00)"), /that is not a date and time/],
    [every("at(tomorrow)"), /that is not a date and time/],
    [{ ...every("at(2026-03-29T02:30:00)"), timezone: "Europe/Berlin" }, /the clocks of that zone skip this time/],
    [
      { ...every("rate(1 day)"), timezone: "Mars/Olympus" },
      /^timezone: Mars\/Olympus is not a time zone.*Europe\/Berlin/,
    ],
    [{ ...every("rate(1 day)"), timezone: "+02:00" }, /^timezone: \+02:00 is not a time zone/],
    [{ every: "rate(1 day)" }, /^input\.to: .*expected string/],
    [{ every: "rate(1 day)", input: { to: "Lisbon", nights: 0.5 } }, /^input\.nights: /],
    [
      { every: "rate(1 day)", input: { to: "Lisbon" }, labels: { Team: "ops" } },
      /^labels: "Team" is no name of a label/,
    ],
    [{ every: "rate(1 day)", input: { to: "Lisbon" }, labels: { team: "" } }, /^labels: the label team needs/],
    [{ every: "rate(1 day)", input: { to: () => "Lisbon" } }, /^input: a function is not JSON at "to"/],
    [{ ...every("rate(1 day)"), overlap: "queue" as never }, /^overlap: /],
    [{ ...every("rate(1 day)"), often: true } as never, /often/],
  ])("%j is refused", (options, why) => {
    expect(parseSchedule(options, task)).toMatch(why);
  });
});

test("a firing has one idempotency key for its time, whichever text gives that time", () => {
  const at = scheduledTime("2026-11-20T13:00:00Z");
  expect(firingKey("travel", at)).toBe("schedule travel 2026-11-20T13:00:00.000Z");
  expect(scheduledTime("2026-11-20T13:00:00.000Z")).toBe(at);
  for (const text of ["<aws.scheduler.scheduled-time>", "2026-11-20T13:00:00", "", 5, undefined]) {
    expect(() => scheduledTime(text)).toThrow("not a time such as 2027-01-31T08:00:00Z");
  }
});

test.each([
  ["cron(0 9 ? * 1-5 *)", "Sunday to Thursday"],
  ["cron(0 9 ? * 2 *)", "Monday"],
  ["cron(0 9 ? * 2,4,6#2 *)", "Monday, Wednesday, Friday"],
])("%s is said to fire on %s, since its days are numbers", (every, days) => {
  expect(surpriseIn({ agent: "clerk", every })).toContain(`fires on ${days}: days of the week count from 1 = Sunday`);
});

test.each([
  "cron(0 9 ? * MON-FRI *)",
  "cron(0 9 1-5 * ? *)",
  "cron(0 9 ? * * *)",
  "cron(0 9 ? * L *)",
  "rate(5 days)",
  "at(2026-05-01T09:00:00)",
])("%s surprises nobody", (every) => {
  expect(surpriseIn({ agent: "clerk", every })).toBe(null);
});
