/**
 * Seal keys from the environment of the process, the file `.env` of its working directory, or a file of their own:
 *
 * - `CAIRN_SEAL_KEY`: the key with which this process seals, at least 32 bytes in hex or base64. Or
 *   `CAIRN_SEAL_KEY_FILE`, a file that contains it.
 * - `CAIRN_SEAL_KEYS_OLD`: earlier keys, separated by commas. What they sealed stays readable.
 * - `CAIRN_SEAL=required`: reads refuse everything without a seal.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { sealKeyIn } from "../../codec/voucher.ts";
import { NO_SEAL_KEYS, SealKeyInvalid, type SealKeys } from "../../ports/seal-keys.ts";
import type { SealKey } from "../../protocol/voucher.ts";
import { lookFor } from "./secrets.ts";
import { fileCode } from "./store/store-errors.ts";

/** The environment variables that hold keys. */
export const SEAL_VARIABLES = ["CAIRN_SEAL_KEY", "CAIRN_SEAL_KEYS_OLD"] as const;

interface Places {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/** The seal keys of this process. Throws `SealKeyInvalid`. */
export function environmentSealKeys(places: Places): SealKeys {
  const current = keyOf("CAIRN_SEAL_KEY", said(places, "CAIRN_SEAL_KEY") ?? fromFile(places));
  const old = (said(places, "CAIRN_SEAL_KEYS_OLD") ?? "").split(",").filter((text) => text.trim() !== "");
  const keys = [current, ...old.map((text) => keyOf("CAIRN_SEAL_KEYS_OLD", text))].filter((key) => key !== null);
  const mode = said(places, "CAIRN_SEAL") ?? "";
  if (mode !== "" && mode !== "required")
    throw new SealKeyInvalid(`CAIRN_SEAL is "${mode}"; set it to "required", or unset it`);
  if (keys.length === 0 && mode === "") return NO_SEAL_KEYS;
  if (current === null) throw new SealKeyInvalid("CAIRN_SEAL_KEY is not set, but other seal settings are; set it too");
  return {
    mode: mode === "required" ? "required" : "on",
    current: async () => current,
    find: async ({ key }) => keys.find((each) => each.key === key) ?? null,
  };
}

function said({ env, cwd }: Places, name: string): string | null {
  const look = lookFor(name, { env, file: resolve(cwd, ".env") });
  return look.kind === "found" ? look.value : null;
}

function fromFile(places: Places): string | null {
  const name = said(places, "CAIRN_SEAL_KEY_FILE");
  if (name === null) return null;
  try {
    return readFileSync(resolve(places.cwd, name), "utf8");
  } catch (error) {
    throw new SealKeyInvalid(
      `CAIRN_SEAL_KEY_FILE names ${name}, which cannot be read: ${fileCode(error) ?? "unknown"}`,
    );
  }
}

function keyOf(name: string, text: string | null): SealKey | null {
  if (text === null) return null;
  const key = sealKeyIn(text);
  if (key === null) throw new SealKeyInvalid(`${name} holds no key: it takes 32 bytes or more, in hex or base64`);
  return key;
}
