/**
 * Structured output: the JSON Schema of an agent's result, as its model sees it. Only ReAct sends it. In the other
 * topologies roles answer in forms of their own, so there only the result is checked.
 */
import * as z from "zod";
import { sentenceOf } from "../../codec/value.ts";
import type { Json } from "../../core/json.ts";
import type { Agent } from "../../ports/agent.ts";
import { AgentInvalid } from "../../ports/agent-invalid.ts";
import type { ResponseFormat } from "../../ports/model.ts";
import { isZod, mendSchema } from "./tool-schema.ts";

const known = new WeakMap<z.ZodType, ResponseFormat>();

/** The form that a request of this agent asks for; null: text. Throws `AgentInvalid` for a schema without such a form. */
export function responseFormatOf({
  output,
  topology,
}: Partial<Pick<Agent, "output" | "topology">>): ResponseFormat | null {
  if (output === undefined || topology?.kind !== "react") return null;
  const cached = known.get(output);
  if (cached !== undefined) return cached;
  const format = { name: "result", schema: describeResult(output) };
  known.set(output, format);
  return format;
}

/** The JSON Schema of the result. Throws `AgentInvalid` if there is none, or if the result is no object. */
export function describeResult(output: z.ZodType): { readonly [name: string]: Json } {
  if (!isZod(output)) throw new AgentInvalid(`its output is not a zod 4 schema: ${mendSchema(output, "output")}`);
  const { $schema: _, ...schema } = draft7(output);
  if (schema.type === "object") return schema as { readonly [name: string]: Json };
  throw new AgentInvalid("its output is no object, and providers accept nothing else: write output: z.object({ ... })");
}

function draft7(output: z.ZodType): z.core.JSONSchema.BaseSchema {
  try {
    return z.toJSONSchema(output, { io: "input", target: "draft-7" });
  } catch (error) {
    throw new AgentInvalid(`its output cannot be described to a model: ${sentenceOf(error)}`, { cause: error });
  }
}

/** The agent for a request whose answer is not the result: a summary, or the closing call. */
export function withoutFormat(agent: Agent): Agent {
  const { output: _, ...rest } = agent;
  return rest;
}
