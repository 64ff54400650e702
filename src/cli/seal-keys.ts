/** The seal keys that a command has: of the key service of AWS where its environment names a key there, else its own. */
import { environmentSealKeys } from "../adapters/local/seal-keys.ts";
import type { SealKeys } from "../ports/seal-keys.ts";
import type { Shell } from "./shell.ts";

/** @throws SealKeyInvalid */
export async function sealKeysOf({ env, cwd }: Pick<Shell, "env" | "cwd">): Promise<SealKeys> {
  const kmsKey = env["CAIRN_SEAL_KMS_KEY"];
  if (!kmsKey) return environmentSealKeys({ env, cwd });
  const { kmsSealKeys } = await import("../adapters/aws/seal-keys.ts");
  return kmsSealKeys({ kmsKey, isRequired: env["CAIRN_SEAL"] === "required" });
}
