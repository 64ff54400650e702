/** Signed tokens of a configured issuer: which count, which do not, and how their keys are fetched. */
import { SignJWT, exportJWK, generateKeyPair } from "jose";
import { describe, expect, test } from "vitest";
import { jwtAuthenticator } from "../../src/api/access/jwt.ts";
import { ApiProblem } from "../../src/api/problem.ts";
import type { JwtOptions } from "../../src/sdk/access.ts";
import { accessSchema } from "../../src/sdk/access.ts";

const NOW = 1_700_000_000_000;
const ISSUER = "https://issuer.example";
const OPTIONS: JwtOptions = { issuer: ISSUER, audience: "cairn" };

const pair = await generateKeyPair("ES256");
const other = await generateKeyPair("ES256");
const jwk = { ...(await exportJWK(pair.publicKey)), kid: "k1", alg: "ES256", use: "sig" };

type Claims = Readonly<Record<string, unknown>>;

const VALID: Claims = {
  ...{ iss: ISSUER, aud: "cairn", sub: "ann", tenant: "acme", scope: "openid runs:read approve" },
  exp: NOW / 1_000 + 60,
};

const signed = (claims: Claims, key = pair.privateKey, header: object = {}): Promise<string> =>
  new SignJWT({ ...claims }).setProtectedHeader({ alg: "ES256", kid: "k1", ...header }).sign(key);

const unsigned = (claims: Claims): string =>
  `${[{ alg: "none" }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.`;

/** An issuer that answers with its keys, and counts the requests. */
function issuer(answer: () => Response | Promise<Response> = () => Response.json({ keys: [jwk] })) {
  const asked: string[] = [];
  const send = (async (url: string | URL | Request) => {
    asked.push(String(url));
    return answer();
  }) as typeof fetch;
  return { asked, send };
}

function identifying(options: JwtOptions = OPTIONS, of = issuer()) {
  const authenticate = jwtAuthenticator({ clock: { now: () => NOW } }, options, of.send);
  const codeOf = async (token: string): Promise<string> => {
    try {
      await authenticate({ authorization: `Bearer ${token}` });
      return "valid";
    } catch (error) {
      if (error instanceof ApiProblem) return `${error.trouble.status} ${error.trouble.code}`;
      throw error;
    }
  };
  return { authenticate, codeOf, ...of };
}

