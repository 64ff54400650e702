/** What is wrong with an option, in the words of the schema that reads it. */
import type * as z from "zod";
import { insteadOf } from "./nearest.ts";
import { shown } from "./option-forms.ts";

/** Parses an option with its schema. A key that there is not is answered with the one that was meant. */
export const parsedOption = <Schema extends z.ZodType>(schema: Schema, given: unknown) =>
  schema.safeParse(given, { error: wordsFor });

/** What was meant by a key or a word that there is not, and what to write in place of another type; else zod says it. */
function wordsFor(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_type") return typeMeant(issue.expected, issue.input);
  if (issue.code === "invalid_value" && issue.values.every((each) => typeof each === "string")) {
    const { input, values } = issue;
    if (typeof input !== "string")
      return `${given(input)}: write ${values.map((each) => JSON.stringify(each)).join(" or ")}`;
    return `${given(input)}: ${insteadOf(input, values)}`;
  }
  if (issue.code === "too_small" || issue.code === "too_big") return boundMeant(issue);
  if (issue.code !== "unrecognized_keys") return undefined;
  const [key] = issue.keys;
  const { shape = {} } = (issue.inst?._zod.def ?? {}) as { readonly shape?: object };
  const known = Object.keys(shape);
  if (key === undefined || known.length === 0) return undefined;
  return `there is no ${JSON.stringify(key)}: ${insteadOf(key, known)}`;
}

const TYPES: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  function: "a function",
  array: "a list [ ... ]",
  object: "an object { ... }",
  record: "an object { ... }",
};

const typeMeant = (expected: string, input: unknown): string | undefined =>
  Object.hasOwn(TYPES, expected) ? `${given(input)}: write ${TYPES[expected]}` : undefined;

/** For numbers, lists and texts; for all else zod says it. */
function boundMeant(
  issue: z.core.$ZodRawIssue<z.core.$ZodIssueTooSmall> | z.core.$ZodRawIssue<z.core.$ZodIssueTooBig>,
) {
  const { input, inclusive = true } = issue;
  const [bound, more, less] =
    issue.code === "too_small"
      ? [issue.minimum, inclusive ? "at least " : "more than ", "at least "]
      : [issue.maximum, inclusive ? "at most " : "less than ", "at most "];
  if (typeof input === "number") return `${given(input)}: write a number of ${more}${bound}`;
  if (Array.isArray(input)) return `it has ${input.length} items: write ${less}${bound}`;
  return typeof input === "string" ? `it has ${input.length} characters: write ${less}${bound}` : undefined;
}

const given = (input: unknown): string => (input === undefined ? "it is missing" : `it is ${shown(input)}`);

/** All issues: `usd: Too small`. An issue of the whole has no path. A mistyped key comes before what is missing for it. */
export const issuesIn = (error: z.ZodError | undefined): readonly string[] =>
  (error?.issues ?? [])
    .toSorted((one, other) => Number(isOfKey(other)) - Number(isOfKey(one)))
    .map(({ path, message }) => (path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`));

const isOfKey = ({ code }: z.core.$ZodIssue): boolean => code === "unrecognized_keys";

export const firstIssue = (error: z.ZodError | undefined): string => issuesIn(error)[0] ?? "";
