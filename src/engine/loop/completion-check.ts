/**
 * The definition of done. When the model says that it is done, the run completes only if all checks of its agent hold.
 * Otherwise the model is told what is missing.
 */
import type { Agent, RunView, SettledCall } from "../../ports/agent.ts";
import type { Check } from "../../ports/agent.ts";
import { asJson, bounded, sentenceOf } from "../../codec/value.ts";
import type { Failure } from "../../core/event.ts";
import type { Json } from "../../core/json.ts";
import { type Value, wordsOf } from "../../core/message.ts";
import { decideRecovery } from "../../core/policy/recovery.ts";
import { messagesOfRestart } from "../../core/policy/window.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { withTimeout } from "../tools/tool-attempt.ts";
import { commitEnd } from "./terminal-commit.ts";
import type { Next } from "../context/next.ts";

/** Runs the checks of the agent. Commits the end of the run if all of them hold. */
export async function checkCompletion(run: ActiveRun, agent: Agent): Promise<Next> {
  const view = await viewOf(run);
  const verdicts = await Promise.all(agent.done.map((check) => verdictOf(run, check, view)));
  const missing = verdicts.filter((verdict) => verdict !== null);
  for (const { check, why } of missing) run.record({ kind: "CheckFailed", at: run.now, check, why });
  if (missing.length > 0) {
    const names = missing.map(({ check }) => check).join(", ");
    const why = `the model says that it is done, and ${names} does not hold`;
    run.record({ kind: "CrackSignalled", at: run.now, crack: "prematureStop", why });
    const list = missing.map(({ check, why }) => `- ${check}: ${why}`).join("\n");
    const failure = { code: "NotDone", message: `the definition of done does not hold:\n${list}` };
    const say = `You are not done yet. What is missing:\n${list}`;
    run.record(decideRecovery(run.state, { kind: "reply", failure, say }, run.now));
    return "continue";
  }
  const made = resultOf(agent, view);
  if (made.failure !== null) {
    run.record(decideRecovery(run.state, { kind: "agent", failure: made.failure }, run.now));
    return "continue";
  }
  const result = await run.keepSmall(made.json);
  return commitEnd(run, { status: "completed", result });
}

/**
 * Runs one check. Returns null if it holds, else what is missing. A check that throws or gives no verdict does not
 * hold.
 */
async function verdictOf(
  run: ActiveRun,
  check: Check,
  view: RunView,
): Promise<{ readonly check: string; readonly why: string } | null> {
  const ask = async (): Promise<boolean | string> => {
    try {
      return await check.holds(view as RunView<never>);
    } catch (error) {
      return `it threw: ${sentenceOf(error)}`;
    }
  };
  const given = await withTimeout(ask(), Math.max(1, run.leftMs), run.world.clock);
  // The check may continue in this process, but not in the next invocation: the process has to end.
  if (given === null) run.noticed.noteOutlived("code");
  const verdict: unknown = given ?? "it gave no verdict in time";
  if (verdict === true) return null;
  if (typeof verdict === "string") return { check: check.name, why: bounded(verdict) };
  return { check: check.name, why: verdict === false ? "it does not hold" : "it said neither true nor false nor why" };
}

/** The result of the agent, or why it is refused. */
type Made = { readonly json: Json; readonly failure: null } | { readonly json: null; readonly failure: Failure };

function resultOf(agent: Agent, view: RunView): Made {
  const refused = (why: string): Made => ({ json: null, failure: { code: "ResultInvalid", message: bounded(why) } });
  try {
    const made: unknown = agent.result(view);
    // A promise is refused below. Its rejection must not end the process.
    if (made instanceof Promise) made.catch(() => undefined);
    const parsed = asJson(made);
    return parsed.ok ? { json: parsed.json, failure: null } : refused(`the result of the agent: ${parsed.why}`);
  } catch (error) {
    return refused(`the result of the agent threw: ${sentenceOf(error)}`);
  }
}

/** The run as checks and results see it, with large values loaded. */
async function viewOf(run: ActiveRun): Promise<RunView> {
  const { state } = run;
  const args = new Map<string, Value>();
  const calls: SettledCall[] = [];
  let text = "";
  for (const { role, parts } of messagesOfRestart(state)) {
    if (role === "assistant") text = wordsOf(parts);
    for (const part of parts) {
      if (part.kind === "call") args.set(part.call, part.args);
      if (part.kind !== "result") continue;
      const { call, tool, outcome, edited } = part;
      const given = edited ?? args.get(part.call);
      const [asked, result] = [given === undefined ? null : await run.json(given), await run.json(part.value)];
      calls.push({ call, tool, outcome, args: asked, result });
    }
  }
  return { task: await run.json(state.task), calls, text, spent: state.spent };
}
