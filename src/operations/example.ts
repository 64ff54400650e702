/** Makes an example of a task from its JSON schema, as a user would type it, for the error about one that does not fit. */
import * as z from "zod";
import type { Json } from "../core/json.ts";
import type { Agent } from "../ports/agent.ts";

/**
 * An input that the task of the agent takes; null if none was found: a pattern or a check of its own refuses it, or it is
 * longer than a command that a human types.
 */
export async function exampleFor({ task }: Pick<Agent, "task">): Promise<Json> {
  try {
    const example = exampleOf(z.toJSONSchema(task, { unrepresentable: "any", io: "input" }) as Json);
    if (JSON.stringify(example).length > EXAMPLE_CHARACTERS_MAX) return null;
    const { success } = await task.safeParseAsync(example);
    return success ? example : null;
  } catch {
    // A check of the agent may throw at what it did not expect. The caller is told what is wrong with the own input.
    return null;
  }
}

const EXAMPLE_CHARACTERS_MAX = 2_000;

/** A value for a JSON schema. What a pattern asks is not followed. */
export function exampleOf(schema: Json): Json {
  const root = (schema ?? {}) as Schema;
  return exampleIn(root, { root, depth: 0, left: { values: VALUES_MAX } });
}

/** The part of JSON Schema that the example follows. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: Json;
  readonly enum?: readonly Json[];
  readonly default?: Json;
  readonly examples?: readonly Json[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
  readonly minItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
}

interface Place {
  readonly root: Schema;
  /** A schema may hold itself. */
  readonly depth: number;
  /** How many values the example may still get: lists within lists multiply. */
  readonly left: { values: number };
}

const DEPTH_MAX = 12;
const VALUES_MAX = 500;
const ITEMS_MAX = 20;
const CHARACTERS_MAX = 1_000;

function exampleIn(schema: Schema, { root, depth, left }: Place): Json {
  if (depth > DEPTH_MAX || left.values <= 0) return null;
  left.values -= 1;
  const within = { root, depth: depth + 1, left };
  const said = [schema.examples?.[0], schema.const, schema.default, schema.enum?.[0]].find(isThere);
  if (said !== undefined) return said;
  if (schema.$ref !== undefined) return exampleIn(namedIn(root, schema.$ref), within);
  const choice = (schema.anyOf ?? schema.oneOf)?.[0];
  if (choice !== undefined) return exampleIn(choice, within);
  if (schema.allOf !== undefined) return merged(schema.allOf.map((each) => exampleIn(each, within)));
  const type = typeof schema.type === "object" ? schema.type[0] : schema.type;
  switch (type) {
    case "string":
      return textIn(schema);
    case "number":
    case "integer":
      return numberIn(schema, type === "integer" ? 1 : 0.5);
    case "boolean":
      return true;
    case "array":
      return itemsIn(schema, within);
    case "null":
      return null;
    default:
      return fieldsIn(schema, within);
  }
}

const isThere = (value: Json | undefined): value is Json => value !== undefined;

/** A schema that a pointer such as `#/$defs/item` names. */
function namedIn(root: Schema, pointer: string): Schema {
  const names = pointer.split("/").slice(1);
  const found = names.reduce<unknown>((part, name) => (part as Readonly<Record<string, unknown>>)[name], root);
  return found ?? {};
}

const merged = (parts: readonly Json[]): Json =>
  parts.every((part) => typeof part === "object" && part !== null && !Array.isArray(part))
    ? (Object.assign({}, ...parts) as Json)
    : (parts[0] ?? null);

function fieldsIn({ properties = {}, required = [] }: Schema, within: Place): Json {
  const needed = Object.entries(properties).filter(
    ([name, each]) => required.includes(name) && each.default === undefined,
  );
  return Object.fromEntries(needed.map(([name, each]) => [name, exampleIn(each, within)]));
}

function itemsIn({ items = {}, prefixItems = [], minItems = 0 }: Schema, within: Place): Json {
  const more = Math.max(0, Math.min(minItems, ITEMS_MAX) - prefixItems.length);
  return [...prefixItems, ...Array.from({ length: more }, () => items)].map((each) => exampleIn(each, within));
}

/** Texts of the formats that Zod names. */
const FORMATS: Readonly<Record<string, string>> = {
  email: "ada@example.com",
  uri: "https://example.com",
  "date-time": "2026-01-31T09:00:00Z",
  date: "2026-01-31",
  time: "09:00:00",
  duration: "PT1H",
  uuid: "3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
};

function textIn({ format = "", minLength = 0, maxLength = CHARACTERS_MAX }: Schema): string {
  const text = FORMATS[format] ?? "text";
  return text.padEnd(Math.min(minLength, CHARACTERS_MAX), "x").slice(0, Math.max(maxLength, minLength));
}

/** One, or the nearest number that the bounds allow. `step`: how far inside of an exclusive bound it is. */
function numberIn(schema: Schema, step: number): number {
  const { multipleOf, minimum = -Infinity, exclusiveMinimum, maximum = Infinity, exclusiveMaximum } = schema;
  const low = Math.max(minimum, (exclusiveMinimum ?? -Infinity) + step);
  const high = Math.min(maximum, (exclusiveMaximum ?? Infinity) - step);
  const number = Math.min(Math.max(1, low), high);
  return multipleOf === undefined ? number : Math.ceil(number / multipleOf) * multipleOf;
}
