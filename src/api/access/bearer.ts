/** Identifies a caller by an access token in the `Authorization` header. */
import { type ShownToken, checkToken } from "../../operations/access/check-token.ts";
import type { World } from "../../ports/world.ts";
import { tokenRefused } from "../problem.ts";
import type { Authenticate, Caller } from "./caller.ts";

const SCHEME = /^Bearer +(\S+)$/i;
/** No token is longer. A longer header costs no search. */
const CHARACTERS_MAX = 8_192;

/** The text of the bearer token; null without one. */
export function bearerIn(authorization: string): string | null {
  if (authorization.length > CHARACTERS_MAX) return null;
  return SCHEME.exec(authorization)?.[1] ?? null;
}

export const tokenAuthenticator =
  (world: Pick<World, "records" | "clock">): Authenticate =>
  async ({ authorization }) => {
    const text = bearerIn(authorization);
    if (text === null) throw tokenRefused("absent");
    const checked = await checkToken(world, text);
    if (checked.kind !== "valid") throw tokenRefused(checked.kind);
    return callerOf(checked.token);
  };

/** The name of the token says who uses it; its ID says so for certain. */
const callerOf = ({ token, tenant, scopes, name }: ShownToken): Caller => ({
  tenant,
  scopes,
  token,
  actor: name === null ? `access:${token}` : `access:${token} ${name}`.slice(0, ACTOR_CHARACTERS_MAX).toWellFormed(),
});

const ACTOR_CHARACTERS_MAX = 64;
