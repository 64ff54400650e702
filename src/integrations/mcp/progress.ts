/** What an event of a run says to a client that follows a call: one line, or null if a human would not care. Pure. */
import type { RunEvent } from "../../client/client.ts";

const TEXT_MAX = 200;

export function progressText(event: RunEvent): string | null {
  const text = textOf(event);
  return text === null ? null : text.slice(0, TEXT_MAX).toWellFormed();
}

function textOf(event: RunEvent): string | null {
  switch (event.kind) {
    case "RunStarted":
      return "the run has started";
    case "ModelCallCompleted": {
      const tools = event.parts.flatMap((part) => (part.kind === "call" ? [part.tool] : []));
      if (tools.length > 0) return `the model calls ${tools.join(", ")}`;
      return event.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join(" ") || null;
    }
    case "ToolInvoked":
      return `call ${event.call} runs`;
    case "ToolResultRecorded":
      return `call ${event.call} ${event.outcome}`;
    case "ToolOutcomeUnknown":
      return `the outcome of call ${event.call} is unknown: ${event.why}`;
    case "ApprovalRequested":
      return `call ${event.call} waits for approval: ${event.reason}`;
    case "HumanApprovalReceived":
      return `call ${event.call}: ${event.decision.as} by ${event.decision.by}`;
    case "RecoveryDecided":
      return event.action.kind === "takeover" ? "another process has taken over the run" : null;
    case "RunPaused":
      return "the run is paused";
    case "RunResumed":
      return "the run goes on";
    case "RunEnded":
      return `the run ${event.status}`;
    default:
      return null;
  }
}
