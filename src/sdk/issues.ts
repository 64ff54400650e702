/** What is wrong with an option, in the words of the schema that reads it. */
import type * as z from "zod";
import { insteadOf } from "./nearest.ts";

/** Parses an option with its schema. A key that there is not is answered with the one that was meant. */
export const parsedOption = <Schema extends z.ZodType>(schema: Schema, given: unknown) =>
  schema.safeParse(given, { error: keyMeant });

/** The words for a key that an object does not have; for all else those of zod. */
function keyMeant(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== "unrecognized_keys") return undefined;
  const [key] = issue.keys;
  const { shape = {} } = (issue.inst?._zod.def ?? {}) as { readonly shape?: object };
  const known = Object.keys(shape);
  if (key === undefined || known.length === 0) return undefined;
  return `there is no ${JSON.stringify(key)}: ${insteadOf(key, known)}`;
}

/** All issues: `usd: Too small`. An issue of the whole has no path. A mistyped key comes before what is missing for it. */
export const issuesIn = (error: z.ZodError | undefined): readonly string[] =>
  (error?.issues ?? [])
    .toSorted((one, other) => Number(isOfKey(other)) - Number(isOfKey(one)))
    .map(({ path, message }) => (path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`));

const isOfKey = ({ code }: z.core.$ZodIssue): boolean => code === "unrecognized_keys";

export const firstIssue = (error: z.ZodError | undefined): string => issuesIn(error)[0] ?? "";
