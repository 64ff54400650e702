/** The agents that may be started. They change when code does, so they are read when a page shows them. */
import { signal } from "@preact/signals";
import type { AgentList } from "../../operations/agents.ts";
import { ask } from "../api/http.ts";
import { type Trouble, troubleOf } from "../api/problem.ts";

export const agents = signal<AgentList | null>(null);
export const agentsTrouble = signal<Trouble | null>(null);

export async function readAgents(): Promise<void> {
  try {
    agents.value = await ask<AgentList>("/agents");
    agentsTrouble.value = null;
  } catch (error) {
    agentsTrouble.value = troubleOf(error);
  }
}
