/** The agents that may be started. They change when code does, so they are read when a page shows them. */
import { signal } from "@preact/signals";
import type { AgentList } from "../../operations/agents.ts";
import { askApi } from "../api/http.ts";
import type { ShownProblem } from "../api/problem.ts";
import { pathOf } from "../model/commands.ts";
import { readOnce } from "./poll.ts";

export const agents = signal<AgentList | null>(null);
export const agentsTrouble = signal<ShownProblem | null>(null);

/** Returns a function that ends the reading. */
export function readAgents(): () => void {
  const stop = new AbortController();
  const read = (asking: AbortSignal) => askApi<AgentList>(pathOf("agents", {}), { signal: asking });
  void readOnce(read, { stop: stop.signal, value: agents, trouble: agentsTrouble });
  return () => stop.abort();
}
