/**
 * Calls of child tools: the decision to dispatch a child run. It is committed before the child is made. The rules C1 to
 * C8 are those of `docs/protocol.md` (child runs).
 */
import type { Agent, ChildRun, Tool } from "../../ports/agent.ts";
import { bounded } from "../../codec/value.ts";
import { spentOfGrant } from "./core.ts";
import type { Json } from "../../core/json.ts";
import { BOUNDS } from "../../core/limits.ts";
import type { Grant } from "../../core/policy/budget.ts";
import { missingGrant } from "../../core/policy/spending.ts";
import { childRunId } from "../../protocol/ids.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";
import { limitsOf } from "../../engine/context/budget-gate.ts";
import { taskFrom, taskOf } from "../../engine/context/creation.ts";
import type { Runner } from "../../engine/context/runner.ts";

/**
 * The task of a child. `unknown`: there is no agent of that name. No other call of the model can mend that, so it is a
 * failure of the agent that declares the tool.
 */
export type ChildTask =
  | { readonly kind: "task"; readonly json: Json }
  | { readonly kind: "refused"; readonly why: string }
  | { readonly kind: "unknown"; readonly why: string };

/**
 * The task of the child of a call, or why the call is refused before anything is committed. If tool and agent share one
 * schema, the arguments are parsed once.
 */
export async function taskOfChild(
  run: ActiveRun,
  {
    child,
    args,
    tool,
    input,
    agentOf,
  }: {
    readonly agentOf: Runner["agentOf"];
    readonly tool: Pick<Tool, "input">;
    readonly child: ChildRun;
    readonly args: Json;
    /** Makes the arguments as the tool has parsed them; null: their task is recorded, and only has to fit still. */
    readonly input: (() => unknown) | null;
  },
): Promise<ChildTask> {
  const refused = (why: string) => ({ kind: "refused", why: bounded(why) }) as const;
  const found = await agentOf(child.agent);
  if (found.kind === "absent" && found.isBroken === true)
    return refused(`ChildAgentAbsent: ${child.agent} cannot be loaded: ${found.why}`);
  if (found.kind === "absent") return { kind: "unknown", why: bounded(found.why) };
  const isShared = found.agent.task === tool.input && input !== null;
  const task = isShared ? taskFrom(run.world, input()) : taskOf(run.world, found.agent, args);
  if (task.ok) return { kind: "task", json: task.json };
  return refused(`InvalidArguments: agent ${child.agent} does not take them: ${task.why}`);
}

/** Dispatches the first child of the call. Returns null, or why there is no room for it. */
export function dispatchFirst(
  run: ActiveRun,
  agent: Agent,
  handOff: { readonly call: string; readonly child: ChildRun },
): string | null {
  const against = reasonAgainstDispatch(run, agent, handOff.child.grant);
  // A call that an operator permitted again had children before.
  const before = run.state.open.find(({ call }) => call === handOff.call)?.attempts ?? 0;
  if (against === null) dispatch(run, { ...handOff, try: before + 1 });
  return against;
}

/** Why no further child may be dispatched now; null if there is room. */
export function reasonAgainstDispatch(run: ActiveRun, agent: Agent, grant: Grant): string | null {
  if (run.state.children.length >= BOUNDS.childrenMax) {
    return `NotStarted: ${BOUNDS.childrenMax} child runs at once are the most; wait for some, then ask again`;
  }
  const missing = missingGrant(run.state.spent, limitsOf(run.state, agent), grant);
  return missing === null ? null : `NotStarted: the budget has no room for this child run: ${missing}`;
}

/** C1: intent, entry and reservation are events of one commit. C8: the grant of a child left alone is spent at once. */
export function dispatch(
  run: ActiveRun,
  { call, child, try: number }: { readonly call: string; readonly child: ChildRun; readonly try: number },
): void {
  const { hash } = run.world;
  const { run: id, born, tenant, epoch } = run.row;
  const { agent, grant, deadlineMs, wait } = child;
  const at = run.now;
  const name = childRunId(hash, { tenant, run: id, born, attempt: run.state.restart, call, try: number });
  const left = wait ? {} : ({ left: true } as const);
  const deadline = wait ? at + deadlineMs : null;
  run.record({
    kind: "ChildDispatched",
    at,
    child: name,
    call,
    try: number,
    agent,
    grant,
    deadline,
    epoch,
    ...left,
  });
  if (wait) return;
  const debit = spentOfGrant(grant);
  run.record({ kind: "BudgetDebited", at, debit, for: "a child run that is left alone", child: name });
}

/** C6: nothing more is heard of children after a forced end, so what is reserved for them counts as spent. */
export function chargeReserved(run: ActiveRun): void {
  for (const { id, grant, left } of run.state.children) {
    const debit = spentOfGrant(grant);
    if (left === true || Object.keys(debit).length === 0) continue;
    run.record({ kind: "BudgetDebited", at: run.now, debit, for: "a child run that did not report", child: id });
  }
}
