/**
 * The recovery table: the first rule that matches wins, so the order of the rules is the policy. Every
 * decision is an event that names its rule.
 */
import { waitsForChildren, nextCompensationStep } from "./ending.ts";
import type { EventOf, Failure, Action } from "../event.ts";
import { ensure } from "../ensure.ts";
import type { FailedSummaries } from "../failed-summaries.ts";
import { BOUNDS } from "../limits.ts";
import {
  type OutageRetry,
  type RetryTerms,
  switchModel,
  outageIsOver,
  nextModel,
  retryLater,
  retrySoon,
  modelUnavailable,
} from "./outage.ts";
import { isModelOut } from "./model-out.ts";
import { mayTryAgain, messagesOfOthers } from "./expected-answer.ts";
import { mayFollow } from "../phases.ts";
import type { State } from "../state.ts";

/** A problem that a beat cannot solve by going on. */
export type Trouble =
  /**
   * `deaths`: recovery has cost too many process deaths, and no code of the agent runs any more. `deadline`: no answer
   * came within the time that a run may wait. `idle`: the watchdog gave up on the model. `speechless`: the closing call
   * failed or was lost. `agent`: the agent's own code cannot go on. `topology`: the run's topology gave up.
   */
  | {
      readonly kind: "budget" | "loop" | "deaths" | "deadline" | "idle" | "speechless" | "agent" | "topology";
      readonly failure: Failure;
    }
  | {
      readonly kind: "model";
      readonly failure: Failure;
      /** Null: the same request would fail in the same way. */
      readonly retry: RetryTerms | null;
      /** A summary could replace a part of the context, and none was made since the last reply. */
      readonly shortens?: boolean;
      /** The provider refuses the request. It says nothing about the task, so it never ends the run. */
      readonly refused?: RefusedRequest;
    }
  /** `cut`: a limit cut the reply. `say` tells the model so. `cuts`: the next one would be cut, too. */
  | { readonly kind: "cut"; readonly failure: Failure; readonly say: string }
  | { readonly kind: "cuts"; readonly failure: Failure }
  /** The agent's own model for summaries failed. `retry`: the same request may succeed later. */
  | {
      readonly kind: "summary";
      readonly failure: Failure;
      readonly retry: Pick<RetryTerms, "afterMs"> | null;
    }
  /**
   * `reply`: the reply cannot be used as it is. `result`: the agent makes no result of it. `conflict`: results contradict
   * each other. `crowded`: the context is nearly full, and has no usable summary. `say` tells the model why.
   */
  | { readonly kind: "reply" | "result" | "conflict" | "crowded"; readonly failure: Failure; readonly say: string };

/** What can be tried after a request was refused. */
export interface RefusedRequest {
  readonly terms: RetryTerms;
  /** The transcript has parts that its provider can do without, and they were sent. */
  readonly leavesOut: boolean;
  /** A limit of its reply in tokens that makes room for the request; null: none is known. */
  readonly replyTokensMax: number | null;
}

interface Rule {
  readonly name: string;
  readonly when: (state: State, trouble: Trouble, now: number) => boolean;
  readonly action: (state: State, trouble: Trouble, now: number) => Action;
}

const abort = (_: State, { failure }: Trouble): Action => ({ kind: "abort", failure });
/** No code of the agent runs any more, so nothing is undone, and the end waits for no child. */
const leave = (_: State, { failure }: Trouble): Action => ({ kind: "abort", failure, next: "leave", forced: true });
const stop = (_: State, { failure }: Trouble): Action => ({ kind: "stop", failure, text: farewell(failure) });
const nudge = (_: State, trouble: Trouble): Action => ({
  kind: "nudge",
  text: "say" in trouble ? trouble.say : "",
  ...(trouble.kind === "cut" ? { isCut: true } : {}),
});
/** Applies `judge` to a model failure that may be retried. */
const onTerms = (trouble: Trouble, judge: (terms: RetryTerms) => boolean): boolean =>
  trouble.kind === "model" && trouble.retry !== null && judge(trouble.retry);
function retry(trouble: Trouble, next: (terms: RetryTerms) => OutageRetry): Action {
  ensure(trouble.kind === "model" && trouble.retry !== null, "only a model call is asked again");
  return { kind: "retry", ...next(trouble.retry) };
}
/**
 * When the model of summaries is called again; null if the working model summarises in its place. That model costs more
 * but is there, so a long wait is not worth it.
 */
function summaryRetry(
  { failedSummaries }: State,
  trouble: Trouble,
  now: number,
): { at: number; failed: FailedSummaries } | null {
  if (trouble.kind !== "summary" || trouble.retry === null) return null;
  const failed = failedSummaries?.attempts ?? 0;
  const waitMs = Math.max(1_000 * 2 ** failed, trouble.retry.afterMs ?? 0);
  if (failed >= BOUNDS.modelRetriesMax || waitMs > BOUNDS.outagePauseMsMin) return null;
  return { at: now + waitMs, failed: { ...failedSummaries, attempts: failed + 1 } };
}
/** Applies `judge` to a request that its provider refused. */
const onRefusal = (trouble: Trouble, judge: (refused: RefusedRequest) => boolean): boolean =>
  trouble.kind === "model" && trouble.refused !== undefined && judge(trouble.refused);
