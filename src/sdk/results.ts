/** The options of an agent for results that are too long to show. */
import * as z from "zod";
import { READ_RESULT } from "../core/calls/stored-values.ts";
import type { Agent } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";

export interface ResultsOptions {
  /**
   * `read`: whether the model gets the tool `cairn_read`, with which it reads the rest, once a result is too long to
   * show. Default: true.
   */
  readonly results?: { readonly read?: boolean };
}

const schema = z.strictObject({ read: z.boolean().optional() });

/** What the options say. Throws `AgentInvalid`, also for a tool with the name of the one that reads. */
export function resultsOf(
  name: string,
  { results, tools }: ResultsOptions & { readonly tools: Readonly<Record<string, unknown>> },
): Pick<Agent, "readsResults"> {
  if (Object.hasOwn(tools, READ_RESULT)) {
    throw new AgentInvalid(`agent ${name} has a tool ${READ_RESULT}, which is a name of cairn: give it another name`);
  }
  const parsed = schema.safeParse(results ?? {});
  if (!parsed.success) {
    throw new AgentInvalid(`the results of agent ${name}: write results: { read: true } or { read: false }`);
  }
  return parsed.data.read === false ? { readsResults: false } : {};
}
