/** The seal keys that a command has. */
import type { SealKeys } from "../ports/seal-keys.ts";
import { NO_SEAL_KEYS } from "../ports/seal-keys.ts";
import type { WorldProvider } from "../ports/world-provider.ts";
import type { Shell } from "./shell.ts";

/**
 * Those that the environment names in the way of the `first` of them; where it names none, in that of another world. A key
 * service counts before keys that lie in the environment themselves, so the last world of the list comes first.
 *
 * @throws SealKeyInvalid
 */
export async function sealKeysOf(
  { env, cwd, worlds }: Pick<Shell, "env" | "cwd" | "worlds">,
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
