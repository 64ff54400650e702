/**
 * Equal hand-offs: the model hands a task out again whose hand-off failed after its child had acted outside. A new child
 * has keys of its own, so no service could see that it does the same again. The same holds for a hand-off that succeeded
 * in work that its topology repeats, where what the child did stands.
 */
import type { Agent, Tool } from "../../ports/agent.ts";
import { digestOf } from "../../codec/canonical.ts";
import { argsOf } from "../../core/calls/ledger.ts";
import { workInWords } from "../../core/calls/outside.ts";
import { repeatsOf } from "../../core/calls/repeats.ts";
import type { Json } from "../../core/json.ts";
import type { OutsideWork } from "../../core/outside.ts";
import type { ActiveRun } from "../context/active-run.ts";
import type { Runner } from "../context/runner.ts";
import { taskOfChild } from "../../features/children/dispatch.ts";

/** Why an equal hand-off is not made by itself; null: there was none whose child had acted and whose answer is lost. */
export async function actedBefore(
  run: ActiveRun,
  handOff: {
    readonly agent: Agent;
    readonly agentOf: Runner["agentOf"];
    readonly call: string;
    readonly name: string;
    readonly tool: Tool;
    readonly args: Json;
  },
): Promise<string | null> {
  const { agent, name, tool, args } = handOff;
  const { child } = tool;
  if (child === undefined) return null;
  // A tool that is gone may have been renamed. Only hand-offs are compared, and only those of equal tasks.
  const isSame = (other: string): boolean =>
    other === name || !Object.hasOwn(agent.tools, other) || agent.tools[other]?.child?.agent === child.agent;
  const { standing } = repeatsOf(run.state);
  const failed = run.state.messages
    .flatMap(({ parts }) => parts)
    .flatMap((part) =>
      part.kind === "result" &&
      (part.outside !== undefined || standing.includes(part.call)) &&
      part.call !== handOff.call &&
      isSame(part.tool)
        ? [{ call: part.call, tool: part.tool, outside: part.outside }]
        : [],
    );
  // The newest one may have been let through by a human, and lists what it did besides.
  for (const each of failed.toReversed()) {
    const before = await run.json(argsOf(run.state, each.call));
    if (await isEqualTask(run, handOff, { before, now: args })) return sentenceOn(each);
  }
  return null;
}

/** Equal arguments, or arguments of which the agent makes the same task. */
async function isEqualTask(
  run: ActiveRun,
  { agentOf, tool }: Pick<Parameters<typeof actedBefore>[1], "agentOf" | "tool">,
  { before, now }: { readonly before: Json; readonly now: Json },
): Promise<boolean> {
  if (digestOf(before) === digestOf(now)) return true;
  const { child } = tool;
  if (child === undefined) return false;
  const [one, other] = await Promise.all(
    [before, now].map((args) => taskOfChild(run, { agentOf, tool, child, args, input: null })),
  );
  return one?.kind === "task" && other?.kind === "task" && digestOf(one.json) === digestOf(other.json);
}

const sentenceOn = (handOff: { call: string; tool: string; outside: OutsideWork | undefined }): string =>
  handOff.outside === undefined
    ? `${handOff.call} handed this task to ${handOff.tool} in work that is repeated, and what its child run did stands`
    : `${handOff.call} handed this task to ${handOff.tool} and failed after its child run had acted: ${workInWords(handOff.outside)}`;
