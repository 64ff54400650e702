/** When a gate expires, and whether a human is asked again then. */
import type { Agent, Tool } from "../../ports/agent.ts";
import type { Gate } from "../../core/approval.ts";
import { APPROVAL_MS_MAX, approvalMs } from "../../protocol/limits.ts";
import type { ActiveRun } from "./active-run.ts";

/** The terms of a gate that opens now. `tool`: its own terms come first; null: the gate is about the budget. */
export function gateTerms(
  run: ActiveRun,
  agent: Pick<Agent, "approvals">,
  tool: Pick<Tool, "approvals"> | null,
): Pick<Gate, "expiresAt" | "asksAgainMs"> {
  const { limits } = run.world;
  const declared = { ...agent.approvals, ...tool?.approvals };
  const { expiresMs = limits.gateMs, onExpiry = expiresMs === null ? "ask" : "deny" } = declared;
  const waits = approvalMs(limits, expiresMs ?? APPROVAL_MS_MAX);
  return { expiresAt: run.now + waits, ...(onExpiry === "ask" && { asksAgainMs: waits }) };
}
