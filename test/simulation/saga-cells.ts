/** What of sagas a history met, for the reach table. */
import type { ObservedHistory } from "./observed-history.ts";

export function sagaCells({ events, history }: ObservedHistory): readonly string[] {
  if (history.plan.saga === null) return [];
  const rules = events("RecoveryDecided").map(({ event }) => event.rule);
  const whys = events("RecoveryDecided").flatMap(({ event }) =>
    event.action.kind === "compensate" ? [event.why] : [],
  );
  const left = events("ToolResultReconciled").some(
    ({ event }) => event.call.startsWith("undo-") && event.answer.as === "failed",
  );
  const restarts = rules.filter((rule) => rule === "begins again").length;
  const isAsked = whys.some((why) => why.includes("asked for it"));
  const cells: Readonly<Record<string, boolean>> = {
    undone: events("ToolCompensated").length > 0,
    "begins again": restarts > 0,
    "begins again twice": restarts > 1,
    "left by its agent": rules.includes("effects are left"),
    "left by a person": left,
    "wanted by a policy": rules.includes("outcome stays unknown, everything is undone"),
    "wanted by a person": rules.includes("an operator asked for compensation"),
    "wanted by a cancel": isAsked && rules.includes("cancel requested"),
    "wanted by a restart": rules.includes("restart requested"),
  };
  return Object.entries(cells).flatMap(([name, isMet]) => (isMet ? [`saga ${name}`] : []));
}
