/**
 * The agent as the next model call needs it: with the instructions and tools of its role in the topology. Only these
 * tools are described to the model, and only these may be prepared.
 */
import type { Agent, Tool } from "../../ports/agent.ts";
import { undoneNext } from "../../core/calls/repeats.ts";
import type { TurnRequest } from "../../core/topologies/topology.ts";
import type { State } from "../../core/state.ts";
import { withChoice } from "./choice.ts";
import { withReading } from "../tools/read-result.ts";
import { moduleOf, progressIn } from "./topology.ts";

/** What the topology wants of the next model call. */
export const requestFor = (state: State, agent: Agent): TurnRequest =>
  moduleOf(agent.topology).request(progressIn(state, agent), agent.topology);

/** The agent in the role that the state has reached. A run that takes back its effects needs all tools. */
export const agentInRole = (state: State, agent: Agent): Agent => withReading(state, ownRole(state, agent));

function ownRole(state: State, declared: Agent): Agent {
  if (state.saga !== undefined || undoneNext(state) !== null) return declared;
  const agent = withChoice(state, declared);
  const { instructions = "", tools, withheld = [], approval, lists = false } = requestFor(state, agent);
  if (instructions === "" && tools === "all" && withheld.length === 0 && approval === undefined) return agent;
  const listed = lists ? toolsInWords(agent) : "";
  const named = Object.entries(agent.tools).filter(
    ([name]) => (tools === "all" || tools.includes(name)) && !withheld.includes(name),
  );
  return {
    ...agent,
    instructions: [agent.instructions, instructions, listed].filter((each) => each !== "").join("\n\n"),
    tools: Object.fromEntries(
      approval === undefined ? named : named.map(([name, tool]) => [name, gated(tool, approval)]),
    ),
  };
}

const toolsInWords = ({ tools }: Agent): string =>
  `The tools:\n${Object.entries(tools)
    .map(([name, { description }]) => `- ${name}${description === "" ? "" : `: ${description}`}`)
    .join("\n")}`;

/** The tool with an approval for each call. A reason of its own comes first. */
function gated(tool: Tool, reason: string): Tool {
  const { approval } = tool;
  if (approval === "always") return tool;
  return { ...tool, approval: async (...of) => (approval === "never" ? reason : (await approval(...of)) || reason) };
}
