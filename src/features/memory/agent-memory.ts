/** The memory of an agent: that of its tenant under the scope that the agent names, or under the agent's name. */
import { memoryOf } from "./stored.ts";
import type { Agent } from "../../ports/agent.ts";
import type { Memory } from "../../ports/memory.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";

export const memoryFor = ({ world, row }: ActiveRun, { name, memory }: Agent): Memory =>
  memoryOf(world, { tenant: row.tenant, scope: memory?.scope ?? name });
