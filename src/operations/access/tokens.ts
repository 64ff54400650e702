/**
 * Access tokens: random secrets, of which the store keeps only a digest. A token belongs to one tenant, has scopes, and
 * may expire. Its text is shown once, when it is made.
 */
import { secretDigest } from "../../codec/secret-digest.ts";
import type { NewRecord } from "../../ports/records.ts";
import type { World } from "../../ports/world.ts";
import { resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";
import type { Scope } from "../operation.ts";
import { type ShownToken, TOKEN_ID, TOKEN_MARK, isToken, shownToken, tokenBody, tokenKey } from "./check-token.ts";

/** How long an expired or revoked token is still listed. */
const LISTED_MS = 30 * 24 * 3_600_000;
const LISTED_MAX = 100;

export interface TokenCreated {
  readonly kind: "created";
  /** The text of the token. It is stored nowhere. */
  readonly secret: string;
  readonly token: ShownToken;
}

export async function createToken(
  world: World,
  {
    tenant,
    by,
    scopes,
    name,
    lifeMs,
  }: {
    readonly tenant: string;
    readonly by: string;
    readonly scopes: readonly Scope[];
    readonly name: string | null;
    /** Null: the token does not expire. */
    readonly lifeMs: number | null;
  },
): Promise<TokenCreated> {
  const id = world.random.hex().slice(0, 16);
  const secret = world.random.hex().slice(0, 64);
  const at = world.clock.now();
  const expiresAt = lifeMs === null ? null : at + lifeMs;
  const record: NewRecord = {
    ...tokenKey(id),
    tenant,
    at,
    expiresAtSec: expiresAt === null ? null : secondsOf(expiresAt + LISTED_MS),
    body: { digest: secretDigest(secret), scopes: [...new Set(scopes)], name, by, expiresAt, revoked: null },
  };
  // A record that exists: the mark was there before, and the ID is random, so it is our own, of a write whose answer was
  // lost.
  for (const each of [{ ...TOKEN_MARK, tenant: "", at, expiresAtSec: null, body: null }, record])
    await resolveAmbiguousWrite(
      () => world.records.add(each, at),
      () => null,
    );
  return { kind: "created", secret: `cairn_${id}_${secret}`, token: shownToken({ ...record, version: 1 }) };
}

export interface TokensListed {
  readonly kind: "listed";
  readonly tokens: readonly ShownToken[];
  /** The IDs of the tokens of this page whose records cannot be read. They let no request in. */
  readonly damaged: readonly string[];
  readonly next: string | null;
}

export async function listTokens(
  world: World,
  { tenant, after }: { readonly tenant: string; readonly after: string | null },
): Promise<TokensListed> {
  const query = { kind: "token", by: { tenant }, after, limit: LISTED_MAX, now: world.clock.now() } as const;
  const page = await world.records.list(query);
  const sound = page.records.filter(isToken);
  const damaged = [...page.damaged, ...page.records.filter((record) => !isToken(record))].map(({ id }) => id);
  return { kind: "listed", tokens: sound.map(shownToken), damaged, next: page.next };
}

/** `already`: it was revoked before. `unknown`: the tenant has no such token. */
export type Revoked =
  | {
      readonly kind: "revoked" | "already";
      readonly token: ShownToken;
    }
  | { readonly kind: "unknown" };

export async function revokeToken(
  world: World,
  { id, tenant, by }: { readonly id: string; readonly tenant: string; readonly by: string },
): Promise<Revoked> {
  for (;;) {
    const now = world.clock.now();
    const found = TOKEN_ID.test(id) ? await world.records.get(tokenKey(id), now) : null;
    if (found === null || found.tenant !== tenant) return { kind: "unknown" };
    const before = tokenBody(found);
    if (before.revoked !== null) return { kind: "already", token: shownToken(found) };
    const expiresAtSec = Math.min(found.expiresAtSec ?? Infinity, secondsOf(now + LISTED_MS));
    const next = { ...found, body: { ...before, revoked: { at: now, by } }, expiresAtSec };
    const outcome = await resolveAmbiguousWrite(
      () => world.records.replace(next, now),
      () => null,
    );
    if (outcome.kind === "replaced") return { kind: "revoked", token: shownToken(next) };
    // Another operator revoked it at the same moment, or the answer to our own write was lost: read what holds.
  }
}

const secondsOf = (ms: number): number => Math.ceil(ms / 1_000);
