/**
 * Compares a run with the deployed version of its agent. The run continues with the newest version, unless it is pinned
 * to the version that it started with (schedules 53 and 54). It waits if the agent cannot be loaded or the pin forbids
 * the version. A waiting run polls, because a deployment wakes no run.
 */
import { upgradesOf } from "../../core/policy/holds.ts";
import type { Agent } from "../../ports/agent.ts";
import { bounded } from "../../codec/value.ts";
import { lacksTool } from "../../core/outstanding.ts";
import type { OpenCall, State } from "../../core/state.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";
import { alarm } from "../../history/alarm.ts";
import { absorbInbox } from "../../engine/context/inbox.ts";
import { toolFor, canGoOn } from "../../engine/tools/tools.ts";
import type { AgentAbsent, LoadedAgent } from "../../engine/context/runner.ts";
import { type Next, goesOn } from "../../engine/context/next.ts";

/**
 * Why a run may not continue with the deployed code. `to` is the version that an operator has to accept, or null if no
 * version can be loaded.
 */
interface Hold {
  readonly to: string | null;
  readonly what: string;
  readonly rule: string;
  readonly why: string;
}

/**
 * Returns the agent for this invocation. Returns null if the run has to wait for other code; then the wait is recorded.
 */
export function matchAgentVersion(run: ActiveRun, found: LoadedAgent | AgentAbsent): LoadedAgent | null {
  const hold = holdBy(run.state, found) ?? holdByOperator(run, found);
  if (hold === "operator") return null;
  if (hold !== null) waitFor(run, hold);
  if (hold !== null || found.kind === "absent") return null;
  goOn(run, found.agent);
  return found;
}

/** Why the run may not continue with this agent, or null if it may. */
function holdBy(state: State, found: LoadedAgent | AgentAbsent): Hold | null {
  if (found.kind === "absent") {
    return { to: null, what: "AgentAbsent", rule: "agent cannot be loaded", why: found.why };
  }
  const { policy, accepted } = upgradesOf(state);
  const to = found.agent.version;
  if (policy === "follow" || to === state.agentVersion || accepted?.to === to) return null;
  const why = `it is pinned to agent version ${state.agentVersion}, and version ${to} is deployed`;
  return { to, what: "UpgradeAwaited", rule: "pinned to another version", why };
}

/**
 * The run waits for an operator to mend what fails. A poll alone tries nothing again: only a resume or a message does, or
 * another version of the agent.
 */
const holdByOperator = ({ state, committed }: ActiveRun, found: LoadedAgent | AgentAbsent): "operator" | null =>
  state.phase === "AwaitingAgent" &&
  upgradesOf(state).lack?.kind === "operator" &&
  found.kind === "agent" &&
  found.agent.version === state.agentVersion &&
  !committed.wasWoken
    ? "operator"
    : null;

/** Records the wait. If the run waits for the same version as before, nothing is recorded and no deadline moves. */
function waitFor(run: ActiveRun, { to, what, rule, why: found }: Hold): void {
  const why = bounded(found);
  const { lack } = upgradesOf(run.state);
  const isSame = to === null ? lack?.kind === "agent" : lack?.kind === "upgrade" && lack.to === to;
  // An agent that cannot be loaded always needs a repair, so each poll raises the alarm. A pinned run raises it only
  // once.
  if (!isSame || to === null) alarm(run.world, run.row.run, { what, why });
  if (isSame) return;
  run.record({ kind: "RecoveryDecided", at: run.now, rule, why, action: { kind: "hold", to } });
}

/**
 * Records that the run continues, and under which version. A run that has not started yet records the version with its
 * start.
 */
function goOn(run: ActiveRun, { version: to, price }: Agent): void {
  const { agentVersion: from, startedAt, phase } = run.state;
  const { policy, accepted } = upgradesOf(run.state);
  const at = run.now;
  if (from !== to && (startedAt !== null || policy === "pin")) {
    const by = accepted?.to === to ? { by: accepted.by } : {};
    run.record({ kind: "AgentChanged", at, from, to, price, ...by });
  } else if (phase === "AwaitingAgent") {
    run.record({ kind: "RunResumed", at });
  }
}

/**
 * Continues calls whose tool was missing and is available again. An operator may be reconciling such a call at this
 * moment, and the reconciliation wins. So the commit is conditional on the wake-up counter (schedule 55).
 */
export async function checkMissingTools(run: ActiveRun, agent: Agent): Promise<Next> {
  const looked = goesOn("deployment");
  if ((await withTool(run, agent)).length === 0 || !(await absorbInbox(run))) return looked;
  const back = await withTool(run, agent);
  if (back.length === 0) return looked;
  const before = run.mark();
  for (const { call, tool } of back) {
    const why = `the agent has a tool ${tool} again that can go on with this call`;
    run.record({ kind: "RecoveryDecided", at: run.now, rule: "tool is back", why, action: { kind: "toolBack", call } });
  }
  const outcome = await run.commit({ release: false, unlessWoken: true });
  if (outcome === "woken") run.restore(before);
  return looked;
}

/** The open calls that lacked their tool and can continue now. */
async function withTool(run: ActiveRun, agent: Agent): Promise<readonly OpenCall[]> {
  const back: OpenCall[] = [];
  for (const open of run.state.open.filter(lacksTool)) {
    if (await canGoOn(run, { open, tool: toolFor(agent, open) })) back.push(open);
  }
  return back;
}
