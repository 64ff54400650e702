/**
 * Starts a compaction before the provider refuses the context. The length of a request is known only with its reply,
 * and another process may send the next request. So the message of the reply records that the context was nearly full.
 */
import type { Agent } from "../../ports/agent.ts";
import type { EventOf } from "../../core/event.ts";
import { type Message, wordsOf } from "../../core/message.ts";
import { type Trouble, decideRecovery } from "../../core/policy/recovery.ts";
import { SUMMARY, sectionStart, visibleMessages } from "../../core/policy/window.ts";
import type { State } from "../../core/state.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";
import { isWorthCompacting, compactionRangeOf, lengthOf } from "./range.ts";

/** Why the context has to be compacted before the next model call, or null. */
export function reasonToCompact({ state }: ActiveRun, agent: Agent): Trouble | null {
  if (!isNearlyFull(state, agent)) return null;
  const stretch = compactionRangeOf(state);
  if (stretch === null || !isWorthCompacting(stretch)) return null;
  const message = `the last question had over ${CROWDED_SHARE * 100} % of ${agent.contextTokensMax} tokens`;
  const failure = { code: "ContextNearlyFull", message };
  return { kind: "model", failure, retry: null, shortens: true };
}

/**
 * Whether the last request nearly filled the context, and a summary may be tried. A summary that could not be used was
 * paid for. So it is tried once after each reply, and a few times until a summary is made. Then it is tried only where
 * the next request is longer than the agent allows: a run without a usable summary ends there.
 */
function isNearlyFull(state: State, agent: Agent): boolean {
  const { messages } = state;
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  if (agent.contextTokensMax === null || messages[last]?.nearLimit !== true) return false;
  if (messages.slice(last).some(isTelling)) return false;
  const summary = messages.findLastIndex(({ source }) => source === SUMMARY);
  const tried = messages.slice(Math.max(summary, sectionStart(state))).filter(isTelling);
  return tried.length < UNUSABLE_MAX || !fits(state, agent.contextTokensMax);
}

const UNUSABLE_MAX = 3;

/**
 * Whether the run goes on without a summary: no provider has refused the context, and the next request is not longer than
 * the agent allows.
 */
export const mayGoOnCrowded = (state: State, agent: Agent): boolean =>
  isNearlyFull(state, agent) && fits(state, agent.contextTokensMax ?? 0);

/** Whether the request that follows a nearly full one is within the limit, as far as the run can know. */
function fits(state: State, max: number): boolean {
  const shown = visibleMessages(state);
  const added = shown.slice(shown.findLastIndex(({ role }) => role === "assistant"));
  return Math.max(tokensIn(shown), max * CROWDED_SHARE + tokensIn(added)) <= max;
}

/** The fewest tokens that these messages can have: no tokenizer makes fewer of usual text. */
const tokensIn = (messages: readonly Message[]): number => lengthOf(messages) / CHARACTERS_PER_TOKEN_MAX;

const CHARACTERS_PER_TOKEN_MAX = 5;

/** The run goes on with its next model call, and its model is told. */
export function goOnCrowded(state: State, why: string, now: number): EventOf<"RecoveryDecided"> {
  const failure = { code: "SummaryUnusable", message: why };
  const say = `${CROWDED_NOTICE}, and it could not be made shorter. Go on, and be brief.`;
  return decideRecovery(state, { kind: "crowded", failure, say }, now);
}

/** The message to the model begins with this text. Later beats recognise by it that a summary was tried. */
const CROWDED_NOTICE = "Your context is nearly full";

const isTelling = ({ source, parts }: Message): boolean =>
  source === "cairn" && wordsOf(parts).startsWith(CROWDED_NOTICE);

/** Above this share of the limit the next request may be too long, because tool results are added to it. */
const CROWDED_SHARE = 0.8;

/** Whether a request of this many tokens nearly filled the context. */
export const needsCompaction = ({ contextTokensMax }: Agent, tokensIn: number): boolean =>
  contextTokensMax !== null && tokensIn > contextTokensMax * CROWDED_SHARE;
