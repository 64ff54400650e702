/**
 * Which secrets an agent needs, by name. Values are read through the world when a tool asks for one, and are never
 * written: neither into a run, nor into a log.
 */
import * as z from "zod";

/** What a tool gets of the secrets that its agent declares. */
export interface ToolSecrets {
  /** The value that it has now. Rejects with what to do where it has none, or is not declared. */
  get(name: string): Promise<string>;
}

/** As environments and parameter stores take names. */
export const secretNames = z
  .array(
    z.string().regex(/^[A-Z][A-Z0-9_]{0,63}$/, "a name is upper-case letters, digits and _, and begins with a letter"),
  )
  .max(32)
  .refine((names) => new Set(names).size === names.length, "a name stands there twice");

/** The key of a model that is named by its address; a server may want none. */
export const MODEL_KEY = "OPENAI_COMPATIBLE_API_KEY";

/** Every secret that its runs may come to know: those that it declares, and the key of its model. */
export const secretNamesOf = (agent: {
  readonly secrets?: readonly string[];
  readonly model: unknown;
  readonly fallbacks?: readonly { readonly model: unknown }[];
}) => [
  ...(agent.secrets ?? []),
  // A model object has its key from wherever its package looks for it.
  ...([agent, ...(agent.fallbacks ?? [])].some(({ model }) => typeof model === "string") ? [MODEL_KEY] : []),
];
