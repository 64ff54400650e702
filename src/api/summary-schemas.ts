/** The schemas of what a run says about its budget, its first signals, its places in AWS, and its labels. */
import { z } from "@hono/zod-openapi";
import { CRACK_NAMES } from "../core/crack.ts";
import { type RunLabels, wrongWithLabels } from "../core/ids.ts";
import { BOUNDS } from "../core/limits.ts";
import type { RunPlaces } from "../ports/run-places.ts";
import type { BudgetMeter } from "../operations/budget-meter.ts";

const meter: z.ZodType<BudgetMeter> = z.object({
  meter: z.enum(["beats", "usd", "tokens", "seconds", "toolCalls"]),
  used: z.number().nonnegative(),
  limit: z
    .number()
    .nonnegative()
    .openapi({ description: "With what operators granted, and never above what the run's parent reserved for it." }),
});

const places: z.ZodType<RunPlaces> = z.object({
  executionArn: z.string(),
  executionUrl: z.url().nullable().openapi({ description: "The page of the execution in the console of AWS." }),
  objects: z.string().openapi({ description: "The prefix of all of its objects." }),
  table: z.string(),
  rowKey: z.string().openapi({ description: "The key of its row, as `aws dynamodb get-item --key` takes it." }),
  logsQuery: z.string().openapi({ description: "What was logged about it: a query of CloudWatch Logs Insights." }),
  logGroups: z.array(z.string()).openapi({ description: "The groups of logs for that query." }),
});

/** Labels as a start gives them. */
export const givenLabels = z
  .record(z.string(), z.string())
  .refine((labels) => wrongWithLabels(labels) === null, {
    error: ({ input }) => wrongWithLabels(input as RunLabels) ?? "",
  })
  .default({})
  .openapi({
    maxProperties: BOUNDS.labelsMax,
    additionalProperties: { type: "string", minLength: 1, maxLength: BOUNDS.labelBytesMax },
    description: `By which lists find the run: names of 1 to 32 characters of a to z, digits, ".", "_" and "-", with values of ${BOUNDS.labelBytesMax} bytes at most, and ${BOUNDS.labelsBytesMax} bytes in all. The first start of a key decides.`,
  });

/** Fields of every summary of a run. */
export const summaryFields = {
  title: z.string().nullable().openapi({
    description: "What it is about, in one line: by the title of its agent, else an excerpt of its input.",
  }),
  startKey: z.string().nullable().openapi({ description: "The beginning of the idempotency key of its start." }),
  labels: z.record(z.string(), z.string()).openapi({ description: "As its start gave them, without secrets." }),
  budget: z.array(meter).openapi({
    description: "What it may spend and has spent, for each meter with a limit, as its last checkpoint knew them.",
  }),
  signals: z.array(z.enum(CRACK_NAMES)).openapi({ description: "The first signals of failures that it gave." }),
  isScheduled: z.boolean().openapi({ description: "The schedule of its agent started it." }),
  restored: z
    .object({ at: z.int().nonnegative(), asOf: z.int().nonnegative(), waits: z.boolean() })
    .nullable()
    .openapi({
      description:
        "Its store was restored at `at` from the state of `asOf`, and nobody has said that the external services were checked.",
    }),
};

/** Fields of the document of one run. */
export const placeFields = {
  execution: z.string().openapi({ description: "The name of the execution that may drive it now, or drove it last." }),
  aws: places.nullable().openapi({
    description: "Where it is in the services of AWS; null in the other worlds, and without the scope `admin`.",
  }),
};
