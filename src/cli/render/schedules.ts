/** Renders schedules. */
import { type Style, fittedTable } from "../terminal/paint.ts";
import { relative, shortRun, timeOfDay } from "./words.ts";
import type { Scheduled } from "../../operations/schedules.ts";

export function renderSchedules(schedules: readonly Scheduled[], page: Style): string {
  const { now } = page;
  if (schedules.length === 0)
    return 'no agent of cairn.config.ts has a schedule: write schedule: { every: "rate(1 day)" }';
  const columns = ["AGENT", "EVERY", "TIMEZONE", "NEXT", "LAST"].map((title) => ({ title }));
  const rows = schedules.map(({ agent, every, timezone, next: [next], last, paused }) => [
    ...[agent, every, timezone],
    paused === null ? nextOf(next, now) : `paused by ${paused.by}`,
    last === null ? "" : `${timeOfDay(last.at, now)} ${becameOf(last)}`,
  ]);
  return fittedTable(columns, rows, page).join("\n");
}

const nextOf = (next: number | undefined, now: number): string => (next === undefined ? "never" : nextTime(next, now));

/** Formats a time, such as `18:30:00 (in 5m00s)`. */
export const nextTime = (at: number, now: number): string => `${timeOfDay(at, now)} (${relative(at, now)})`;

function becameOf({ stage, run }: NonNullable<Scheduled["last"]>): string {
  if (stage === "passed" || run === null) return "started nothing";
  return `${stage === "started" ? "started" : "starts"} ${shortRun(run)}`;
}

/** An agent file that cannot be loaded, so its schedules do not fire. */
export interface Unscheduled {
  readonly file: string;
  readonly why: string;
}
