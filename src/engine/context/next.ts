/**
 * What a step returns to the loop: whether this invocation goes on, and what was seen in the step. `seenAfter` folds that into
 * one value of the invocation. None of it is stored, and the next invocation starts with `NOTHING_SEEN`. Pure.
 */
import type { View } from "../../core/outstanding.ts";

/**
 * What follows a step. `continue`: go on in this invocation. `release`: release the run, so that the chain starts the
 * next invocation.
 */
export type Next = "continue" | "release" | StepOutcome;

export interface StepOutcome {
  readonly next: "continue" | "release";
  readonly saw: readonly Saw[];
  /** A run that is released waits until then without a process, epoch milliseconds. Absent: the next beat follows. */
  readonly until?: number;
}

/** One thing that a step did or found, which a later step of the same invocation needs to know. */
export type Saw =
  /** A model replied. */
  | "reply"
  | "toolsRan"
  | "probe"
  /** A run that waits for code was compared with the current deployment. */
  | "deployment"
  /** The model job that is out was looked at, or sent. */
  | "job"
  /** A job was begun that was not looked at yet, or the lost start of one was found. */
  | "newJob"
  /** A child cannot be made now. */
  | "childLacking"
  /** A child could not be asked to stop, because it cannot be read now. */
  | "childUnreadable"
  /** The last reply was judged, and only children keep the run from its end. */
  | "judged";

/** What one invocation has seen of its run. */
export interface SeenSoFar extends Required<
  Pick<View, "looked" | "hasSeenDetached" | "lacksChild" | "cannotAskChild" | "hasJudged">
> {
  /** The number of model replies that came. */
  readonly replies: number;
  /** Calls ran before the first reply: another invocation released them. */
  readonly ranToolsFirst: boolean;
  /** A model, a tool or a probe was called. What follows has less than the time of a beat. */
  readonly hasWorked: boolean;
}

export const NOTHING_SEEN: SeenSoFar = {
  looked: false,
  hasSeenDetached: false,
  lacksChild: false,
  cannotAskChild: false,
  hasJudged: false,
  replies: 0,
  ranToolsFirst: false,
  hasWorked: false,
};

/** Closed: what is seen and changes nothing does not compile. */
const CHANGES: { readonly [S in Saw]: (seen: SeenSoFar) => Partial<SeenSoFar> } = {
  reply: ({ replies }) => ({ replies: replies + 1, hasJudged: false, hasWorked: true }),
  toolsRan: ({ replies, ranToolsFirst }) => ({ ranToolsFirst: ranToolsFirst || replies === 0, hasWorked: true }),
  probe: () => ({ hasWorked: true }),
  deployment: () => ({ looked: true }),
  job: () => ({ hasSeenDetached: true }),
  newJob: () => ({ hasSeenDetached: false }),
  childLacking: () => ({ lacksChild: true }),
  childUnreadable: () => ({ cannotAskChild: true }),
  judged: () => ({ hasJudged: true }),
};

/** What the invocation has seen after this step. */
export function seenAfter(before: SeenSoFar, next: Next): SeenSoFar {
  const seen = { ...before };
  for (const each of typeof next === "string" ? [] : next.saw) Object.assign(seen, CHANGES[each](seen));
  return seen;
}

/** The number of rounds of plan, act and observe that the invocation has completed. */
export const beatsIn = ({ replies, ranToolsFirst }: SeenSoFar): number =>
  ranToolsFirst ? Math.max(1, replies) : replies;

/** The invocation goes on. */
export const goesOn = (...saw: readonly Saw[]): StepOutcome => ({ next: "continue", saw });

/** The invocation goes on, unless code or a tool outlived its timeout. Then its process has to end. */
export const unlessOutlived = (
  { outlived }: { readonly outlived: "no" | "code" | "tool" },
  ...saw: readonly Saw[]
): StepOutcome => ({ next: outlived === "no" ? "continue" : "release", saw });
