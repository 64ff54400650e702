/**
 * When a schedule fires, computed where there is no EventBridge Scheduler, and as it does: a time that the clocks of the
 * zone leave out does not come, and one that they show twice comes once. Rates have no zone; they count from the epoch,
 * so that every process that computes them has the same times (on AWS they count from the making of the schedule).
 */
import { asJson } from "../../codec/value.ts";
import { parseCron } from "./cron.ts";
import type { Schedule } from "../../ports/agent.ts";
import type { ScheduleOptions } from "./schedule.ts";
import { type WallClock, wallClock } from "./wall-clock.ts";
import * as z from "zod";

/** All in epoch milliseconds; null is never. */
export interface FiringTimes {
  /** The first time after that moment. */
  readonly next: (after: number) => number | null;
  /** The last time up to that moment, and at it. */
  readonly latest: (moment: number) => number | null;
}

type Of = Pick<Schedule, "every" | "timezone">;

/** @throws Error where `wrongWithSchedule` would have said why */
export function firingTimes(of: Of): FiringTimes {
  const times = parsed(of);
  if (typeof times === "string") throw new Error(times);
  return times;
}

const EXAMPLE = "write for example rate(5 minutes), cron(0 8 ? * MON-FRI *) or at(2027-01-31T08:00:00)";

const optionsSchema = z.strictObject({
  every: z.string(),
  timezone: z.string().optional(),
  input: z.unknown().optional(),
  overlap: z.enum(["skip", "allow"]).optional(),
  missed: z.enum(["latest", "skip"]).optional(),
});

/** The schedule that somebody wrote for an agent with such a task; a text says what is wrong with it. */
export function parseSchedule(options: ScheduleOptions, task: z.ZodType): Schedule | string {
  const checked = optionsSchema.safeParse(options);
  if (!checked.success)
    return checked.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
  const { every, timezone = "UTC", overlap = "skip", missed = "latest" } = checked.data;
  const times = parsed({ every, timezone });
  if (typeof times === "string") return times;
  const input = asJson(checked.data.input ?? {});
  if (!input.ok) return `input: ${input.why}`;
  const wrong = task.safeParse(input.json).error?.issues[0];
  if (wrong !== undefined) return `${["input", ...wrong.path].join(".")}: ${wrong.message}`;
  return { every, timezone, input: input.json, overlap, missed };
}

function parsed({ every, timezone }: Of): FiringTimes | string {
  const clock = clockOf(timezone);
  if (clock === null) return `timezone: ${timezone} is no zone: write its IANA name, for example Europe/Berlin`;
  const [, kind, inside = ""] = /^(rate|cron|at)\((.*)\)$/s.exec(every) ?? [];
  if (kind === undefined) return `every: ${every} is no expression: ${EXAMPLE}`;
  const times = { rate: parseRate, cron: parseCronTimes, at: parseAt }[kind as "rate" | "cron" | "at"](inside, clock);
  return typeof times === "string" ? `every: ${every}: ${times}; ${EXAMPLE}` : times;
}

/** Offsets such as +02:00 are zones to JavaScript, and none to AWS. */
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
  if (periodMs > YEAR_DAYS * (UNITS["day"] ?? 0)) return "it fires once a year at least";
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
      // Where clocks were just put back, they showed later times before.
      const shown = Math.max(clock.at(moment), clock.at(moment - PUT_BACK_MS) + PUT_BACK_MS);
      for (let wall = calendar.before(shown + 1_000); wall !== null; wall = calendar.before(wall)) {
        const then = clock.first(wall);
        if (then !== null && then <= moment) return then;
      }
      return null;
    },
  };
}

/** More than clocks are ever put back at once. */
const PUT_BACK_MS = 4 * 3_600_000;

function parseAt(inside: string, clock: WallClock): FiringTimes | string {
  const wall = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(inside) ? Date.parse(`${inside}Z`) : Number.NaN;
  // JavaScript takes the 30th of February for the 1st of March.
  if (Number.isNaN(wall) || !new Date(wall).toISOString().startsWith(inside)) return "that is no date and time";
  const moment = clock.first(wall);
  if (moment === null) return "the clocks of that zone leave this time out";
  return {
    next: (after) => (moment > after ? moment : null),
    latest: (now) => (moment <= now ? moment : null),
  };
}
