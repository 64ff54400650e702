/**
 * Seal keys of the key service of AWS (KMS). A process asks once for a data key, in plain and encrypted; it seals with the plain
 * one for as long as it lives, and each seal carries the encrypted one. A reader asks the service to decrypt the key of each
 * process that wrote, once. So nothing is asked per checkpoint.
 *
 * A key counts only if the one KMS key of the deployment encrypted it: a forger may bring a data key of another one.
 */
import type { KMSClient } from "@aws-sdk/client-kms";
import { keyIdOf } from "../../codec/voucher.ts";
import type { SealKeys } from "../../ports/seal-keys.ts";
import { StoreUnreachable } from "../../ports/world.ts";
import type { SealKey } from "../../protocol/voucher.ts";
import { type ClientOptions, configOf } from "./clients.ts";
import { isNamed, reaching } from "./errors.ts";

export interface KmsOf {
  /** The id, ARN or alias of the KMS key. */
  readonly kmsKey: string;
  /** Nothing without a seal is read. */
  readonly isRequired: boolean;
  readonly client?: ClientOptions;
}

const KMS_MS = 3_000;
/** KMS decrypts only for a request that names the same purpose. */
const PURPOSE = { cairn: "seal" };
/** Of other processes, for a reader of many runs. */
const KEYS_MAX = 1_000;

export function kmsSealKeys({ kmsKey, isRequired, client: options = {} }: KmsOf): SealKeys {
  let client: Promise<KMSClient> | null = null;
  let own: Promise<SealKey> | null = null;
  const known = new Map<string, SealKey>();
  // Loaded on use: a deployment without seals never does.
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
        return await (own ??= reaching(where, made));
      } catch (error) {
        own = null;
        throw error;
      }
    },
    find: async ({ key, wrapped }) => {
      const found = known.get(key);
      if (found !== undefined || wrapped === undefined) return found ?? null;
      const bytes = await reaching(where, async () => unwrapped(await clientOf(), { kmsKey, wrapped }));
      return bytes === null || keyIdOf(bytes) !== key ? null : remember({ key, bytes, wrapped });
    },
  };
}

/** Null where the key of this deployment did not encrypt it. */
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
