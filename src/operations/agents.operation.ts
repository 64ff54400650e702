import * as z from "zod";
import { type AgentList, listAgents } from "./agents.ts";
import { operation, respond } from "./operation.ts";
import type { Syntaxes } from "./syntax.ts";

export const agentsOperation = operation({
  scope: "runs:read",
  writes: false,
  typed: [{ command: "agents" }],
  help: "list the agents that may be started, with the tools and the topology of each",
  input: z.strictObject({}),
  run: async ({ agents }): Promise<AgentList> => listAgents((await agents?.()) ?? { agents: [], broken: [] }),
  outcomes: { listed: respond.done("The agents are listed.") },
  over: ["store", "http"],
  http: { method: "get", path: "/agents" },
});

export const agentsSyntax = (): Syntaxes => ({ agents: { group: "Inspecting" } });
