/**
 * What the report of a child run means for the call that waits for it, and what follows when the child is too late. A
 * hand-off that failed is tried again with another child, a bounded number of times (seed 4: lost handoff, worker
 * silence).
 */
import type { Agent, Tool } from "../../ports/agent.ts";
import { bounded } from "../../codec/value.ts";
import { childIn } from "../../core/calls/children.ts";
import { argsOf } from "../../core/calls/ledger.ts";
import { isEcho } from "../../core/topologies/echo.ts";
import type { Json } from "../../core/json.ts";
import { inline } from "../../core/message.ts";
import type { OpenCall } from "../../core/state.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { absorbInbox } from "../context/inbox.ts";
import { signalCrack } from "../context/signal-crack.ts";
import type { Next } from "../context/next.ts";
import { dispatch, reasonAgainstDispatch } from "./dispatch.ts";
import { recordable } from "./recordable.ts";
import { recordResult } from "./record-result.ts";
import { readResult } from "./tool-result.ts";
import { openCall, toolFor } from "./tools.ts";

/** Judges what the children of these calls reported. A child may be dispatched again, a bounded number of times. */
export async function takeReports(run: ActiveRun, agent: Agent, calls: readonly string[]): Promise<Next> {
  for (const call of calls) await takeReport(run, agent, openCall(run, call));
  // The result has to be durable before the model sees it.
  run.noticed.requireCommit();
  return "continue";
}

async function takeReport(run: ActiveRun, agent: Agent, open: OpenCall): Promise<void> {
  const report = childIn(open)?.report;
  if (report === undefined) return;
  const tool = toolFor(agent, open);
  const evidence = `child run ${report.status}`;
  if (report.status !== "completed") {
    const why = inline({ status: report.status, why: await run.json(report.value) });
    return recordResult(run, open.call, { outcome: "failed", value: why, evidence });
  }
  const json = await run.json(report.value);
  const read = tool === null ? ({ ok: true, json } as const) : readResult(tool, json);
  const lost = read.ok ? await echoOf(run, { open, tool, answer: json }) : `its answer does not fit: ${read.why}`;
  if (lost !== null) return handOffFailed(run, agent, { open, tool, code: "HandoffLost", why: lost });
  const value = await run.keep(tool === null || !read.ok ? json : recordable(tool, read.json, "result"));
  recordResult(run, open.call, { outcome: "succeeded", value, evidence });
}

/** A worker that answers nothing, or gives the task back, has lost it. */
async function echoOf(
  run: ActiveRun,
  { open, tool, answer }: { readonly open: OpenCall; readonly tool: Tool | null; readonly answer: Json },
): Promise<string | null> {
  if (answer === null || answer === "") return "it gave no answer";
  if (tool?.child?.mayEcho === true) return null;
  const args = await run.json(argsOf(run.state, open.call));
  return isEcho(args, answer) ? "it gave its task back" : null;
}

/** Signals the failure, then dispatches another child, or lets the call fail. */
function handOffFailed(
  run: ActiveRun,
  agent: Agent,
  of: {
    readonly open: OpenCall;
    readonly tool: Tool | null;
    readonly code: string;
    readonly why: string;
  },
): void {
  const { open, tool, code } = of;
  const number = childIn(open)?.try ?? 1;
  const why = bounded(`${open.tool} (${open.call}), try ${number}: ${of.why}`);
  signalCrack(run, "lostHandoff", why);
  const child = tool?.child;
  const against = child === undefined ? null : reasonAgainstDispatch(run, agent, child.grant);
  if (child !== undefined && number < child.tries && against === null) {
    return dispatch(run, { call: open.call, child, try: number + 1 });
  }
  const rest = against === null ? "" : `; ${against}`;
  const value = inline(bounded(`${code}: ${of.why}, after ${number} of ${child?.tries ?? number} tries${rest}`));
  recordResult(run, open.call, { outcome: "failed", value, evidence: "the hand-off failed" });
}

/**
 * C7: a child is too late. An answer that is there wins over the clock, so the inbox is read first, and the commit is
 * conditional on the wake-up counter.
 */
export async function childTooLate(run: ActiveRun, agent: Agent, child: string): Promise<Next> {
  if (!(await absorbInbox(run))) return "continue";
  const entry = run.state.children.find(({ id }) => id === child);
  if (entry === undefined || entry.superseded) return "continue";
  const before = run.mark();
  const open = openCall(run, entry.call);
  const why = `child run ${child} gave no answer by its deadline`;
  run.record({ kind: "ChildSuperseded", at: run.now, call: entry.call, child, why });
  signalCrack(run, "workerSilence", bounded(`${open.tool} (${open.call}): ${why}`));
  handOffFailed(run, agent, { open, tool: toolFor(agent, open), code: "ChildTimedOut", why });
  const outcome = await run.commit({ release: false, unlessWoken: true });
  if (outcome === "woken") run.restore(before);
  return "continue";
}
