/**
 * The typical first failures of each topology, and the signals that show them. It is the one table for
 * operators who monitor a deployment and for auditors of an agent: events, metrics, alarms, the audit, `show`,
 * `diagnose` and the documentation read it. A failure without a signal shows only when its run is paid for.
 */
import type { Crack } from "../crack.ts";

export interface CrackRow {
  readonly crack: Crack;
  /** What is seen first, and from which threshold on. */
  readonly signal: string;
  readonly threshold: string;
  /** What the engine does on its own. */
  readonly recovery: string;
  /** What an operator sees, and does first. */
  readonly observe: string;
  readonly response: string;
  /** The metric, whose alarm has the same name, and what it counts. */
  readonly metric: CrackMetric;
  readonly counts: "signals" | "ends";
}

export type CrackMetric =
  | "Runaway"
  | "Oscillation"
  | "NotDone"
  | "CascadingPoison"
  | "StalePlan"
  | "PartialExecution"
  | "Deadlock"
  | "Capitulation"
  | "LostHandoff"
  | "BossDeath"
  | "WorkerSilence"
  | "RootBottleneck";

const CRACKS = {
  react: [
    {
      crack: "runaway",
      signal: "many beats are used, or a call repeats with the same result",
      threshold: "80 % of its beats, or three equal calls among six",
      recovery: "is stopped after a closing call; beats before a crash count towards its limit",
      observe: "the same tool is called again and again without progress",
      response:
        "check maxBeats and budget, and that the tool returns what the model needs; a resumed run keeps what it used",
      metric: "Runaway",
      counts: "signals",
    },
    {
      crack: "oscillation",
      signal: "two calls alternate with the same results, or their results contradict each other",
      threshold: "six calls in a row; a contradiction that comes back",
      recovery: "tells its model of the contradiction; then is stopped, or goes on with another model or a human",
      observe: "two tools are called in turns",
      response: "find out which of the two tools is right; write onContradiction",
      metric: "Oscillation",
      counts: "ends",
    },
    {
      crack: "prematureStop",
      signal: "its model says that it is done while a check of done fails",
      threshold: "one check",
      recovery: "tells its model what is missing, three times, then fails",
      observe: "a run says that it is done and is not",
      response: "read which check fails, and whether the model can see what it asks for",
      metric: "NotDone",
      counts: "ends",
    },
  ],
  orchestrator: [
    {
      crack: "lostHandoff",
      signal: "a worker gives no report by its deadline, one that fails its schema, or an echo of its task",
      threshold: "one hand-off; an echo differs from the task by 10 % of its words at most",
      recovery:
        "hands the work out again if its worker did nothing outside, or gives the answer back to the worker, at most as often as tries says; else tells its model what was done",
      observe: "a worker produced a result and the orchestrator has no record of it",
      response:
        "read the reason (timeline) and the schema of the memo; check that the end of each child was delivered (endNotified) and taken in; the sweeper delivers it again",
      metric: "LostHandoff",
      counts: "signals",
    },
    {
      crack: "bossDeath",
      signal: "a takeover while workers are out",
      threshold: "one takeover",
      recovery: "goes on from its inbox, where the reports wait; nothing is dispatched again",
      observe: "the orchestrator died and its workers went on",
      response: "check the takeovers of the orchestrator, and that its chain goes on (list, doctor)",
      metric: "BossDeath",
      counts: "signals",
    },
    {
      crack: "workerSilence",
      signal: "a worker is silent past its deadline",
      threshold: "the deadline of the worker",
      recovery:
        "asks the worker to stop; hands the work out again if it can do nothing outside, else waits for its end",
      observe: "a worker hangs and the orchestrator waits",
      response: "look at the run of the worker (show), and shorten the timeouts of its tools",
      metric: "WorkerSilence",
      counts: "signals",
    },
  ],
  pipeline: [
    {
      crack: "cascadingPoison",
      signal: "the end-to-end check falls while all stages are green",
      threshold: "one fall",
      recovery: "goes back to the stage that the check names, at most as often as retriesPerStage says",
      observe: "the final output is wrong and every stage logged success",
      response:
        "look at the output of the first stage, add a gate behind it, and let the end-to-end check name the stage",
      metric: "CascadingPoison",
      counts: "signals",
    },
  ],
  "plan-execute": [
    {
      crack: "stalePlan",
      signal: "a step fails because its object is gone, a precondition falls, or the plan is too old",
      threshold: "one step; planTtl",
      recovery: "writes another plan from the world as it is, at most as often as replans says",
      observe: "a step fails with not found on something that existed when the plan was written",
      response: "shorten planTtl, and write a precondition",
      metric: "StalePlan",
      counts: "signals",
    },
    {
      crack: "partialExecution",
      signal: "a step fails while steps before it are done",
      threshold: "one step",
      recovery: "stops, skips the step or writes another plan, as onFailedStep says",
      observe: "a part of the plan is done and the rest is not",
      response: "read which steps are done; undo them, or start another run for the rest",
      metric: "PartialExecution",
      counts: "signals",
    },
  ],
  debate: [
    {
      crack: "deadlock",
      signal: "the rounds are used up and the drafts have not converged",
      threshold: "rounds; a difference of epsilon",
      recovery: "ships the best-scored draft",
      observe: "the round count is at its maximum and the output goes back and forth",
      response: "use the draft that was shipped, it is the best one; raise epsilon, or make the critic's task narrower",
      metric: "Deadlock",
      counts: "signals",
    },
    {
      crack: "capitulation",
      signal: "the judge's score falls from one round to the next",
      threshold: "one fall; the second in a row ends the debate",
      recovery: "revises the best draft, and ships the best one",
      observe: "each revision is worse than the one before",
      response: "tell the critic what must not change, or allow fewer rounds",
      metric: "Capitulation",
      counts: "signals",
    },
  ],
  hierarchical: [
    {
      crack: "rootBottleneck",
      signal: "the unread reports of the root grow while its leaves are idle",
      threshold: "unread reports at once, by default half of fanOut",
      recovery: "merges reports in batches, and hands out further work to its shards alone",
      observe: "leaves wait while the root works",
      response: "give the root shards (sub-roots over disjoint parts), a smaller fanOut, or more beats per invocation",
      metric: "RootBottleneck",
      counts: "signals",
    },
  ],
} as const satisfies Readonly<Record<string, readonly CrackRow[]>>;

const ROWS: Readonly<Record<string, readonly CrackRow[]>> = CRACKS;

/** Every crack with its topology. */
export const ALL_CRACKS: readonly (CrackRow & { readonly topology: string })[] = Object.entries(ROWS).flatMap(
  ([topology, rows]) => rows.map((row) => ({ topology, ...row })),
);

/**
 * The cracks of an agent with these topologies, the outer one first: their own ones, and those of ReAct, because the
 * engine watches those in every run and a section is ReAct unless its agent says otherwise. An agent with `workers`,
 * that is child tools, has those of an orchestrator as well.
 */
export function cracksOf(kinds: readonly string[], { workers }: { readonly workers: boolean }): readonly CrackRow[] {
  const inner = kinds.slice(1).filter((kind) => kind !== "react");
  const named = [...kinds.slice(0, 1), ...inner, ...(workers ? ["orchestrator"] : []), "react"];
  return [...new Set(named)].flatMap((kind) => ROWS[kind] ?? []);
}

/** What an operator does first. */
export const responseTo = (crack: Crack): string => ALL_CRACKS.find((row) => row.crack === crack)?.response ?? "";
