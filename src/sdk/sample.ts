/** Makes up a value that fits a schema: the result of a fake service whose file gives none. */
import * as z from "zod";
import type { Json } from "../core/json.ts";

/** Without a schema, any result fits. */
const ANY: Json = { ok: true };

/** A value that the schema accepts; undefined if none could be made up. */
export function sampleFor(schema: z.ZodType | null): Json | undefined {
  if (schema === null) return ANY;
  try {
    const described = z.toJSONSchema(schema, { io: "input" }) as Described;
    const sample = sampled(described, { root: described, depth: 0 });
    return schema.safeParse(sample).success ? sample : undefined;
  } catch {
    // It cannot be described, or its parser is asynchronous or throws.
    return undefined;
  }
}

/** The parts of a JSON schema that are read. */
interface Described {
  readonly $ref?: string;
  readonly const?: Json;
  readonly enum?: readonly Json[];
  readonly default?: Json;
  readonly anyOf?: readonly Described[];
  readonly oneOf?: readonly Described[];
  readonly allOf?: readonly Described[];
  readonly type?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
  readonly minItems?: number;
  readonly items?: Described;
  readonly prefixItems?: readonly Described[];
  readonly properties?: Readonly<Record<string, Described>>;
  readonly required?: readonly string[];
  readonly $defs?: Readonly<Record<string, Described>>;
}

const DEPTH_MAX = 20;

const FORMATS: Readonly<Record<string, string>> = {
  email: "someone@example.com",
  uuid: "00000000-0000-4000-8000-000000000000",
  uri: "https://example.com/",
  date: "2027-01-01",
  "date-time": "2027-01-01T00:00:00Z",
  time: "00:00:00",
  ipv4: "192.0.2.1",
};

interface Within {
  readonly root: Described;
  readonly depth: number;
}

function sampled(schema: Described, { root, depth }: Within): Json {
  if (depth > DEPTH_MAX) throw new Error("the schema refers to itself");
  const inner = (each: Described): Json => sampled(each, { root, depth: depth + 1 });
  if (schema.$ref !== undefined) return inner(referred(root, schema.$ref));
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  const [first] = schema.enum ?? [];
  if (first !== undefined) return first;
  const [choice] = schema.anyOf ?? schema.oneOf ?? [];
  if (choice !== undefined) return inner(choice);
  if (schema.allOf !== undefined) return Object.assign({}, ...schema.allOf.map(inner)) as Json;
  if (schema.type === "string") return FORMATS[schema.format ?? ""] ?? "text".padEnd(schema.minLength ?? 0, "t");
  if (schema.type === "number" || schema.type === "integer") return numberIn(schema);
  if (schema.type === "boolean") return true;
  if (schema.type === "null") return null;
  if (schema.type === "array") {
    const listed = (schema.prefixItems ?? []).map(inner);
    const more = Math.max(0, (schema.minItems ?? 0) - listed.length);
    return [...listed, ...Array.from({ length: more }, () => inner(schema.items ?? {}))];
  }
  if (schema.type !== "object") return ANY;
  const required = (schema.required ?? []).map((name) => [name, inner(schema.properties?.[name] ?? {})] as const);
  return Object.fromEntries(required);
}

function numberIn({ minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf = 1 }: Described): number {
  const least = Math.max(minimum ?? -Infinity, (exclusiveMinimum ?? -Infinity) + multipleOf);
  const most = Math.min(maximum ?? Infinity, (exclusiveMaximum ?? Infinity) - multipleOf);
  return Math.min(Math.max(multipleOf, Math.ceil(least / multipleOf) * multipleOf), most);
}

function referred(root: Described, path: string): Described {
  const found = path === "#" ? root : root.$defs?.[path.replace("#/$defs/", "")];
  if (found === undefined) throw new Error(`the schema refers to ${path}`);
  return found;
}
