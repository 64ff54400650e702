/**
 * What a run recalled, as a section after the instructions of its agent. The section is an object of the run, named by its
 * digest: a resumed run and a replay show the same text, whatever became of the memory. So are instructions that a
 * function of the agent chose (`choice.ts`).
 */
import type { Value } from "../../core/message.ts";
import type { State } from "../../core/state.ts";
import type { Agent } from "../../ports/agent.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";
import { storedText, textInDigest } from "../../engine/model/choice.ts";

/** The instructions with what the run recalled. */
export async function instructionsWithMemory(
  run: ActiveRun,
  { instructions, chosenInstructions }: Agent,
): Promise<string> {
  const section = run.state.memory?.recalled?.section;
  const read = async (value?: Value): Promise<string> => (value === undefined ? "" : storedText(run, value));
  const [chosen, recalled] = await Promise.all([read(chosenInstructions), read(section)]);
  return joined(chosen, instructions, recalled);
}

/** The agent as request digests see it: the digests of the section and of chosen instructions stand for their texts. */
export function withMemoryDigest<A extends Pick<Agent, "instructions" | "chosenInstructions">>(
  state: State,
  agent: A,
): A {
  const section = state.memory?.recalled?.section;
  const { chosenInstructions: chosen } = agent;
  if (section === undefined && chosen === undefined) return agent;
  const recalled = section?.kind === "blob" ? section.sha256 : "";
  return {
    ...agent,
    instructions: joined(chosen === undefined ? "" : textInDigest(chosen), agent.instructions, recalled),
  };
}

const joined = (...texts: readonly string[]): string => texts.filter((each) => each !== "").join("\n\n");
