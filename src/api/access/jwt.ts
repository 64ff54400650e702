/**
 * Identifies a caller by a signed token (JWT) of a configured issuer. Its keys are fetched within 3 seconds and 64 KB,
 * kept for ten minutes, and at most every 30 seconds asked for a key that is not known: forged key IDs cause no flood.
 */
import type * as jose from "jose";
import { isTenant } from "../../core/ids.ts";
import { type Scope, SCOPES } from "../../operations/operation.ts";
import type { Clock } from "../../ports/world.ts";
import type { JwtOptions } from "../../sdk/access.ts";
import { ApiProblem, issuerUnreachable, tokenRefused } from "../problem.ts";
import { bearerIn } from "./bearer.ts";
import type { Authenticate, Caller } from "./caller.ts";

type Jose = typeof jose;

const FETCH_MS = 3_000;
const KEYS_BYTES_MAX = 64 * 1024;
const KEPT_MS = 10 * 60_000;
const COOLDOWN_MS = 30_000;
const SKEW_SECONDS = 5;
const SUBJECT_CHARACTERS_MAX = 60;

/** `send` is for tests; default: `fetch`. */
export function jwtAuthenticator(
  { clock }: { readonly clock: Pick<Clock, "now"> },
  options: JwtOptions,
  send: typeof fetch = fetch,
): Authenticate {
  const { issuer, audience, algorithms = ["RS256", "ES256"], clockSkewSeconds = SKEW_SECONDS } = options;
  const url = new URL(options.jwks ?? `${issuer.replace(/\/$/, "")}/.well-known/jwks.json`);
  // Most deployments ask for no signed token, so the library is loaded with the first one.
  let loading: ReturnType<typeof load> | null = null;
  const load = async () => {
    const library = await import("jose");
    const keys = library.createRemoteJWKSet(url, {
      timeoutDuration: FETCH_MS,
      cacheMaxAge: KEPT_MS,
      cooldownDuration: COOLDOWN_MS,
      [library.customFetch]: (at: string, init: RequestInit) => boundedFetch(library, send, { at, init }),
    });
    return { library, keys };
  };
  return async ({ authorization }) => {
    const text = bearerIn(authorization);
    if (text === null) throw tokenRefused("absent");
    const { library, keys } = await (loading ??= load());
    try {
      const { payload } = await library.jwtVerify(text, keys, {
        issuer,
        audience,
        algorithms: [...algorithms],
        requiredClaims: ["exp", "sub"],
        clockTolerance: clockSkewSeconds,
        currentDate: new Date(clock.now()),
      });
      return callerIn(payload, options);
    } catch (error) {
      throw problemOf(library, error);
    }
  };
}

/** A response that is larger than keys are is refused, and a redirect to another place is not followed. */
async function boundedFetch(
  { errors }: Jose,
  send: typeof fetch,
  { at, init }: { readonly at: string; readonly init: RequestInit },
): Promise<Response> {
  const answer = await send(at, { ...init, redirect: "error" });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += (chunk as Uint8Array).byteLength;
    if (bytes > KEYS_BYTES_MAX) throw new errors.JWKSInvalid(`the keys have more than ${KEYS_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return new Response(Buffer.concat(chunks), { status: answer.status, headers: answer.headers });
}

function callerIn(payload: jose.JWTPayload, { tenantClaim = "tenant", scopesClaim = "scope" }: JwtOptions): Caller {
  const tenant = payload[tenantClaim];
  if (typeof tenant !== "string" || !isTenant(tenant) || typeof payload.sub !== "string") throw tokenRefused("invalid");
  const said = payload[scopesClaim];
  const words: readonly unknown[] = Array.isArray(said) ? said : typeof said === "string" ? said.split(" ") : [];
  const scopes = SCOPES.filter((scope: Scope) => words.includes(scope));
  return { tenant, scopes, actor: `jwt:${payload.sub.slice(0, SUBJECT_CHARACTERS_MAX).toWellFormed()}` };
}

/** The keys cannot be fetched: it is not known whether the token is valid. All else is a token that does not count. */
function problemOf({ errors }: Jose, error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  if (error instanceof errors.JWTExpired) return tokenRefused("expired");
  const isOfToken =
    error instanceof errors.JOSEError &&
    !(error instanceof errors.JWKSTimeout) &&
    !(error instanceof errors.JWKSInvalid);
  // A response without keys has the general code.
  if (isOfToken && error.code !== "ERR_JOSE_GENERIC") return tokenRefused("invalid");
  return issuerUnreachable(error);
}
