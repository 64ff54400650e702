/** Generates an example value for a JSON schema. */
import type { Json } from "../../core/json.ts";

/** An example input for an agent's task, as a user would type it. */
export function exampleOf(schema: Json): Json {
  const { type, properties, required } = (schema ?? {}) as {
    readonly type?: string;
    readonly properties?: { readonly [name: string]: { readonly type?: string; readonly default?: Json } };
    readonly required?: readonly string[];
  };
  if (type === "string") return "text";
  if (type === "number" || type === "integer") return 1;
  if (type !== "object") return {};
  const named = Object.entries(properties ?? {}).filter(
    ([name, each]) => (required ?? []).includes(name) && each.default === undefined,
  );
  return Object.fromEntries(named.map(([name, each]) => [name, exampleOf(each as Json)]));
}
