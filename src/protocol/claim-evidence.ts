/**
 * Evidence that the execution of a run does not come back soon: for how long no invocation has claimed the run. A sweep
 * hands such a run over without a look at its execution, since AWS allows few of those looks. Whatever still runs is
 * fenced by the epoch, so the evidence may be wrong and costs an execution then, never a step.
 *
 * Schedule 166: Lambda turns a run away all day. A hand-over counts as a claim, or each sweep would hand the run over.
 */
import type { ListedRow } from "./row.ts";

/**
 * The time without a claim after which a sweep hands a run over. It is longer than the longest pause of one try of a
 * beat: 100 calls that Lambda turns away, up to a minute apart, and a backoff of ten minutes (`machine/asl.ts`).
 */
export const UNCLAIMED_MS = 2 * 3_600_000;

/**
 * Whether no invocation has claimed the run for that long. A parked run waits on purpose, and its claim may be old when
 * it is woken. A run that was never claimed has no such time, so its execution is described.
 */
export const isLongUnclaimed = (
  { claimedAt, lastCheckpointAt, leaseUntil, park }: ListedRow,
  { now }: { readonly now: number },
): boolean =>
  claimedAt !== undefined &&
  park === null &&
  now >= Math.max(claimedAt, lastCheckpointAt, leaseUntil ?? 0) + UNCLAIMED_MS;
