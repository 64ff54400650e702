/** The retention options of an agent: how long its ended runs are kept. */
import { firstIssue, parsedOption } from "./issues.ts";
import * as z from "zod";
import { builtOnUse } from "../codec/fit.ts";
import { TIMES } from "../protocol/limits.ts";
import { ARCHIVE_TIERS, type ArchiveTier, type RunRetention } from "../core/policy/retention.ts";

/** How long an ended run is kept, and whether an archive remains. */
export interface RetentionOptions {
  /** How many days an ended run is kept: 1 / 24 (an hour) to 90; default 1. */
  readonly hotDays?: number;
  /** The archive that remains: `warm` for 90 days, `cold` for seven years; null (default): none. */
  readonly archive?: ArchiveTier | null;
}

const DAY_MS = 24 * 3_600_000;
const hotDays = builtOnUse(() =>
  z
    .number()
    .min(TIMES.hotMsMin / DAY_MS)
    .max(TIMES.hotMsMax / DAY_MS)
    .optional(),
);
const schema = builtOnUse(() => z.strictObject({ hotDays: hotDays(), archive: z.enum(ARCHIVE_TIERS).nullish() }));

/** The retention; null without options; or a text that says what is wrong. */
export function retentionOf(options: RetentionOptions | undefined): RunRetention | string | null {
  if (options === undefined) return null;
  const parsed = parsedOption(schema(), options);
  if (!parsed.success) return firstIssue(parsed.error);
  const { hotDays: days, archive = null } = options;
  return { hotMs: days === undefined ? null : Math.round(days * DAY_MS), archive };
}
