/**
 * Tools as a model sees them: name, description and JSON Schema. Zod makes the JSON Schema from the same schema that
 * checks the arguments. A tool that cannot be described is found when the agent is checked, not when a run calls the
 * model.
 */
import type { LanguageModelV4FunctionTool } from "@ai-sdk/provider";
import * as z from "zod";
import { sentenceOf } from "../../codec/value.ts";
import { NEXT_MESSAGE } from "../../core/calls/next-message.ts";
import type { Tool } from "../../ports/agent.ts";
import { AgentInvalid } from "../../ports/agent-invalid.ts";

type InputSchema = LanguageModelV4FunctionTool["inputSchema"];

/**
 * Describes the tools. Throws `AgentInvalid` for an input that has no JSON Schema, or one that models do not accept.
 */
export function describeTools(tools: Readonly<Record<string, Tool>>): LanguageModelV4FunctionTool[] {
  const shown = Object.entries(tools).filter(([name]) => name !== NEXT_MESSAGE);
  return shown.map(([name, tool]) => describeTool(name, tool));
}

const describeTool = (name: string, tool: Tool): LanguageModelV4FunctionTool => ({
  type: "function",
  name,
  ...(tool.description === "" ? {} : { description: tool.description }),
  inputSchema: inputSchemaOf(name, tool),
  ...tool.described,
});

const known = new WeakMap<Tool, InputSchema>();

function inputSchemaOf(name: string, tool: Tool): InputSchema {
  const cached = known.get(tool);
  if (cached !== undefined) return cached;
  const schema = jsonSchemaOf(name, tool);
  known.set(tool, schema);
  return schema;
}

function jsonSchemaOf(name: string, { input }: Tool): InputSchema {
  if (!isZod(input)) {
    throw new AgentInvalid(`the input of tool ${name} is no zod 4 schema: ${mendSchema(input, "input")}`);
  }
  // `$schema` costs tokens in every request, and some servers refuse unknown fields.
  const { $schema: _, ...schema } = draft7(name, input);
  if (schema.type !== "object") {
    throw new AgentInvalid(
      `the input of tool ${name} is no object, and models send arguments by name: write input: z.object({ ... })`,
    );
  }
  return schema as InputSchema;
}

function draft7(name: string, input: z.ZodType): z.core.JSONSchema.BaseSchema {
  try {
    return z.toJSONSchema(input, { io: "input", target: "draft-7" });
  } catch (error) {
    throw new AgentInvalid(
      `the input of tool ${name} cannot be described to a model (${sentenceOf(error)}): ` +
        "use types that JSON has, for example z.iso.datetime() for a date",
      { cause: error },
    );
  }
}

/**
 * Whether the value is a zod 4 schema, also of another copy of zod: an agent outside of this repository may bring its
 * own.
 */
export const isZod = (schema: unknown): schema is z.ZodType =>
  typeof schema === "object" && schema !== null && "_zod" in schema;

/** What to write in place of a schema that is none of zod 4. */
export const mendSchema = (given: unknown, option: string): string =>
  typeof given === "object" && given !== null && "_def" in given && "safeParse" in given
    ? 'it is one of zod 3; import { z } from "zod/v4", or type npm install zod@4'
    : `write ${option}: z.object({ ... })`;
