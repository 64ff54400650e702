/** What is wrong with an option, in the words of the schema that reads it. */
import type * as z from "zod";

/** All issues: `usd: Too small`. An issue of the whole has no path. */
export const issuesIn = (error: z.ZodError | undefined): readonly string[] =>
  (error?.issues ?? []).map(({ path, message }) =>
    path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`,
  );

export const firstIssue = (error: z.ZodError | undefined): string => issuesIn(error)[0] ?? "";
