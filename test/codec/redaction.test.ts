/** Redaction: what it replaces, in which forms, and what it must not touch. */
import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { canonical } from "../../src/codec/canonical.ts";
import { SECRET_CHARACTERS_MIN, redactionOf } from "../../src/codec/redaction/redaction.ts";
import type { Json } from "../../src/core/json.ts";
import { inline } from "../../src/core/message.ts";
import { AT, EVENT } from "../support/states/states-and-events.ts";

const VALUE = 'p@ss/w"rd+ü';
const { text, json, event, words } = redactionOf([
  { name: "TOKEN", value: VALUE },
  { name: "PIN", value: "90210773" },
  { name: "SHORT", value: "abcde" },
]);

/** Split, so that no scanner takes them for real credentials. */
const of = (...parts: readonly string[]): string => parts.join("");

const HITS: readonly (readonly [name: string, found: string])[] = [
  ["aws-access-key", of("AKIA", "IOSFODNN7EXAMPLE")],
  ["aws-access-key", of("ASIA", "IOSFODNN7EXAMPLE")],
  ["aws-secret-key", of("AWS_SECRET_ACCESS_KEY=", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")],
  ["aws-secret-key", of('"secretAccessKey": "', "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", '"')],
  ["api-key", of("sk-", "ant-api03-0123456789abcdefghij")],
  ["api-key", of("sk-", "proj-ABCdef0123456789ABCdef")],
  ["google-token", of("AIza", "SyA1234567890abcdefghijklmnopqrstuv")],
  ["model-key", of("gsk_", "0123456789abcdefghijklmnopqrstuvwxyz")],
  ["gitlab-token", of("glpat-", "0123456789abcdefghij")],
  ["github-token", of("ghp_", "0123456789abcdefghijklmnopqrstuvwxyzAB")],
  ["github-token", of("github_pat_", "11ABCDEFG0123456789_abcdefghij")],
  ["slack-token", of("xoxb-", "123456789012-abcdefghij")],
  ["stripe-key", of("sk_live_", "0123456789abcdefghijklmn")],
  ["stripe-key", of("rk_test_", "0123456789abcdefghijklmn")],
  ["stripe-key", of("whsec_", "0123456789abcdefghijklmnopqrstuv")],
  ["jwt", of("eyJ", "hbGciOiJIUzI1NiJ9.eyJ", "zdWIiOiIxMjM0NTYifQ.SflKxwRJSMeKKF2QT4fwpM")],
  [
    "private-key",
    of("-----BEGIN ", "RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3x\n-----END RSA PRIVATE KEY-----"),
  ],
  ["private-key", of("-----BEGIN ", "PRIVATE KEY-----\\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/cut off")],
  ["bearer-token", "Authorization: Bearer 0123456789abcdefghij"],
  ["bearer-token", "bearer%20abcdefGHIJKLmnopqrst"],
  ["basic-auth", `Basic ${Buffer.from("ada:lovelace").toString("base64")}`],
  ["url-password", "postgres://ada:lovelace@db.example.org/x"],
  ["url-password", "redis://:lovelace@db"],
];

const MISSES: readonly string[] = [
  "AKIA is how their ids begin",
  "a digest 0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
  "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  "the secret key is what no user may see",
  "risk-assessment-of-2024-of-the-whole-department",
  "sk-circle-fade-dot-animation-of-a-spinner",
  "ask-me-anything-0123456789-0123456789",
  "xoxo and kisses, 12345678901234567890",
  "eyJust look at this.and.that",
  "-----BEGIN CERTIFICATE-----\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3x\n-----END CERTIFICATE-----",
  "begins with -----BEGIN PRIVATE KEY----- and then the key",
  "the bearer of internationalization, responsibilities",
  "Basic understanding of authentication: nothing more",
  "https://example.org:8080/path?mail=ada@example.org",
  "https://example.org/a:b/@scope/name",
  "mail ada@example.org or see git@github.com:ada/x.git",
  "local-aaaaaaaaaaaaaaaaaaaaaaaaaa trip_42_charge_v1 c12 m3",
];

describe("a credential format", () => {
  test.each(HITS)("%s is found: %s", (name, found) => {
    const clean = text(`before ${found} after`);
    expect(clean).toContain(`[redacted ${name}]`);
    expect(clean).toMatch(/^before [^]*( after|private-key\])$/);
    expect(clean).not.toMatch(/0123456789|wJalr|EXAMPLE|lovelace|MIIE|SflKx|abcdefGHIJ|A1234567890/);
    expect(text(clean)).toBe(clean);
  });

  test.each(MISSES)("is not found in: %s", (given) => {
    expect(text(given)).toBe(given);
  });

  test("is also recognized by the name beside it", () => {
    const key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    expect(json({ SecretAccessKey: key, other: key })).toEqual({
      ...{ SecretAccessKey: "[redacted aws-secret-key]", other: key },
    });
  });
});

describe("a declared secret", () => {
  test.each([
    ["as it is", VALUE],
    ["within JSON", JSON.stringify({ VALUE })],
    ["within JSON within JSON", JSON.stringify(JSON.stringify({ VALUE }))],
    ["in an address", `?q=${encodeURIComponent(VALUE)}`],
    ["in a form", new URLSearchParams({ q: VALUE }).toString()],
    ["in base64", Buffer.from(VALUE).toString("base64")],
    ["in base64, moved by one", Buffer.from(`:${VALUE}:`).toString("base64")],
    ["in base64, moved by two", Buffer.from(`ab${VALUE}`).toString("base64url")],
  ])("is found %s", (_, given) => {
    expect(text(given)).toContain("[secret TOKEN]");
    expect(text(text(given))).toBe(text(given));
  });

  test("is found in numbers and names of foreign JSON, and nowhere in cairn's own fields", () => {
    const given = { pin: 90_210_773, [VALUE]: [VALUE, 1], ok: true };
    expect(json(given)).toEqual({ pin: "[secret PIN]", "[secret TOKEN]": ["[secret TOKEN]", 1], ok: true });
    expect(words({ at: 90_210_773, kind: "90210773", why: "90210773" })).toEqual({
      ...{ at: 90_210_773, kind: "90210773", why: "[secret PIN]" },
    });
  });

  test("keeps both members when two names become equal", () => {
    const encoded = Buffer.from(VALUE).toString("base64");
    const both = json({ [VALUE]: 1, [JSON.stringify(VALUE).slice(1, -1)]: 2, [encoded]: 3 });
    expect(Object.values(both as object)).toEqual([1, 2, 3]);
  });

  test("that is too short is not treated as a secret", () => {
    expect("abcde".length).toBeLessThan(SECRET_CHARACTERS_MIN);
    expect(text("abcde and abcde")).toBe("abcde and abcde");
  });

  test("that was truncated is found at the cut and nowhere else", () => {
    expect(text(`so ${VALUE.slice(0, 5)}…`)).toBe("so [secret TOKEN]…");
    expect(text(`so ${VALUE.slice(0, 5)} on`)).toBe(`so ${VALUE.slice(0, 5)} on`);
  });

  test("may be a word that references contain", () => {
    const odd = redactionOf([
      { name: "SECRET", value: "secret" },
      { name: "OTHER", value: "redacted" },
    ]);
    const clean = odd.text("the secret is redacted");
    expect(clean).toBe("the [secret SECRET] is [secret OTHER]");
    expect(odd.text(clean)).toBe(clean);
  });
});

describe("an event", () => {
  const thought = (provider: Json) => ({ kind: "reasoning" as const, text: `use ${VALUE}`, provider });

  test("keeps its structure, and drops a provider's signature if the signed text changes", () => {
    const call = { kind: "call" as const, tool: "90210773", args: inline({ of: VALUE }), provider: { s: VALUE } };
    const given = EVENT.replied([thought({ signature: "abc" }), call]);
    expect(event(given)).toEqual({
      ...given,
      parts: [
        { kind: "reasoning", text: "use [secret TOKEN]", provider: null },
        { ...call, args: inline({ of: "[secret TOKEN]" }), provider: null },
      ],
    });
  });

  test("of a message keeps the message's ID", () => {
    const body = { kind: "user", text: VALUE, by: "ada" } as const;
    const taken = { kind: "MessageAbsorbed", at: AT, stage: "taken", message: "user#90210773", body } as const;
    expect(event(taken)).toEqual({ ...taken, body: { ...body, text: "[secret TOKEN]" } });
  });

  test("without secrets is returned as the same object", () => {
    const given = EVENT.replied([{ kind: "text", text: "nothing" }]);
    expect(event(given)).toBe(given);
  });
});

const mixed = fc
  .string()
  .chain((noise) =>
    fc
      .array(fc.constantFrom(VALUE, "90210773", "[secret TOKEN]", noise, "…", ...HITS.map(([, found]) => found)))
      .map((parts) => parts.join("")),
  );

test("law: redacted text stays unchanged and contains no secret value", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), mixed, (value, given) => {
      const clean = json([value as Json, given, { [given]: given }]);
      expect(json(clean)).toBe(clean);
      expect(canonical(clean)).not.toContain(JSON.stringify(VALUE).slice(1, -1));
      expect(canonical(clean)).not.toContain("90210773");
    }),
  );
});

test("finds all credentials when any number of them follow each other directly", () => {
  const pair = `${HITS[6]?.[1]}${HITS[8]?.[1]}`;
  expect(text(pair)).toBe("[redacted google-token][redacted gitlab-token]");
  expect(text(pair.repeat(20))).toMatch(/^(\[redacted [a-z-]+\])+$/);
});
