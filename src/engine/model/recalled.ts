/**
 * What a run recalled, as a section after the instructions of its agent. The section is an object of the run, named by its
 * digest: a resumed run and a replay show the same text, whatever became of the memory.
 */
import type { Value } from "../../core/message.ts";
import type { State } from "../../core/state.ts";
import type { Agent } from "../../ports/agent.ts";
import type { ActiveRun } from "../context/active-run.ts";

// A section never changes, so it is read once while its state is in use.
const known = new WeakMap<Value, string>();

/** The instructions with what the run recalled. */
export async function instructionsWithMemory(run: ActiveRun, { instructions }: Agent): Promise<string> {
  const section = run.state.memory?.recalled?.section;
  if (section === undefined) return instructions;
  const text = known.get(section) ?? ((await run.json(section)) as string);
  known.set(section, text);
  return joined(instructions, text);
}

/** The agent as request digests see it: the digest of the section stands for its text. */
export function withMemoryDigest<A extends Pick<Agent, "instructions">>(state: State, agent: A): A {
  const section = state.memory?.recalled?.section;
  if (section === undefined) return agent;
  return { ...agent, instructions: joined(agent.instructions, section.kind === "blob" ? section.sha256 : "") };
}

const joined = (...texts: readonly string[]): string => texts.filter((each) => each !== "").join("\n\n");
