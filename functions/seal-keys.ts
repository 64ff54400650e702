/**
 * The seal keys of a deployment: data keys of the KMS key that `deploy.seal` names, if any. For functions that write
 * runs.
 */
import { kmsSealKeys } from "../src/adapters/aws/seal-keys.ts";
import { NO_SEAL_KEYS, type SealKeys } from "../src/ports/seal-keys.ts";

export function sealKeysOf(): SealKeys {
  const kmsKey = process.env["CAIRN_SEAL_KMS_KEY"];
  if (!kmsKey) return NO_SEAL_KEYS;
  return kmsSealKeys({ kmsKey, isRequired: process.env["CAIRN_SEAL"] === "required" });
}
