/**
 * Secrets: values that tools and models need and that nobody writes down. The contract:
 *
 * - `get` reads the value that a name has now. A name without a value is `absent`, and says where it was looked for and
 *   what to type.
 * - `declare` makes names known to the whole world: agents declare them by name. `declared` tells all that were made known,
 *   by whichever process, or that the deployment knows. Whoever is about to write reads them all, since any text may hold
 *   any of them.
 * - `unread` says that the name may have a value that this process cannot read; `declared` answers so where this
 *   process may not list the names. An input that comes then is not kept.
 * - A name is upper-case letters, digits and `_`, and begins with a letter.
 * - Rejects only with `StoreUnreachable`.
 */
export type SecretLook = { readonly kind: "found"; readonly value: string } | AbsentSecret;

/** `where` it was looked for; `mend` is what to type. */
export interface AbsentSecret {
  readonly kind: "absent" | "unread";
  readonly where: string;
  readonly mend: string;
}

export interface Secrets {
  get(name: string): Promise<SecretLook>;
  declare(names: readonly string[]): Promise<void>;
  declared(): Promise<readonly string[] | AbsentSecret>;
}

/** Of a world in which nobody has any. */
export const NO_SECRETS: Secrets = {
  get: async () => ({ kind: "absent", where: "this world, which has no secrets", mend: "give the world secrets" }),
  declare: async () => undefined,
  declared: async () => [],
};

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
