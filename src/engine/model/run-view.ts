/** The view of a run for the code of its agent: checks, results, and the functions of its topology. */
import type { RunStep, RunView, SettledCall } from "../../ports/agent.ts";
import { type Part, type Value, textOf } from "../../core/message.ts";
import { messagesOfRestart } from "../../core/policy/window.ts";
import type { ActiveRun } from "../context/active-run.ts";

type Step = RunStep & { readonly calls: SettledCall[] };

const callsIn = (parts: readonly Part[]): readonly string[] =>
  parts.flatMap((part) => (part.kind === "call" ? [part.call] : []));

/** The run as checks and results see it, with large values loaded. `answer`: the text of the run; null: its last reply. */
export async function viewOf(run: ActiveRun, answer: string | null = null): Promise<RunView> {
  const { state } = run;
  let steps: Step[] = [];
  const args = new Map<string, Value>();
  const calls: SettledCall[] = [];
  const shown = messagesOfRestart(state);
  const last = shown.findLast(({ role }) => role === "assistant");
  const text = last === undefined ? "" : textOf(shown, last.id);
  for (const { role, source, parts, id } of shown) {
    if (role === "user" && source.startsWith("user:")) steps = [];
    if (role === "assistant") steps.push({ text: textOf(shown, id), proposed: callsIn(parts), calls: [] });
    for (const part of parts) {
      if (part.kind === "call") args.set(part.call, part.args);
      if (part.kind !== "result") continue;
      const { call, tool, outcome, edited } = part;
      const given = edited ?? args.get(part.call);
      const [asked, result] = [given === undefined ? null : await run.json(given), await run.json(part.value)];
      const settled = { call, tool, outcome, args: asked, result };
      calls.push(settled);
      steps.findLast(({ proposed }) => proposed.includes(call))?.calls.push(settled);
    }
  }
  const { firing, spent } = state;
  const seen = { task: await run.json(state.task), calls, steps, text: answer ?? text, spent };
  return firing === undefined ? seen : { ...seen, firing };
}
