/** The task of the example: a question, and the subjects that the review has to cover. */
import { z } from "zod";

/** The subjects of a review if the task names none. */
export const SUBJECTS = [
  "recovery time after a crash",
  "overhead of recording each step",
  "duplicate effects and idempotency keys",
  "leases and fencing of stale workers",
  "summaries of long contexts",
  "money saved by resuming instead of restarting",
  "operators who reconcile unknown outcomes",
  "draining workers during a deploy",
];

export const task = z.object({
  question: z.string().min(1).default("What does it take to keep a program running through crashes and deploys?"),
  reader: z.string().min(1).default("Ada"),
  subjects: z.array(z.string().min(3)).min(1).max(12).default(SUBJECTS),
  /** How many papers it reads at most, the best fitting ones of each subject first. */
  papersMax: z.int().min(1).max(200).default(60),
});

export type Task = z.output<typeof task>;