describe("a signed token", () => {
  test("gives its tenant, the scopes that cairn knows, and its subject as the actor", async () => {
    const { authenticate, asked } = identifying();
    const token = await signed(VALID);
    expect(await authenticate({ authorization: `Bearer ${token}` })).toEqual({
      tenant: "acme",
      scopes: ["runs:read", "approve"],
      actor: "jwt:ann",
    });
    for (let each = 0; each < 20; each += 1) await authenticate({ authorization: `Bearer ${token}` });
    expect(asked).toEqual([`${ISSUER}/.well-known/jwks.json`]);
  });

  test.each<[string, Claims, string]>([
    ["of another issuer", { iss: "https://evil.example" }, "401 TokenInvalid"],
    ["for another audience", { aud: "shop" }, "401 TokenInvalid"],
    ["that has expired", { exp: NOW / 1_000 - 6 }, "401 TokenExpired"],
    ["that has expired within the skew of clocks", { exp: NOW / 1_000 - 4 }, "valid"],
    ["that is not valid yet", { nbf: NOW / 1_000 + 6 }, "401 TokenInvalid"],
    ["without an expiry", { exp: undefined }, "401 TokenInvalid"],
    ["without a subject", { sub: undefined }, "401 TokenInvalid"],
    ["without a tenant", { tenant: undefined }, "401 TokenInvalid"],
    ["with a tenant that is none", { tenant: "../acme" }, "401 TokenInvalid"],
    ["with several tenants", { tenant: ["acme"] }, "401 TokenInvalid"],
    ["with scopes that are no text", { scope: { admin: true } }, "valid"],
  ])("%s", async (_, change, code) => {
    expect(await identifying().codeOf(await signed({ ...VALID, ...change }))).toBe(code);
  });

  test("gives no scope for claims of another form", async () => {
    const { authenticate } = identifying();
    for (const scope of [{ admin: true }, 7, "ADMIN admin,approve", ["admin "]]) {
      const token = await signed({ ...VALID, scope });
      expect((await authenticate({ authorization: `Bearer ${token}` })).scopes).toEqual([]);
    }
    const listed = jwtAuthenticator({ clock: { now: () => NOW } }, { ...OPTIONS, scopesClaim: "roles" }, issuer().send);
    const token = await signed({ ...VALID, roles: ["admin"] });
    expect((await listed({ authorization: `Bearer ${token}` })).scopes).toEqual(["admin"]);
  });

  test("does not count with another key, an algorithm that is not allowed, or no signature", async () => {
    const { codeOf } = identifying();
    expect(await codeOf(await signed(VALID, other.privateKey))).toBe("401 TokenInvalid");
    expect(await codeOf(unsigned(VALID))).toBe("401 TokenInvalid");
    // The public key of the issuer, used as a shared secret.
    const secret = new TextEncoder().encode(JSON.stringify(jwk));
    const confused = await new SignJWT({ ...VALID }).setProtectedHeader({ alg: "HS256", kid: "k1" }).sign(secret);
    expect(await codeOf(confused)).toBe("401 TokenInvalid");
    expect(await identifying({ ...OPTIONS, algorithms: ["RS256"] }).codeOf(await signed(VALID))).toBe(
      "401 TokenInvalid",
    );
    for (const garbage of ["x", "a.b.c", `${await signed(VALID)}x`, "e30.e30.e30"])
      expect(await codeOf(garbage)).toBe("401 TokenInvalid");
  });
});

describe("the keys of the issuer", () => {
  test("are asked for once while unknown keys are named, as often as a stranger likes", async () => {
    const { codeOf, asked } = identifying();
    expect(await codeOf(await signed(VALID))).toBe("valid");
    for (let each = 0; each < 50; each += 1)
      expect(await codeOf(await signed(VALID, other.privateKey, { kid: `forged ${each}` }))).toBe("401 TokenInvalid");
    expect(asked.length).toBe(1);
  });

  test.each<[string, () => Response | Promise<Response>]>([
    ["an error", () => new Response("no", { status: 500 })],
    ["no JSON", () => new Response("<html>")],
    ["no keys", () => Response.json({})],
    ["more than 64 KB", () => Response.json({ keys: [jwk], pad: "x".repeat(70_000) })],
    ["nothing", () => Promise.reject(new TypeError("fetch failed"))],
  ])("that are %s leave it open who asks: the request is refused, and may be repeated", async (_, answer) => {
    expect(await identifying(OPTIONS, issuer(answer)).codeOf(await signed(VALID))).toBe("503 IssuerUnreachable");
  });
});

test("the configuration takes HTTPS, or this machine, and no symmetric algorithm", () => {
  const isValid = (jwt: object): boolean =>
    accessSchema().safeParse({ auth: "jwt", jwt: { ...OPTIONS, ...jwt } }).success;
  expect(isValid({})).toBe(true);
  expect(isValid({ jwks: "http://127.0.0.1:8080/keys" })).toBe(true);
  for (const wrong of [
    { issuer: "http://issuer.example" },
    { jwks: "http://127.0.0.1.evil.example/keys" },
    { algorithms: ["HS256"] },
    { algorithms: [] },
    { clockSkewSeconds: 61 },
    { audience: "" },
  ])
    expect({ wrong, isValid: isValid(wrong) }).toEqual({ wrong, isValid: false });
  expect(accessSchema().safeParse({ auth: "jwt" }).success).toBe(false);
  expect(accessSchema().safeParse({ auth: "token", jwt: OPTIONS }).success).toBe(false);
});
