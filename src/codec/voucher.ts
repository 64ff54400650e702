/**
 * The codec of keyed seals (HMAC-SHA256): computing and verifying a seal, its place in a canonical text, and the text
 * form of a seal key.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import * as z from "zod";
import type { SealKey, Voucher } from "../protocol/voucher.ts";
import { canonical, sha256 } from "./canonical.ts";

export const voucher: z.ZodType<Voucher> = z.object({
  key: z.string().regex(/^[\w-]{1,64}$/),
  mac: z.string().regex(/^[\w-]{43}$/),
  wrapped: z.base64().max(1_024).exactOptional(),
});

/** The kind of document that a seal covers. The kind is part of the MAC, so a seal of one kind never fits another. */
export type Sealed = "snapshot" | "journal" | "export";

/** A keyed seal and the digest of the document that it covers. */
export interface SealedBy {
  readonly what: Sealed;
  readonly voucher: Voucher;
  readonly digest: string;
}

/** Computes the keyed seal of a digest. */
export type Sign = (what: Sealed, digest: string) => Voucher;

export function vouchFor(key: SealKey, what: Sealed, digest: string): Voucher {
  const { id, mac } = { id: key.key, mac: macOf(key, what, digest) };
  return { key: id, mac, ...(key.wrapped !== undefined && { wrapped: key.wrapped }) };
}

export function isGenuine(
  key: SealKey,
  what: Sealed,
  { voucher, digest }: { readonly voucher: Voucher; readonly digest: string },
): boolean {
  const [found, expected] = [voucher.mac, macOf(key, what, digest)].map((mac) => Buffer.from(mac));
  return found?.length === expected?.length && timingSafeEqual(found as Buffer, expected as Buffer);
}

const macOf = ({ bytes }: SealKey, what: Sealed, digest: string): string =>
  createHmac("sha256", bytes).update(`cairn ${what}\n${digest}`).digest("base64url");

/**
 * The canonical text of an object with its seal added as the last member, `voucher`. The seal covers the text without
 * that member, so neither writer nor reader serializes a large document twice. Therefore no member of a sealed document
 * may sort after `voucher`.
 */
export const withVoucher = (text: string, voucher: Voucher): string =>
  `${text.slice(0, -1)},"voucher":${canonical(voucher)}}`;

/** The text without its seal; null if the seal is not the last member. */
export function withoutVoucher(text: string, voucher: Voucher): string | null {
  const end = `,"voucher":${canonical(voucher)}}`;
  return text.endsWith(end) ? `${text.slice(0, -end.length)}}` : null;
}

const KEY_BYTES_MIN = 32;

/** A seal key from its text form, hex or base64; null if the text is neither, or has fewer than 32 bytes. */
export function sealKeyIn(text: string): SealKey | null {
  const trimmed = text.trim();
  const isHex = /^(?:[0-9a-f]{2})+$/i.test(trimmed);
  if (!isHex && !/^[\w+/-]+={0,2}$/.test(trimmed)) return null;
  const bytes = Buffer.from(trimmed, isHex ? "hex" : "base64");
  return bytes.length < KEY_BYTES_MIN ? null : { key: keyIdOf(bytes), bytes };
}

/** The public ID of a key: it distinguishes keys and reveals nothing about them. */
export const keyIdOf = (bytes: Uint8Array): string =>
  sha256(Buffer.concat([Buffer.from("cairn seal key\n"), bytes])).slice(0, 12);
