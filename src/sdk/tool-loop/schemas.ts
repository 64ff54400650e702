/** Schemas as the AI SDK takes them: zod 4, `jsonSchema()`, and standard schemas that have a JSON Schema. */
import * as z from "zod";
import { sentenceOf } from "../../codec/value.ts";
import { isZod } from "../../engine/model/tool-schema.ts";
import { AgentInvalid } from "../../ports/agent-invalid.ts";

/** A schema, and what its own code makes of a value that fits; absent: the value itself. */
export interface ConvertedSchema {
  readonly schema: z.ZodType;
  readonly parse?: (value: unknown) => Promise<unknown>;
}

interface Validated {
  readonly success: boolean;
  readonly value?: unknown;
  readonly error?: unknown;
}

interface JsonSchemaLike {
  readonly jsonSchema: object;
  readonly validate?: (value: unknown) => Validated | PromiseLike<Validated>;
}

interface StandardLike {
  readonly vendor?: string;
  readonly validate: (value: unknown) => unknown;
  readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => object };
}

/** Throws `AgentInvalid` with what to write instead. `what`: the schema, for humans. */
export function convertSchema(what: string, given: unknown): ConvertedSchema {
  if (isZod(given)) return { schema: given };
  // A lazy schema of the AI SDK.
  if (typeof given === "function" && !("~standard" in given)) return convertSchema(what, given());
  const parts = (given ?? {}) as Partial<JsonSchemaLike> & { readonly "~standard"?: StandardLike };
  const standard = parts["~standard"];
  if (standard?.vendor === "zod") throw new AgentInvalid(`${what} is a schema of zod 3: write it with zod 4`);
  if (standard !== undefined) return fromStandard(what, standard);
  const { jsonSchema, validate } = parts;
  if (jsonSchema === undefined) {
    throw new AgentInvalid(`${what} is no schema: write z.object({ ... }), or jsonSchema({ ... }) of the AI SDK`);
  }
  if ("then" in jsonSchema) {
    throw new AgentInvalid(`${what} has a JSON Schema that comes as a promise: await it where the agent is defined`);
  }
  const schema = fromJsonSchema(what, jsonSchema);
  return validate === undefined ? { schema } : { schema, parse: async (value) => valueOf(await validate(value)) };
}

function fromStandard(what: string, standard: StandardLike): ConvertedSchema {
  if (standard.jsonSchema === undefined) {
    const next = "write it with zod 4, or as jsonSchema({ ... }) of the AI SDK";
    throw new AgentInvalid(`${what} is a schema of ${standard.vendor} without a JSON Schema for the model: ${next}`);
  }
  const schema = fromJsonSchema(what, standard.jsonSchema.input({ target: "draft-07" }));
  const parse = async (value: unknown): Promise<unknown> => {
    const { issues, value: parsed } = (await standard.validate(value)) as {
      readonly issues?: readonly { readonly message: string }[];
      readonly value?: unknown;
    };
    if (issues !== undefined) throw new Error(issues.map(({ message }) => message).join("; "));
    return parsed;
  };
  return { schema, parse };
}

function valueOf({ success, value, error }: Validated): unknown {
  if (success) return value;
  throw new Error(sentenceOf(error));
}

/** The model reads the JSON Schema as it is, and arguments are checked with what zod makes of it. */
export function fromJsonSchema(what: string, given: object): z.ZodType {
  const { $schema: _, ...shown } = given as { readonly $schema?: unknown; readonly type?: unknown };
  try {
    const checked = z.fromJSONSchema({ type: "object", ...given });
    const schema = z
      .looseObject({})
      .superRefine((value, context) => {
        const parsed = checked.safeParse(value);
        for (const { path, message } of parsed.error?.issues ?? []) {
          context.addIssue({ code: "custom", path: [...path], message });
        }
      })
      .meta({ additionalProperties: true, ...shown, type: "object" });
    z.toJSONSchema(schema, { io: "input", target: "draft-7" });
    return schema;
  } catch (cause) {
    const why = `has a JSON Schema that cannot be checked: ${sentenceOf(cause)}`;
    throw new AgentInvalid(`${what} ${why}; write it with zod 4`, { cause });
  }
}
