/**
 * Seal keys from AWS KMS. A process requests one data key, in plain and encrypted form. It seals with the plain key for
 * as long as it lives, and each seal carries the encrypted key. A reader asks KMS once to decrypt the key of each
 * process that wrote. So no checkpoint needs a request to KMS.
 *
 * A key counts only if the deployment's own KMS key encrypted it, since a forger may bring a data key of another KMS
 * key.
 */
import type { KMSClient } from "@aws-sdk/client-kms";
import { keyIdOf } from "../../codec/voucher.ts";
import type { SealKeys } from "../../ports/seal-keys.ts";
import { StoreUnreachable } from "../../ports/world.ts";
import type { SealKey } from "../../protocol/voucher.ts";
import { type ClientOptions, configOf } from "./clients.ts";
import { isNamed, reachingService } from "./errors.ts";

export interface KmsOf {
  /** The ID, ARN or alias of the KMS key. */
  readonly kmsKey: string;
  /** Reads refuse everything without a seal. */
  readonly isRequired: boolean;
  readonly client?: ClientOptions;
}

const KMS_MS = 3_000;
/** KMS decrypts only for a request that names the same purpose. */
const PURPOSE = { cairn: "seal" };
/** How many keys of other processes a reader of many runs caches. */
const KEYS_MAX = 1_000;

/** The seal keys of a deployment with that KMS key. The KMS client is loaded on first use. */
export function kmsSealKeys({ kmsKey, isRequired, client: options = {} }: KmsOf): SealKeys {
  let client: Promise<KMSClient> | null = null;
  let own: Promise<SealKey> | null = null;
  const known = new Map<string, SealKey>();
  // Loaded on first use, so that a deployment without seals never loads it.
  const clientOf = (): Promise<KMSClient> => (client ??= clientWith(options));
  const remember = (key: SealKey): SealKey => {
    known.set(key.key, key);
    const [oldest = ""] = known.keys();
    if (known.size > KEYS_MAX) known.delete(oldest);
    return key;
  };
  const made = async (): Promise<SealKey> => {
    const { GenerateDataKeyCommand } = await import("@aws-sdk/client-kms");
    const command = new GenerateDataKeyCommand({ KeyId: kmsKey, KeySpec: "AES_256", EncryptionContext: PURPOSE });
    const { Plaintext: bytes, CiphertextBlob: wrapped } = await (await clientOf()).send(command);
    if (bytes === undefined || wrapped === undefined)
      throw new StoreUnreachable(`${where} gave no data key; try again`);
    return remember({ key: keyIdOf(bytes), bytes, wrapped: Buffer.from(wrapped).toString("base64") });
  };
  const where = `the KMS key ${kmsKey}`;
  return {
    mode: isRequired ? "required" : "on",
    current: async () => {
      try {
        return await (own ??= reachingService(where, made));
      } catch (error) {
        own = null;
        throw error;
      }
    },
    find: async ({ key, wrapped }) => {
      const found = known.get(key);
      if (found !== undefined || wrapped === undefined) return found ?? null;
      const bytes = await reachingService(where, async () => unwrapped(await clientOf(), { kmsKey, wrapped }));
      return bytes === null || keyIdOf(bytes) !== key ? null : remember({ key, bytes, wrapped });
    },
  };
}

/** The decrypted key; null if another KMS key encrypted it. */
async function unwrapped(
  client: KMSClient,
  { kmsKey, wrapped }: { readonly kmsKey: string; readonly wrapped: string },
): Promise<Uint8Array | null> {
  const { DecryptCommand } = await import("@aws-sdk/client-kms");
  const CiphertextBlob = Buffer.from(wrapped, "base64");
  try {
    const { Plaintext } = await client.send(
      new DecryptCommand({ KeyId: kmsKey, CiphertextBlob, EncryptionContext: PURPOSE }),
    );
    return Plaintext ?? null;
  } catch (error) {
    if (isNamed(error, "InvalidCiphertextException", "IncorrectKeyException")) return null;
    throw error;
  }
}

async function clientWith(options: ClientOptions): Promise<KMSClient> {
  const { KMSClient } = await import("@aws-sdk/client-kms");
  return new KMSClient(configOf(options, KMS_MS));
}
