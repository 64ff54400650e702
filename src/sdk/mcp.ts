/** The MCP servers of an agent (`cairn-run/mcp-tools`), validated. */
import type { Agent, ToolSource } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";

export interface McpOptions {
  /** Servers of the Model Context Protocol whose tools the agent has: `mcp: [mcpServer({ name: "github", ... })]`. */
  readonly mcp?: readonly ToolSource[];
}

/** Throws `AgentInvalid` for anything but a list of servers, or for one that is listed twice. */
export function sourcesOf(agent: string, mcp: McpOptions["mcp"]): Pick<Agent, "sources"> {
  if (mcp === undefined) return {};
  // An agent may come from JavaScript.
  const isList = Array.isArray(mcp) && mcp.every((each) => typeof each?.list === "function");
  if (!isList) throw new AgentInvalid(`agent ${agent} has a wrong mcp: write mcp: [mcpServer({ name, command })]`);
  const again = mcp.find(({ label }, at) => mcp.findIndex((each) => each.label === label) !== at);
  if (again !== undefined) {
    throw new AgentInvalid(`agent ${agent} has two servers with one name: ${again.label}: give each its own name`);
  }
  return { sources: mcp };
}
