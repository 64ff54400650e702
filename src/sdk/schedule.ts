/**
 * The schedule options of an agent. The expressions are those of EventBridge Scheduler, so that one definition means
 * the same in both worlds.
 */
import { builtOnUse } from "../codec/fit.ts";
import { asJson } from "../codec/value.ts";
import { type RunLabels, wrongWithLabels } from "../core/ids.ts";
import { parseTimes } from "../features/schedules/firing-times.ts";
import type { Schedule } from "../ports/agent.ts";
import { issuesIn, parsedOption } from "./issues.ts";
import * as z from "zod";

/** When cairn starts runs of an agent, and with which input (`docs/triggers.md`). */
export interface ScheduleOptions<Input = unknown> {
  /** `rate(5 minutes)`, `cron(0 8 ? * MON-FRI *)` or `at(2027-01-31T08:00:00)`. */
  readonly every: string;
  /** The IANA name of the time zone of `cron` and `at`; default UTC. */
  readonly timezone?: string;
  /** The task of each run; default `{}`. */
  readonly input?: Input;
  /** `allow`: start a run even if the schedule's previous run has not ended. `skip` (default): start none. */
  readonly overlap?: "skip" | "allow";
  /** Firings missed while no process ran: `latest` (default) makes up for the latest one, `skip` for none. */
  readonly missed?: "latest" | "skip";
  /** Labels of each run that it starts, by which lists find it. */
  readonly labels?: RunLabels;
}

const optionsSchema = builtOnUse(() =>
  z.strictObject({
    every: z.string(),
    timezone: z.string().optional(),
    input: z.unknown().optional(),
    overlap: z.enum(["skip", "allow"]).optional(),
    missed: z.enum(["latest", "skip"]).optional(),
    labels: z.record(z.string(), z.string()).optional(),
  }),
);

/** Parses the schedule options of an agent with this task schema. A returned text says what is wrong with them. */
export function parseSchedule(options: ScheduleOptions, task: z.ZodType): Schedule | string {
  const checked = parsedOption(optionsSchema(), options);
  if (!checked.success) return issuesIn(checked.error).join("; ");
  const { every, timezone = "UTC", overlap = "skip", missed = "latest", labels } = checked.data;
  const times = parseTimes({ every, timezone });
  if (typeof times === "string") return times;
  const input = asJson(checked.data.input ?? {});
  if (!input.ok) return `input: ${input.why}`;
  const wrong = task.safeParse(input.json).error?.issues[0];
  if (wrong !== undefined) return `${["input", ...wrong.path].join(".")}: ${wrong.message}`;
  const schedule = { every, timezone, input: input.json, overlap, missed };
  if (labels === undefined) return schedule;
  const why = wrongWithLabels(labels);
  return why === null ? { ...schedule, labels } : `labels: ${why}`;
}
