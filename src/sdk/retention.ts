/** How long the ended runs of an agent are kept, as its author says it. */
import * as z from "zod";
import { TIMES } from "../protocol/limits.ts";
import { ARCHIVE_TIERS, type ArchiveTier, type Retention } from "../core/policy/retention.ts";

export interface RetentionOptions {
  readonly hotDays?: number;
  readonly archive?: ArchiveTier | null;
}

const DAY_MS = 24 * 3_600_000;
const hotDays = z
  .number()
  .min(TIMES.hotMsMin / DAY_MS)
  .max(TIMES.hotMsMax / DAY_MS)
  .optional();
const schema = z.strictObject({ hotDays, archive: z.enum(ARCHIVE_TIERS).nullish() });

/** Null: nothing was said. Or what is wrong with it. */
export function retentionOf(options: RetentionOptions | undefined): Retention | string | null {
  if (options === undefined) return null;
  const parsed = schema.safeParse(options);
  if (!parsed.success) return parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`)[0] ?? "";
  const { hotDays: days, archive = null } = options;
  return { hotMs: days === undefined ? null : Math.round(days * DAY_MS), archive };
}
