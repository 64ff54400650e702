/** The view of a run for the code of its agent: checks, results, and the functions of its topology. */
import type { RunView, SettledCall } from "../../ports/agent.ts";
import { type Value, textOf } from "../../core/message.ts";
import { messagesOfRestart } from "../../core/policy/window.ts";
import type { ActiveRun } from "../context/active-run.ts";

/** The run as checks and results see it, with large values loaded. `answer`: the text of the run; null: its last reply. */
export async function viewOf(run: ActiveRun, answer: string | null = null): Promise<RunView> {
  const { state } = run;
  const args = new Map<string, Value>();
  const calls: SettledCall[] = [];
  const shown = messagesOfRestart(state);
  const last = shown.findLast(({ role }) => role === "assistant");
  const text = last === undefined ? "" : textOf(shown, last.id);
  for (const { parts } of shown) {
    for (const part of parts) {
      if (part.kind === "call") args.set(part.call, part.args);
      if (part.kind !== "result") continue;
      const { call, tool, outcome, edited } = part;
      const given = edited ?? args.get(part.call);
      const [asked, result] = [given === undefined ? null : await run.json(given), await run.json(part.value)];
      calls.push({ call, tool, outcome, args: asked, result });
    }
  }
  return { task: await run.json(state.task), calls, text: answer ?? text, spent: state.spent };
}
