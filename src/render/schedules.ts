/** Renders schedules. */
import { type Style, fittedTable } from "./paint.ts";
import { relative, shortRun, timeOfDay, timeOfDayIn } from "./words.ts";
import type { Scheduled } from "../operations/schedules.ts";

export function renderSchedules(schedules: readonly Scheduled[], page: Style): string {
  const { now } = page;
  if (schedules.length === 0)
    return 'no agent of cairn.config.ts has a schedule: write schedule: { every: "rate(1 day)" }';
  const columns = ["AGENT", "EVERY", "TIMEZONE", "NEXT", "LAST"].map((title) => ({ title }));
  const rows = schedules.map(({ agent, every, timezone, next: [next], last, paused }) => [
    agent,
    every,
    timezone,
    paused === null ? nextOf(next, { now, timezone }) : `paused by ${paused.by}`,
    last === null ? "" : `${timeOfDay(last.at, now)} ${becameOf(last)}`,
  ]);
  return fittedTable(columns, rows, page).join("\n");
}

interface WhenAndWhere {
  readonly now: number;
  readonly timezone: string;
}

const nextOf = (next: number | undefined, here: WhenAndWhere): string =>
  next === undefined ? "never" : nextTime(next, here);

/** Formats a time in the zone of the schedule, such as `18:30:00 (in 5m00s)`. */
const nextTime = (at: number, { now, timezone }: WhenAndWhere): string =>
  `${timeOfDayIn(timezone, { at, now })} (${relative(at, now)})`;

/** The next firings of a schedule in words: `next 09:00:00 (in 5h00m), then Tue 1 Dec, 09:00; Wed 2 Dec, 09:00`. */
export function firingsInWords(
  { next: [first, ...later], timezone }: Pick<Scheduled, "next" | "timezone">,
  now: number,
): string {
  if (first === undefined) return "never again";
  const day = { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } as const;
  const format = new Intl.DateTimeFormat("en-GB", { ...day, timeZone: timezone });
  const then = later.length === 0 ? "" : `, then ${later.map((at) => format.format(at)).join("; ")}`;
  return `next ${nextTime(first, { now, timezone })}${then}`;
}

function becameOf({ stage, run }: NonNullable<Scheduled["last"]>): string {
  if (stage === "passed" || run === null) return "started nothing";
  return `${stage === "started" ? "started" : "starts"} ${shortRun(run)}`;
}

/** An agent file that cannot be loaded, so its schedules do not fire. */
export interface Unscheduled {
  readonly file: string;
  readonly why: string;
}
