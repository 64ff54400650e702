/**
 * Probes the external service for the outcome of a call. A probe runs only when no process can still act and every
 * request has landed (schedules 3, 22, 33, 34). An earlier probe could miss an effect that is still to land.
 */
import type { Agent, Probe, Tool } from "../../ports/agent.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { postponeForRoom } from "./postpone.ts";
import { recordMissingTool } from "./missing-tool.ts";
import { undoneBy } from "./run-tools.ts";
import { askInTime } from "./ask-in-time.ts";
import { toolInputOf } from "./parsed-args.ts";
import { callContextOf, canGoOn, openCall, timeoutOf, toolFor, whyChanged } from "./tools.ts";
import { type Next, goesOn } from "../context/next.ts";
import { traceOfCall } from "../context/trace.ts";
import { secretsFor } from "../../history/secrets.ts";
import { recordEvidence } from "./outcome-evidence.ts";
import { openMark } from "../../protocol/restored.ts";
import { restoredWords } from "./lost-time.ts";
import { reconcileFromOf, recordUnknown } from "./unknown-outcome.ts";

/** Probes each call, and records whether it happened, may be released again, or stays unknown. */
export async function probeCalls(run: ActiveRun, agent: Agent, calls: readonly string[]): Promise<Next> {
  const mark = openMark(run.row);
  let { hasWorked } = run.seen;
  for (const call of calls) {
    const open = openCall(run, call);
    const tool = toolFor(agent, open);
    if (tool === null || !(await canGoOn(run, { open, tool }))) {
      recordMissingTool(run, { open, tool });
      continue;
    }
    const changed = await whyChanged(run, { open, tool });
    if (changed !== null) {
      recordUnknown(run, { call, tool, why: changed });
      continue;
    }
    if (tool.probe === null) {
      // No earlier request can land any more, but one may have landed, so an error of the next attempt settles nothing.
      run.noticed.note("unanswered", call);
      run.noticed.note("repeated", call);
      run.record({ kind: "ToolInvoked", at: run.now, call, epoch: run.row.epoch });
      continue;
    }
    // A probe without the time that it may take would only find that it gave no answer.
    if (hasWorked && timeoutOf(run, tool) > run.leftMs) return "release";
    hasWorked = true;
    const truth = await ask(run, agent, { tool, question: tool.probe, call });
    const at = run.now;
    if (truth.kind === "absent") {
      run.noticed.note("repeated", call);
      const takesMs = timeoutOf(run, tool);
      // Schedule 210: the probe has used up the beat. The next one releases the call, and needs no probe for it.
      if (takesMs > run.leftMs) postponeForRoom(run, { open, tool, after: "probe", takesMs, hasWorked });
      else run.record({ kind: "ToolInvoked", at, call, epoch: run.row.epoch });
    }
    if (truth.kind === "happened") {
      // The result has to be durable before the model sees it (result before advance, `docs/protocol.md`).
      run.pending.requireCommit();
      await recordEvidence(run, { call, tool, result: truth.result, by: "probe" });
    }
    if (truth.kind === "unsure") {
      const isRestored = mark !== null && open.restored === mark.at;
      const why = isRestored ? `${truth.why}; ${restoredWords(mark)}` : truth.why;
      const reconcilableFrom = reconcileFromOf(run, tool);
      recordUnknown(run, { call, tool: isRestored ? null : tool, why, reconcilableFrom });
    }
  }
  return hasWorked ? goesOn("probe") : "continue";
}

/**
 * Reads the answer of a probe. An answer in another form counts as unknown, so that the same probe is not repeated
 * forever.
 */
function readTruth(given: Probe): Truth {
  switch (given.kind) {
    case "absent":
      return { kind: "absent" };
    case "happened":
      return { kind: "happened", result: given.result };
    case "unknown":
      return unsure("the external service cannot tell");
    default:
      return unsure(`the probe answered neither "happened", "absent" nor "unknown"`);
  }
}

type Truth = Exclude<Probe, { readonly kind: "unknown" }> | { readonly kind: "unsure"; readonly why: string };

const unsure = (why: string): Truth => ({ kind: "unsure", why });

/** Runs the tool's probe, with a timeout. A probe that throws leaves the outcome unknown. */
async function ask(
  run: ActiveRun,
  agent: Agent,
  {
    tool,
    question,
    call,
  }: { readonly tool: Tool; readonly question: NonNullable<Tool["probe"]>; readonly call: string },
): Promise<Truth> {
  const open = openCall(run, call);
  const read = await toolInputOf(run, { open, tool });
  const key = open.intent?.key ?? "";
  const [undone, context] = [await undoneBy(run, open), await callContextOf(run)];
  const stop = new AbortController();
  const { signal } = stop;
  const secrets = secretsFor(run.world, agent);
  const traced = traceOfCall(run.world, run.row, open);
  if (read.kind !== "input") return unsure(read.why);
  const asked = { what: `the probe of tool ${open.tool}`, most: timeoutOf(run, tool) };
  const said = await askInTime(run, asked, async () => {
    const input = read.make();
    return readTruth(
      await question({ ...context, ...traced, input, key, before: open.before ?? null, signal, secrets, ...undone }),
    );
  });
  if (said.kind === "said") return said.value;
  if (said.kind === "threw") return unsure(`the probe threw: ${said.why}`);
  // A probe has no outside effect. So one that continues is aborted, and its process need not end.
  stop.abort();
  return unsure("the probe gave no answer in time");
}