const block = (_: State, { kind, failure }: Trouble): Action => ({
  kind: "block",
  mends: kind === "cuts" ? "replies" : "request",
  failure,
});
/** A retry would send the same request: only a shorter context helps. */
const isTooLong = (trouble: Trouble): boolean => trouble.kind === "model" && trouble.failure.code === "ContextTooLong";
const canShorten = (trouble: Trouble): boolean => trouble.kind === "model" && trouble.shortens === true;

/** The rules in order of precedence. The last one matches every trouble. */
export const RECOVERY: readonly Rule[] = [
  { name: "too many processes died", when: (_, { kind }) => kind === "deaths", action: leave },
  { name: "no answer before the deadline", when: (_, { kind }) => kind === "deadline", action: leave },
  {
    // The end is decided: this rule comes before those that would call the model again.
    name: "stops without a closing reply",
    when: (_, { kind }) => kind === "speechless",
    action: ({ stopsFor }, { failure }) => ({ kind: "abort", failure: stopsFor ?? failure }),
  },
  { name: "hard idle timeout", when: (_, { kind }) => kind === "idle", action: abort },
  {
    name: "context too long, not yet compacted",
    when: (_, trouble) => canShorten(trouble) && (isTooLong(trouble) || !onRefusal(trouble, () => true)),
    action: () => ({ kind: "compact" }),
  },
  {
    name: "request refused, sent again without optional parts",
    when: (_, trouble) => onRefusal(trouble, ({ leavesOut }) => leavesOut),
    action: () => ({ kind: "leaveOut" }),
  },
  {
    name: "request refused, the next model is asked",
    when: (state, trouble) => !isModelOut(state) && onRefusal(trouble, ({ terms }) => nextModel(terms) !== 0),
    action: (state, trouble, now) => {
      ensure(trouble.kind === "model" && trouble.refused !== undefined, "a request was refused");
      return { kind: "retry", ...switchModel(state, trouble.refused.terms, now) };
    },
  },
  {
    name: "request refused, it may be too long, not yet compacted",
    when: (_, trouble) => onRefusal(trouble, () => canShorten(trouble)),
    action: () => ({ kind: "compact" }),
  },
  {
    name: "request refused, a shorter reply makes room for it",
    when: (_, trouble) => onRefusal(trouble, ({ replyTokensMax }) => replyTokensMax !== null),
    action: (_, trouble) => {
      const tokensMax = trouble.kind === "model" ? (trouble.refused?.replyTokensMax ?? null) : null;
      ensure(tokensMax !== null, "a shorter reply makes room");
      return { kind: "limitReply", tokensMax };
    },
  },
  {
    name: "the provider refuses the request",
    when: (_, trouble) => isTooLong(trouble) || onRefusal(trouble, () => true),
    action: block,
  },
  {
    name: "model of summaries failed, may be asked again",
    when: (state, trouble, now) => summaryRetry(state, trouble, now) !== null,
    action: (state, trouble, now) => ({ kind: "compact", ...summaryRetry(state, trouble, now) }),
  },
  {
    name: "model of summaries failed, the working model summarises",
    when: (_, { kind }) => kind === "summary",
    action: ({ failedSummaries }) => ({
      kind: "compact",
      failed: { ...failedSummaries, attempts: (failedSummaries?.attempts ?? 0) + 1, isLeft: true },
    }),
  },
  {
    name: "model unavailable for too long",
    when: (state, trouble, now) => onTerms(trouble, (terms) => outageIsOver(state, terms, now)),
    action: (state, { failure }, now) => ({ kind: "abort", failure: modelUnavailable(state, failure, now) }),
  },
  {
    name: "model failed, may be asked again",
    when: (state, trouble) => onTerms(trouble, () => state.modelRetries < BOUNDS.modelRetriesMax),
    action: (state, trouble, now) => retry(trouble, (terms) => retrySoon(state, terms, now)),
  },
  {
    name: "model unavailable, the next one is asked",
    when: (state, trouble) => !isModelOut(state) && onTerms(trouble, (terms) => nextModel(terms) !== 0),
    action: (state, trouble, now) => retry(trouble, (terms) => switchModel(state, terms, now)),
  },
  {
    name: "model unavailable, asked again later",
    when: (_, trouble) => onTerms(trouble, () => true),
    action: (state, trouble, now) => retry(trouble, (terms) => retryLater(state, terms, now)),
  },
  { name: "budget exhausted", when: (state, { kind }) => kind === "budget" && isBetweenCalls(state), action: stop },
  { name: "budget exhausted, calls are open", when: (_, { kind }) => kind === "budget", action: abort },
  { name: "loop detector", when: (_, { kind }) => kind === "loop", action: stop },
  { name: "results contradict each other, model is told", when: (_, { kind }) => kind === "conflict", action: nudge },
  // The last request was not too long, so the next one may not be either. Only its provider can say.
  { name: "context nearly full, model is told", when: (_, { kind }) => kind === "crowded", action: nudge },
  {
    name: "reply cannot be used, model is told",
    when: (state, trouble) => trouble.kind === "reply" && state.nudges < BOUNDS.nudgesMax,
    action: nudge,
  },
  // The text that follows the cut one is told in any case: a run that waits goes on with it.
  { name: "reply was cut, model is told", when: (_, { kind }) => kind === "cut", action: nudge },
  { name: "replies are cut again and again", when: (_, { kind }) => kind === "cuts", action: block },
  { name: "its topology gives up", when: (_, { kind }) => kind === "topology", action: abort },
  { name: "no other rule applies", when: () => true, action: abort },
];

