/** Records a reply of a model, whole or cut, and its cost. */
import type { Agent } from "../../ports/agent.ts";
import type { CutMark, ReplyPart } from "../../core/event.ts";
import type { TokenCounts } from "../../core/policy/price.ts";
import { visibleMessages } from "../../core/policy/window.ts";
import type { RequestDigests } from "../../core/request-digests.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { needsCompaction } from "../../features/compaction/trigger.ts";
import { debitReply } from "./model-request.ts";
import { type Routing, routeOf } from "./provider-outage.ts";
import { withMemoryDigest } from "../../features/memory/recalled.ts";
import { requestDigests } from "./request-digests.ts";

interface Replied extends Pick<Routing, "model" | "routed"> {
  readonly parts: readonly ReplyPart[];
  readonly finish: string;
  readonly cut?: CutMark;
  readonly spent: TokenCounts;
  readonly tookMs: number;
  /** What the request contained, if the agent may have changed since. */
  readonly request?: RequestDigests;
  /** False for the closing call: nothing follows it, so neither beats nor the context matter. */
  readonly isBeat: boolean;
}

/** The step that records it returns that it saw a reply. */
export function recordReply(run: ActiveRun, agent: Agent, replied: Replied): void {
  const { model, parts, finish, cut, spent, tookMs, isBeat } = replied;
  const { tokensIn, tokensOut } = spent;
  const request = replied.request ?? requestDigests(withMemoryDigest(run.state, agent), visibleMessages(run.state));
  run.record({
    kind: "ModelCallCompleted",
    at: run.now,
    model: model.name,
    parts,
    finish,
    ...(cut === undefined ? {} : { cut }),
    tokensIn,
    tokensOut,
    tookMs,
    request,
    ...(isBeat && needsCompaction(agent, tokensIn) ? { nearLimit: true } : {}),
    ...routeOf(replied),
  });
  debitReply(run, agent, { ...spent, model, isBeat });
}
