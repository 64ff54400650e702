/**
 * What the token of a request is worth. Each request reads the record of its token with a consistent read. So a
 * revocation counts from the next request on, in every process.
 */
import * as z from "zod";
import { Unreadable } from "../../codec/canonical.ts";
import { findRecord } from "../../history/damage.ts";
import { isSameDigest, secretDigest } from "../../codec/secret-digest.ts";
import type { StoredRecord } from "../../ports/records.ts";
import type { World } from "../../ports/world.ts";
import { SCOPES, type Scope } from "../operation.ts";

/** A token as a list shows it, without anything of its secret. Times are epoch milliseconds. */
export interface ShownToken {
  readonly token: string;
  readonly tenant: string;
  readonly scopes: readonly Scope[];
  readonly name: string | null;
  readonly createdAt: number;
  readonly createdBy: string;
  /** Null: never. */
  readonly expiresAt: number | null;
  readonly revoked: { readonly at: number; readonly by: string } | null;
}

export const body = z.strictObject({
  digest: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  name: z.string().nullable(),
  by: z.string(),
  expiresAt: z.number().nullable(),
  revoked: z.strictObject({ at: z.number(), by: z.string() }).nullable(),
});

/** The ID of a token, which is no secret. */
export const TOKEN_ID = /^[0-9a-f]{16}$/;
const TOKEN = /^cairn_([0-9a-f]{16})_([0-9a-f]{64})$/;

export const tokenKey = (id: string) => ({ kind: "token", about: id, id }) as const;

/** The digest of no token, so that an unknown ID is compared like a known one. */
const NO_DIGEST = secretDigest("");

/** What a token of a request is. */
export type TokenCheck =
  | { readonly kind: "valid"; readonly token: ShownToken }
  | { readonly kind: "expired" | "revoked"; readonly token: ShownToken }
  /** It is no token of cairn, or of no store that this process reads. */
  | { readonly kind: "unknown" }
  /** Its record cannot be read, so it is not known what it may do. */
  | { readonly kind: "damaged" };

/** Finds the token with this text. A text of another form costs no read. */
export async function checkToken(world: Pick<World, "records" | "clock">, text: string): Promise<TokenCheck> {
  const [, id, secret] = TOKEN.exec(text) ?? [];
  if (id === undefined || secret === undefined) return { kind: "unknown" };
  const now = world.clock.now();
  const found = await findRecord(world, tokenKey(id), now);
  if (found instanceof Unreadable || (found !== null && !isToken(found))) return { kind: "damaged" };
  const isTheirs = isSameDigest(secretDigest(secret), found === null ? NO_DIGEST : tokenBody(found).digest);
  if (found === null || !isTheirs) return { kind: "unknown" };
  const token = shownToken(found);
  if (token.revoked !== null) return { kind: "revoked", token };
  return { kind: token.expiresAt !== null && token.expiresAt <= now ? "expired" : "valid", token };
}

/** Stored before the first token, for ever. A store whose tokens have all expired is not open again. */
export const TOKEN_MARK = tokenKey("any");

/** Whether the store ever had a token. A damaged mark says so too. */
export const hadTokens = async (world: Pick<World, "records" | "clock">): Promise<boolean> =>
  (await findRecord(world, TOKEN_MARK, world.clock.now())) !== null;

/** Whether the record is a token that this version of cairn can read. */
export const isToken = ({ body: stored }: StoredRecord): boolean => body.safeParse(stored).success;

export function tokenBody({ body: stored, id }: StoredRecord): z.output<typeof body> {
  const read = body.safeParse(stored);
  if (read.success) return read.data;
  throw new Unreadable(`the record of the token ${id} cannot be read`, "RecordDamaged");
}

export function shownToken(record: StoredRecord): ShownToken {
  const { scopes, name, by: createdBy, expiresAt, revoked } = tokenBody(record);
  return { token: record.id, tenant: record.tenant, scopes, name, createdAt: record.at, createdBy, expiresAt, revoked };
}
