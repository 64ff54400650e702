/** A form for a task, made from its JSON Schema. A field that the form cannot draw is typed as JSON. */
import type { Json } from "../../core/json.ts";

export interface FormField {
  readonly name: string;
  readonly kind: "text" | "number" | "boolean" | "choice" | "json";
  readonly must: boolean;
  readonly says: string;
  readonly choices: readonly string[];
  /** What the field holds at first, as text. */
  readonly first: string;
}

type Schema = Readonly<Record<string, unknown>>;

/** Null if the task is no object with known fields: then it is typed as JSON. */
export function formFields(schema: unknown): readonly FormField[] | null {
  const { type, properties, required } = (schema ?? {}) as Schema;
  if (type !== "object" || typeof properties !== "object" || properties === null) return null;
  const must = new Set(Array.isArray(required) ? (required as readonly unknown[]) : []);
  return Object.entries(properties as Readonly<Record<string, Schema>>).map(([name, field]) => {
    const kind = kindOf(field);
    const choices = Array.isArray(field["enum"]) ? (field["enum"] as readonly unknown[]).map(String) : [];
    const isMust = must.has(name);
    const first = firstOf(field) ?? (isMust ? FIRST[kind](choices) : "");
    return { name, kind, must: isMust, says: wordsOf(field), choices, first };
  });
}

/** What a field of a given task holds, as text; null: the task has no such field. */
export function textFrom(task: Json, name: string): string | null {
  if (typeof task !== "object" || task === null || Array.isArray(task)) return null;
  const value = (task as Readonly<Record<string, Json>>)[name];
  return value === undefined ? null : text(value);
}

function kindOf({ type, enum: choices }: Schema): FormField["kind"] {
  if (Array.isArray(choices) && choices.every((each) => typeof each === "string")) return "choice";
  if (type === "integer" || type === "number") return "number";
  if (type === "boolean") return "boolean";
  return type === "string" ? "text" : "json";
}

const wordsOf = ({ description, type, format, pattern, minimum, maximum }: Schema): string =>
  [description, format ?? type, pattern === undefined ? null : `like ${text(pattern)}`, range(minimum, maximum)]
    .filter((each) => typeof each === "string" && each !== "")
    .join(", ");

const text = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

const range = (low: unknown, high: unknown): string | null =>
  typeof low === "number" && typeof high === "number" && Math.abs(low) < 1e9 && high < 1e9 ? `${low} to ${high}` : null;

function firstOf({ default: given, examples }: Schema): string | null {
  const first: unknown = given ?? (Array.isArray(examples) ? examples[0] : undefined);
  return first === undefined ? null : text(first);
}

/** What a field holds that must be given. Another one is left out until the user gives it. */
const FIRST: { readonly [K in FormField["kind"]]: (choices: readonly string[]) => string } = {
  text: () => "",
  number: () => "",
  json: () => "",
  boolean: () => "false",
  choice: ([first = ""]) => first,
};

export type Filled =
  | { readonly ok: true; readonly input: Readonly<Record<string, Json>> }
  | { readonly ok: false; readonly why: string };

/** The task that the texts of the fields give. An empty field that need not be given is left out. */
export function filledIn(fields: readonly FormField[], texts: Readonly<Record<string, string>>): Filled {
  const input: Record<string, Json> = {};
  for (const { name, kind, must } of fields) {
    const text = texts[name] ?? "";
    if (text === "" && !must) continue;
    if (kind === "text" || kind === "choice") input[name] = text;
    else if (kind === "boolean") input[name] = text === "true";
    else {
      try {
        input[name] = JSON.parse(text) as Json;
      } catch {
        return { ok: false, why: kind === "number" ? `${name} is no number` : `${name} is no JSON` };
      }
      if (kind === "number" && typeof input[name] !== "number") return { ok: false, why: `${name} is no number` };
    }
  }
  return { ok: true, input };
}
