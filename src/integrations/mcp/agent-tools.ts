/** Describes each agent as a tool of MCP: its name, what it does, and the JSON schema of its task. Pure. */
import type { Tool } from "@modelcontextprotocol/server";
import type { Json } from "../../core/json.ts";
import type { DescribedAgent } from "../../operations/agents.ts";

/** The field that holds a task which is no object: the arguments of a tool are always an object. */
const WRAPPED = "input";

type Schema = Readonly<Record<string, Json>>;

/** The tool that starts runs of the agent. */
export function agentTool({ name, task, tools }: DescribedAgent): Tool {
  const schema = asSchema(task);
  const uses = tools.length === 0 ? "" : ` It uses: ${tools.map(({ tool }) => tool).join(", ")}.`;
  const described = typeof schema["description"] === "string" ? `${schema["description"]} ` : "";
  return {
    name,
    description: `${described}Starts a run of the agent ${name}, and returns its result.${uses}`.slice(
      0,
      DESCRIPTION_MAX,
    ),
    inputSchema: {
      ...(isObject(schema) ? schema : { properties: { [WRAPPED]: task }, required: [WRAPPED] }),
      type: "object",
    },
  } as Tool;
}

/** The longest description in UTF-16 units. */
const DESCRIPTION_MAX = 1_024;

/** The task that these arguments are. */
export function taskIn({ task }: DescribedAgent, given: Readonly<Record<string, unknown>>): Json {
  return (isObject(asSchema(task)) ? given : (given[WRAPPED] ?? null)) as Json;
}

const asSchema = (task: Json): Schema =>
  typeof task === "object" && task !== null && !Array.isArray(task) ? (task as Schema) : {};

const isObject = (schema: Schema): boolean => schema["type"] === "object";
