/** Who may call the HTTP API: the part `access` of `cairn.config.ts`. */
import * as z from "zod";
import { builtOnUse } from "../codec/fit.ts";
import { isTenant } from "../core/ids.ts";
import type { RequestLimits } from "../protocol/request-rate.ts";

/** How callers are identified. */
export interface AccessOptions {
  /**
   * `token`: an access token of `cairn token create`. `jwt`: a signed token of your own issuer. `iam`: a signature of an
   * identity of the AWS account, which then has every scope. Default: `iam` on AWS. `cairn serve` asks for a token once its
   * store had one, and `cairn dev` is open to its machine in any case.
   */
  readonly auth?: "token" | "jwt" | "iam";
  /** The issuer whose tokens count, with `auth: "jwt"`. */
  readonly jwt?: JwtOptions;
  /** What each tenant may do over HTTP, by its name; `*` is each one that is not named. Default: no limits. */
  readonly limits?: TenantLimitsByName;
}

export type TenantLimitsByName = Readonly<Record<string, TenantLimits>>;

/** The limits of one tenant. Each is optional. All processes of a store or deployment count together. */
export interface TenantLimits extends RequestLimits {
  /** For each day in UTC. */
  readonly day?: StartLimits;
  /** For each calendar month in UTC. */
  readonly month?: StartLimits;
}

export interface StartLimits {
  /** How many runs it may start. */
  readonly runs?: number;
  /**
   * Dollars for model calls. A run under way counts with its budget, and an ended one with what it spent. Each agent that
   * the tenant starts needs `budget.usd`.
   */
  readonly usd?: number;
}

export interface JwtOptions {
  /** The claim `iss`, exactly. Its keys are at `jwks`. */
  readonly issuer: string;
  /** The claim `aud` must contain it. */
  readonly audience: string;
  /** The URL of the issuer's keys; default: `/.well-known/jwks.json` below the issuer. */
  readonly jwks?: string;
  /** Signature algorithms that count; default RS256 and ES256. No symmetric one is possible. */
  readonly algorithms?: readonly (typeof ALGORITHMS)[number][];
  /** The claim with the tenant; default `tenant`. */
  readonly tenantClaim?: string;
  /** The claim with the scopes, as a list or a text with blanks; default `scope`. Words that are no scopes are ignored. */
  readonly scopesClaim?: string;
  /** How far the clock of the issuer may differ, 0 to 60 seconds; default 5. */
  readonly clockSkewSeconds?: number;
}

const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"] as const;

/** HTTPS, or this machine. */
const isSafeUrl = (text: string): boolean =>
  URL.canParse(text) &&
  (text.startsWith("https://") || /^http:\/\/(127\.0\.0\.1|localhost|\[::1\])(:\d+)?(\/|$)/.test(text));

const url = builtOnUse(() => z.string().max(1_000).refine(isSafeUrl, "write a URL that begins with https://"));
const claim = builtOnUse(() => z.string().min(1).max(200));

const jwt = builtOnUse(() =>
  z.strictObject({
    issuer: url(),
    audience: claim(),
    jwks: url().exactOptional(),
    algorithms: z.array(z.enum(ALGORITHMS)).min(1).exactOptional(),
    tenantClaim: claim().exactOptional(),
    scopesClaim: claim().exactOptional(),
    clockSkewSeconds: z.number().min(0).max(60).exactOptional(),
  }),
);

const startLimits = builtOnUse(() =>
  z.strictObject({
    runs: z.int().nonnegative().exactOptional(),
    usd: z.number().nonnegative().max(1e9).exactOptional(),
  }),
);

const tenantLimits = builtOnUse(() =>
  z.strictObject({
    requestsPerSecond: z.int().positive().exactOptional(),
    requestsPerMinute: z.int().positive().exactOptional(),
    day: startLimits().exactOptional(),
    month: startLimits().exactOptional(),
  }),
);

const limits = builtOnUse(() =>
  z.record(
    z.string().refine((name) => name === "*" || isTenant(name), "write a tenant, or *"),
    tenantLimits(),
  ),
);

/** The limits of a tenant; null: it has none. */
export const limitsOfTenant = ({ limits: all = {} }: AccessOptions, tenant: string): TenantLimits | null =>
  (Object.hasOwn(all, tenant) ? all[tenant] : all["*"]) ?? null;

export const accessSchema = builtOnUse(() =>
  z
    .strictObject({
      auth: z.enum(["token", "jwt", "iam"]).exactOptional(),
      jwt: jwt().exactOptional(),
      limits: limits().exactOptional(),
    })
    .refine(
      ({ auth, jwt: of }) => (auth === "jwt") === (of !== undefined),
      'write jwt: {...} together with auth: "jwt"',
    ),
);
