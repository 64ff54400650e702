/**
 * Secrets: values that tools and models need and that cairn never writes down. The contract:
 *
 * - `get` reads the present value of a name. A name without a value is `absent`; the outcome says where cairn looked
 *   and what to type.
 * - `declare` makes names known to the whole world; agents declare their secrets. `declared` returns all names that any
 *   process declared, or that the deployment knows. Every writer reads their values first, since any text may contain
 *   them.
 * - `unread` says that the name may have a value that this process cannot read. `declared` returns it if this process
 *   may not list the names. An input that comes then is not kept.
 * - A name consists of upper-case letters, digits and `_`, and begins with a letter.
 * - Rejects only with `StoreUnreachable`.
 */
import { namedModelsOf } from "./named-models.ts";

/** The outcome of reading a secret. */
export type SecretLook = { readonly kind: "found"; readonly value: string } | AbsentSecret;

/** `where`: the place where cairn looked. `mend`: what to type. */
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

/** The secrets of a world without secrets. */
export const NO_SECRETS: Secrets = {
  get: async () => ({ kind: "absent", where: "this world, which has no secrets", mend: "give the world secrets" }),
  declare: async () => undefined,
  declared: async () => [],
};

/**
 * Every secret that the agent's runs may get to know: the declared ones, and the API keys of its models. A model object
 * gets its key from wherever its package looks for it.
 */
export const secretNamesOf = (
  agent: { readonly secrets?: readonly string[] } & Parameters<typeof namedModelsOf>[0],
): readonly string[] => [...new Set([...(agent.secrets ?? []), ...namedModelsOf(agent).map(({ secret }) => secret)])];
