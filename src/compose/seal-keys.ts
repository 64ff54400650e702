/** Finds the seal keys for a command. */
import { type SealKeys, NO_SEAL_KEYS } from "../ports/seal-keys.ts";
import type { WorldProvider } from "../ports/world-provider.ts";
import type { Surroundings } from "./surroundings.ts";

/**
 * The seal keys that the environment names for the world `first`; if it names none, those of another world. Worlds are
 * searched from the end of the list, so that a key service is preferred to keys in environment variables.
 *
 * @throws SealKeyInvalid
 */
export async function sealKeysOf(
  { env, cwd, worlds }: Pick<Surroundings, "env" | "cwd" | "worlds">,
  first: WorldProvider | null = null,
): Promise<SealKeys> {
  const own = (await first?.sealKeys({ env, cwd })) ?? null;
  if (own !== null) return own;
  for (const { load } of worlds.toReversed()) {
    const found = await (await load()).sealKeys({ env, cwd });
    if (found !== null) return found;
  }
  return NO_SEAL_KEYS;
}
