/** The events in which a rule of recovery, a check or a human decided what follows. */
import type { TimelineEntry } from "../../operations/views.ts";

export const DECISIONS: ReadonlySet<TimelineEntry["kind"]> = new Set([
  ...(["RecoveryDecided", "CheckFailed", "CrackSignalled", "TopologyMoved", "ApprovalRequested"] as const),
  ...(["HumanApprovalReceived", "ToolResultReconciled", "DecisionIgnored"] as const),
]);
