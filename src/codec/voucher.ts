/** Seals as bytes: where they lie in a canonical text, what they are of, and the keys that people write down. */
import { createHmac, timingSafeEqual } from "node:crypto";
import * as z from "zod";
import type { SealKey, Voucher } from "../protocol/voucher.ts";
import { canonical, sha256 } from "./canonical.ts";

export const voucher: z.ZodType<Voucher> = z.object({
  key: z.string().regex(/^[\w-]{1,64}$/),
  mac: z.string().regex(/^[\w-]{43}$/),
  wrapped: z.base64().max(1_024).exactOptional(),
});

/** What is sealed: a seal of one kind is none of another. */
export type Sealed = "snapshot" | "journal" | "export";

/** A keyed seal, and the digest of what it is of. */
export interface SealedBy {
  readonly what: Sealed;
  readonly voucher: Voucher;
  readonly digest: string;
}

/** Makes the keyed seal of a digest. */
export type Sign = (what: Sealed, digest: string) => Voucher;

export function vouchFor(key: SealKey, what: Sealed, digest: string): Voucher {
  const { id, mac } = { id: key.key, mac: macOf(key, what, digest) };
  return { key: id, mac, ...(key.wrapped !== undefined && { wrapped: key.wrapped }) };
}

export function isGenuine(
  key: SealKey,
  what: Sealed,
  of: { readonly voucher: Voucher; readonly digest: string },
): boolean {
  const [found, expected] = [of.voucher.mac, macOf(key, what, of.digest)].map((mac) => Buffer.from(mac));
  return found?.length === expected?.length && timingSafeEqual(found as Buffer, expected as Buffer);
}

const macOf = ({ bytes }: SealKey, what: Sealed, digest: string): string =>
  createHmac("sha256", bytes).update(`cairn ${what}\n${digest}`).digest("base64url");

/**
 * The canonical text of an object with its seal as the last member: no other member of what is sealed may be sorted behind
 * `voucher`. The text without it is what the seal is of, so that neither side writes a large text twice.
 */
export const withVoucher = (text: string, of: Voucher): string => `${text.slice(0, -1)},"voucher":${canonical(of)}}`;

/** That text without its seal; null where the seal does not lie at its end. */
export function withoutVoucher(text: string, of: Voucher): string | null {
  const end = `,"voucher":${canonical(of)}}`;
  return text.endsWith(end) ? `${text.slice(0, -end.length)}}` : null;
}

const KEY_BYTES_MIN = 32;

/** A key as people write it down, in hex or base64; null where it is none, or shorter than 32 bytes. */
export function sealKeyIn(text: string): SealKey | null {
  const trimmed = text.trim();
  const isHex = /^(?:[0-9a-f]{2})+$/i.test(trimmed);
  if (!isHex && !/^[\w+/-]+={0,2}$/.test(trimmed)) return null;
  const bytes = Buffer.from(trimmed, isHex ? "hex" : "base64");
  return bytes.length < KEY_BYTES_MIN ? null : { key: keyIdOf(bytes), bytes };
}

/** Tells keys apart, and tells nothing of them. */
export const keyIdOf = (bytes: Uint8Array): string =>
  sha256(Buffer.concat([Buffer.from("cairn seal key\n"), bytes])).slice(0, 12);
