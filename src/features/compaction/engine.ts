/**
 * Compaction: a context that is too long is made shorter. The model is asked for a summary of the older part, and is
 * shown the summary in its place from then on. The summary call and the next model call each leave under a mark of
 * their own. The commit that makes the second mark keeps the summary (schedule 73). If a summary does not help, the run
 * asks for no further one: it fails, unless no provider has refused the context yet.
 */
import { createHash } from "node:crypto";
import type { Agent } from "../../ports/agent.ts";
import { canonical, sha256 } from "../../codec/canonical.ts";
import { prefixMemo } from "../../codec/prefix-memo.ts";
import { type Message, text, wordsOf } from "../../core/message.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";
import { type Heard, requestModel, debitReply } from "../../engine/model/model-request.ts";
import { hasBudget } from "../../engine/context/budget-gate.ts";
import { type FailedCall, type Routing, recordModelFailure, routeOf } from "../../engine/model/provider-outage.ts";
import { type Summariser, recordFailedSummary } from "../../engine/model/summary-model.ts";
import { withoutFormat } from "../../engine/model/response-format.ts";
import { type CompactionRange, compactionRangeOf } from "./range.ts";
import { type Next, unlessOutlived } from "../../engine/context/next.ts";
import { absorbSilence, commitMarkIfNeeded } from "../../engine/model/call-model.ts";
import { debitOtherInvocations, recordOwnCallLost } from "../../engine/context/debits.ts";
import { goOnCrowded, mayGoOnCrowded } from "./trigger.ts";

/** Asks for a summary and records it. */
export async function compactContext(run: ActiveRun, by: Summariser): Promise<Next> {
  const { agent, model } = by;
  debitOtherInvocations(run);
  if (!hasBudget(run, agent)) return "continue";
  if (run.leftMs < run.world.limits.modelMs && run.moved) return "release";
  const stretch = compactionRangeOf(run.state);
  if (stretch === null) return giveUpSummary(run, agent, "nothing is left that a summary could stand for");
  if (await commitMarkIfNeeded(run)) return "continue";
  const messages = [...stretch.read, questionAt(run.now, agent)];
  const { heard } = await requestModel(run, withoutFormat(agent), { model, mayCall: false, messages });
  if (heard.kind === "silent") return absorbNoSummary(run, by, heard);
  return absorbSummary(run, by, { stretch, heard });
}

/** Records a summary that did not come in time. Another model may write it, if this one can be replaced. */
function absorbNoSummary(run: ActiveRun, { agent, model, isOwn }: Summariser, heard: Silent): Next {
  if (!isOwn || heard.by !== "timeout") return absorbSilence(run, agent, heard);
  recordOwnCallLost(run, heard.why);
  const failure = { code: "ModelTimedOut", message: heard.why };
  recordFailedSummary(run, model, { failure, retryable: true, retryAfterMs: null });
  return unlessOutlived(run.noticed);
}

type Silent = Extract<Heard, { readonly kind: "silent" }>;

/** The request for the summary, as the last user message: all providers accept that. */
const questionAt = (at: number, { summaries }: Agent): Message => ({
  id: "summarise",
  at,
  source: "cairn",
  role: "user",
  tokens: 0,
  parts: [text(`${BEFORE}${summaries?.instructions ?? CONTENT} ${AFTER}`)],
});

const BEFORE =
  "Your context has to be made shorter. Write a summary that will stand in the place of everything above but the task: ";
/** What a summary has to contain, unless the agent says it. */
const CONTENT =
  "what was done and what came of it, with every name, number, date and identifier that may be needed again; what was " +
  "decided and why; what persons asked for; what is still open.";
const AFTER = "Call no tool, and write nothing but the summary.";

/** Records the summary. If it is missing or useless, records what follows instead. */
function absorbSummary(
  run: ActiveRun,
  { agent, model, routed, isOwn }: Summariser,
  { stretch, heard }: { readonly stretch: CompactionRange; readonly heard: Exclude<Heard, Silent> },
): Next {
  const replaced = (failed: FailedCall): Next => {
    recordFailedSummary(run, model, failed);
    return "continue";
  };
  if (heard.kind === "failed") {
    const { failure, spent } = heard;
    if (spent !== undefined) debitReply(run, agent, { ...spent, model, isBeat: false });
    if (isOwn) return replaced({ ...heard, retryable: heard.retryable && spent === undefined });
    if (spent !== undefined || (!heard.retryable && mayGoOnCrowded(run.state, agent))) {
      return giveUpSummary(run, agent, failure.message);
    }
    return recordModelFailure(run, agent, heard);
  }
  const { tokensOut } = heard;
  const words = wordsOf(heard.parts.filter((part) => part.kind === "text")).trim();
  const wrong = wrongWith(words, stretch);
  if (wrong === null) recordSummary(run, { model, routed, words, stretch, tokens: tokensOut });
  // The summary plans nothing, so it does not count as a beat.
  debitReply(run, agent, { ...heard, model, isBeat: false });
  if (wrong === null) return "continue";
  if (!isOwn) return giveUpSummary(run, agent, wrong);
  return replaced({ failure: { code: "SummaryUnusable", message: wrong }, retryable: false, retryAfterMs: null });
}

/** Why the summary is useless, or null. */
function wrongWith(words: string, { replaces }: CompactionRange): string | null {
  if (words === "") return "the summary is empty";
  return words.length < replaces ? null : `the summary has ${words.length} characters in place of ${replaces}`;
}

function recordSummary(
  run: ActiveRun,
  {
    words,
    stretch,
    tokens,
    ...by
  }: Pick<Routing, "model" | "routed"> & {
    readonly words: string;
    readonly stretch: CompactionRange;
    readonly tokens: number;
  },
): void {
  const { from, stays, shows } = stretch;
  const { messages } = run.state;
  const stood = messages.slice(1, from);
  const [first, last] = [stood.at(0)?.id ?? "", stood.at(-1)?.id ?? ""];
  const replaced = { from: first, to: last, messages: stood.length, digest: digestOfTranscript(stood) };
  const summary = `A summary of what came before (${stood.length} messages, ${first} to ${last}):\n${words}`;
  const window = { from, lead: [`m${messages.length + 1}`, ...stays] };
  const why = `${shows} characters were shown, ${stretch.replaces} of them in its place`;
  const asked = { model: by.model.name, ...routeOf(by) };
  run.record({ kind: "Compacted", at: run.now, ...asked, summary, tokens, window, replaced, why });
}

/** Decides what follows when the context could not be made shorter. */
function giveUpSummary(run: ActiveRun, agent: Agent, why: string): Next {
  const { state, now } = run;
  if (mayGoOnCrowded(state, agent)) {
    run.record(goOnCrowded(state, why, now));
    return "continue";
  }
  const failure = { code: "ContextTooLong", message: `its context could not be made shorter: ${why}` };
  return recordModelFailure(run, agent, { failure, retryable: false, retryAfterMs: null, refusal: "access" });
}

/**
 * The digest of these messages, in their order: that of their digests. A long run is compacted again and again, each time with
 * all that came before, so a process hashes each message once.
 */
export const digestOfTranscript = (messages: readonly Message[]): string => hashed(messages).copy().digest("hex");

const hashed = prefixMemo({
  start: () => createHash("sha256"),
  copy: (hash) => hash.copy(),
  add: (hash, message) => void hash.update(sha256(canonical(message))),
});
