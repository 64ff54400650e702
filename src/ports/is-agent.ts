/** Tells the agents among the exports of a module. */
import { isName } from "../core/ids.ts";
import type { Agent } from "./agent.ts";

/** Recognizes an agent by its shape, because another copy of cairn may have defined it. */
export function isAgent(value: unknown): value is Agent {
  if (typeof value !== "object" || value === null) return false;
  const { name, version, task, tools, done, topology, budget } = value as Readonly<Record<keyof Agent, unknown>>;
  return (
    typeof name === "string" &&
    isName(name) &&
    typeof version === "string" &&
    Array.isArray(done) &&
    [task, tools, topology, budget].every((each) => typeof each === "object" && each !== null) &&
    // Tells an agent from agent options, whose budget is in dollars.
    "microUsd" in (budget as object)
  );
}
