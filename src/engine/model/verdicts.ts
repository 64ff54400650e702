/**
 * Runs the functions of the user that a topology names: gates, preconditions, end-to-end checks. They run like checks of
 * `done`: they may read outside and must change nothing, because after a crash they run again.
 */
import type { Agent, JudgedOutput, TopologyView } from "../../ports/agent.ts";
import { asJson, bounded } from "../../codec/value.ts";
import type { Move, FunctionVerdict } from "../../core/topologies/topology.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { askInTime } from "../tools/ask-in-time.ts";
import { viewOf } from "./run-view.ts";

/** The verdicts in the order of the names. A function that throws, or gives no verdict in time, does not hold. */
export async function verdictsOf(
  run: ActiveRun,
  agent: Agent,
  { names, output, about }: Extract<Move, { readonly kind: "verify" }>,
): Promise<readonly FunctionVerdict[]> {
  const view: TopologyView = { ...(await viewOf(run)), output, about };
  return Promise.all(names.map((name) => verdictOf(run, { agent, name, view })));
}

async function verdictOf(
  run: ActiveRun,
  { agent, name, view }: { readonly agent: Agent; readonly name: string; readonly view: TopologyView },
): Promise<FunctionVerdict> {
  const judge = agent.topology.functions?.[name];
  const ask = (): unknown =>
    judge === undefined ? "the agent has no such function any more" : judge(view as TopologyView<never>);
  return { name, ...read(await askUserCode(run, `the function ${name} of the topology`, ask)) };
}

/** What a function of the user that gives a verdict returns, or why it gave none. `what` names it. */
export async function askUserCode(run: ActiveRun, what: string, ask: () => unknown): Promise<unknown> {
  const said = await askInTime(run, { what }, ask);
  if (said.kind === "said") return said.value;
  if (said.kind === "threw") return `it threw: ${said.why}`;
  // The function may continue in this process, but not in the next invocation: the process has to end.
  run.noticed.noteOutlived("code");
  return "it gave no verdict in time";
}

function read(given: unknown): Omit<FunctionVerdict, "name"> {
  if (given === true) return { holds: true, why: "it holds" };
  if (given === false) return { holds: false, why: "it does not hold" };
  if (typeof given === "string") return { holds: false, why: bounded(given) };
  const { holds, why, detail } = (given ?? {}) as Partial<JudgedOutput>;
  if (typeof holds !== "boolean") return { holds: false, why: "it said neither true nor false nor why" };
  const kept = detail === undefined ? null : asJson(detail);
  return { holds, why: bounded(String(why ?? "")), ...(kept?.ok === true ? { detail: kept.json } : {}) };
}
