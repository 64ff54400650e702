/**
 * The input of an MCP tool. Its JSON Schema is shown to the model as it is, and arguments are checked with the validator
 * that the SDK brings, so nothing of it is lost in a translation.
 */
import * as z from "zod";
import { sentenceOf } from "../codec/value.ts";

/** Or why the schema cannot be used. The server could still be called, but the model would not know how. */
export async function inputTypeOf(schema: Readonly<Record<string, unknown>>): Promise<z.ZodType | string> {
  const { type = "object" } = schema;
  if (![type].flat().includes("object")) return `it is of type ${JSON.stringify(type)}, and arguments are an object`;
  const { AjvJsonSchemaValidator } = await import("@modelcontextprotocol/client/validators/ajv");
  try {
    const validate = new AjvJsonSchemaValidator().getValidator(schema);
    const { $schema: _, id: _id, ...shown } = schema;
    const input = z
      .looseObject({})
      .superRefine((value, context) => {
        const judged = validate(value);
        if (!judged.valid) context.addIssue({ code: "custom", message: judged.errorMessage });
      })
      .meta({ additionalProperties: true, ...shown, type: "object" });
    z.toJSONSchema(input, { io: "input", target: "draft-7" });
    return input;
  } catch (error) {
    return sentenceOf(error);
  }
}
