/** Records which tools of its servers a run does not offer to its model, whenever that changes. */
import { digestOf } from "../../codec/canonical.ts";
import { bounded } from "../../codec/value.ts";
import type { Agent } from "../../ports/agent.ts";
import type { ActiveRun } from "./active-run.ts";

const SHOWN_MAX = 16;
const DIGEST_CHARACTERS = 16;

export function recordLeftOut(run: ActiveRun, { leftOut = [] }: Agent): void {
  const digest =
    leftOut.length === 0 ? undefined : digestOf(leftOut.map((each) => ({ ...each }))).slice(0, DIGEST_CHARACTERS);
  if (run.state.leftOutTools === digest) return;
  const tools = leftOut.slice(0, SHOWN_MAX).map(({ tool, source, why }) => ({
    tool: bounded(tool),
    source,
    why: bounded(why),
  }));
  run.record({ kind: "ToolsLeftOut", at: run.now, tools, count: leftOut.length, digest: digest ?? "" });
}