/** Recovery has cost more deaths than the budget allows. `code` says whether a beat or the sweeper detected it. */
export function tooManyDeaths(
  code: string,
  { deaths, max, cause }: { readonly deaths: number; readonly max: number; readonly cause: string | null },
): Trouble {
  const message = `${deaths} processes died one after the other while they held this run, ${max} are allowed`;
  const last = cause === null ? "" : `; the last one ended with: ${cause}`;
  return { kind: "deaths", failure: { code, message: `${message}${last}` } };
}

/** A closing call is possible only where the model would be called next. With open calls there is none. */
const isBetweenCalls = ({ phase, open }: State): boolean => open.length === 0 && mayFollow(phase, "ForceStop");

/** The event that records which rule matches and what follows. `now`: epoch milliseconds. */
export function decideRecovery(state: State, trouble: Trouble, now: number): EventOf<"RecoveryDecided"> {
  const rule = RECOVERY.find((each) => each.when(state, trouble, now)) as Rule; // The last rule always matches.
  const why = `${trouble.failure.code}: ${trouble.failure.message}`;
  const decided = rule.action(state, trouble, now);
  const ends = decided.kind === "abort" || decided.kind === "stop";
  const action = ends ? (anotherTry(state, trouble, decided.failure) ?? decided) : decided;
  return { kind: "RecoveryDecided", at: now, rule: rule.name, why, action };
}

/**
 * Whether another try of a child can mend what would end it. A cancel, a deadline and a word of an operator are no
 * troubles, and end it. A version that nobody has accepted, and a request that its provider refuses, make it wait.
 */
const MENDED_BY_ANOTHER_TRY: { readonly [K in Trouble["kind"]]: boolean } = {
  // The provider or the platform may be back. Where the same request would fail again (`retry: null`): not.
  model: true,
  idle: true,
  deaths: true,
  // The model reads what is wrong.
  reply: true,
  result: true,
  // A grant is never raised.
  budget: false,
  // Its transcript shows the same loop at once.
  loop: false,
  // The code of its agent says the same again, and the rounds of its topology are used up.
  agent: false,
  topology: false,
  // No answer came for a month, or its end is decided.
  deadline: false,
  speechless: false,
  // They end no run.
  cut: false,
  cuts: false,
  summary: false,
  conflict: false,
  crowded: false,
};

/**
 * What a child does in place of that end, once it acted outside and its parent has tries left; null: it ends. The same
 * place ends it: without a message of others since it went on the last time, it would fail a third time.
 */
function anotherTry(state: State, trouble: Trouble, failure: Failure): Action | null {
  const { expected, ending, stopsFor, topology } = state;
  if (expected === undefined || !mayTryAgain(state) || !MENDED_BY_ANOTHER_TRY[trouble.kind]) return null;
  if (ending !== null || stopsFor !== undefined || (trouble.kind === "model" && trouble.retry === null)) return null;
  if (expected.after?.messages === messagesOfOthers(state)) return null;
  const { tries, returned = 0 } = expected;
  const next = { kind: "tryAgain", failure, try: returned + 2, tries } as const;
  if (!("say" in trouble)) return next;
  // A topology that has finished gives the same answer again.
  if (topology?.final !== undefined) return null;
  return { ...next, text: `${trouble.say}\n${stands(next)}` };
}

const stands = (next: { readonly try: number; readonly tries: number }): string =>
  `This is try ${next.try} of ${next.tries}. What you did stands: do not do it again.`;

/**
 * Ends a run that cannot recover. A decided end that only waits for children stays what it is, and waits no longer.
 * Null: the decided end needs nothing to be forced.
 */
export function forceEnd(state: State, trouble: Trouble, now: number): EventOf<"RecoveryDecided"> | null {
  if (state.ending === null || nextCompensationStep(state) !== null) return decideRecovery(state, trouble, now);
  if (!waitsForChildren(state)) return null;
  const why = `${trouble.failure.code}: ${trouble.failure.message}`;
  return {
    kind: "RecoveryDecided",
    at: now,
    rule: "end waits for no child any longer",
    why,
    action: { kind: "force" },
  };
}

const farewell = ({ message }: Failure): string =>
  `You have to stop now: ${message}. No tool can be called any more. ` +
  "Say in a few sentences what is done, what is still open, and what should be done next.";
