/**
 * Calls whose tool is gone. Schedule 52: a call that was released, or that a human agreed to, is never dropped. It
 * continues when its tool is back, or when an operator reconciles it before.
 */
import type { Tool } from "../../ports/agent.ts";
import type { OpenCall } from "../../core/state.ts";
import { alarm } from "../../history/alarm.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { reconcileFromOf } from "./unknown-outcome.ts";

/** Records that the call waits for its tool. `isUnbegun`: it is known not to have begun. */
export function recordMissingTool(
  run: ActiveRun,
  { open, tool, isUnbegun }: { readonly open: OpenCall; readonly tool: Tool | null; readonly isUnbegun?: true },
): void {
  const { call } = open;
  const why = `the agent has no tool ${open.tool} any more that can go on with it; deploy it again, or reconcile the call`;
  alarm(run.world, run.row.run, { what: "ToolGone", why: `${call}: ${why}` });
  const reconcilableFrom = isUnbegun === true ? run.now : reconcileFromOf(run, tool);
  const marks = { toolGone: true, ...(isUnbegun && { unbegun: isUnbegun }) } as const;
  run.record({ kind: "ToolOutcomeUnknown", at: run.now, call, why, reconcilableFrom, ...marks });
}
