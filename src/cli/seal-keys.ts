/** The seal keys that a command has. */
import { environmentSealKeys } from "../adapters/local/seal-keys.ts";
import type { SealKeys } from "../ports/seal-keys.ts";
import type { Shell } from "./shell.ts";

/** @throws SealKeyInvalid */
export const sealKeysOf = async ({ env, cwd }: Pick<Shell, "env" | "cwd">): Promise<SealKeys> =>
  environmentSealKeys({ env, cwd });
