/** Credentials as tools, models and users send them, harmless texts, and a maintained third-party rule set. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { redactionOf } from "../../src/codec/redaction/redaction.ts";
import { HARMLESS } from "../support/values/credential-free-texts.ts";
import { PROBES, UNSEEN } from "../support/values/credential-texts.ts";
import { rules } from "@secretlint/secretlint-rule-preset-recommend";

interface MaintainedRule {
  readonly name: string;
  readonly finds: (text: string) => boolean;
  /** The pattern of a rule, from the error that the rule set throws for invalid input. */
  readonly patterns: readonly RegExp[];
}

type Creator = (typeof rules)[number];

const NO_CREDENTIALS: ReadonlySet<string> = new Set(["filter-comments"]);

const MAINTAINED: readonly MaintainedRule[] = rules.flatMap((rule) => {
  const name = rule.meta.id.replace("@secretlint/secretlint-rule-", "");
  return NO_CREDENTIALS.has(name) ? [] : [{ name, finds: (text) => found(rule, text), patterns: patternsOf(rule) }];
});

function found(rule: Creator, content: unknown): boolean {
  let isFound = false;
  const createTranslator = () => (messageId: string) => ({ messageId, message: messageId });
  const context = { createTranslator, report: () => (isFound = true), ignore: () => undefined };
  const { file } = rule.create(context as never, {} as never);
  void file?.({ content, filePath: "a.txt", ext: ".txt", contentType: "text" } as never);
  return isFound;
}

function patternsOf(rule: Creator): readonly RegExp[] {
  const patterns: RegExp[] = [];
  const matchAll = (pattern: RegExp): readonly never[] => (patterns.push(pattern), []);
  found(rule, { matchAll });
  return patterns;
}

const { text, json } = redactionOf([]);

describe("a credential", () => {
  test("is probed in at least 80 ways", () => {
    expect(PROBES.length).toBeGreaterThanOrEqual(80);
    expect(new Set(PROBES.map(([what]) => what)).size).toBe(PROBES.length);
  });

  test.each(PROBES)("is replaced: %s", (_, given, secret) => {
    expect(given).toContain(secret);
    const clean = text(given);
    expect(clean).toMatch(/\[redacted [a-z-]+\]/);
    expect(clean).not.toContain(secret);
    // No usable part of it may remain either.
    expect(clean).not.toContain(secret.slice(0, Math.max(6, secret.length / 2)));
    expect(text(clean)).toBe(clean);
    expect(JSON.stringify(json({ lines: [given] }))).not.toContain(secret);
  });

  test.each(UNSEEN)("is not found, as documented: %s", (what, given) => {
    expect(text(given)).toBe(given);
    expect(readFileSync(join(import.meta.dirname, "../../docs/secrets.md"), "utf8")).toContain(what);
  });
});

describe("a secret under its name in JSON", () => {
  test.each([
    [{ password: 90_210_773 }, { password: "[redacted password]" }],
    [
      { passwords: "x", password: ["hunter2", "required"] },
      { passwords: "x", password: ["[redacted password]", "required"] },
    ],
    [{ db: { pwd: { value: "hunter2" } } }, { db: { pwd: { value: "[redacted password]" } } }],
    [[{ key: "API_KEY", value: "9f86d081884c7d65" }], [{ key: "API_KEY", value: "[redacted key]" }]],
    [{ sig: "9f86d081884c7d659a2f", signature: "9f86d081884c7d659a2f" }, null],
    [{ key: "9f86d081884c7d65", compass: "north-12", value: "9f86d081884c7d65" }, null],
    [{ token: "2026-03-01T12:00:00Z", maxTokens: 4096, apiKey: null, secret: true }, null],
  ])("%j", (given, expected) => {
    expect(json(given)).toEqual(expected ?? given);
  });
});

test.each(HARMLESS)("replaces nothing in %s", (_, given) => {
  expect(text(given)).toBe(given);
  const value: unknown = isJson(given) ? JSON.parse(given) : { text: given };
  expect(json(value as never)).toBe(value);
});

function isJson(given: string): boolean {
  try {
    JSON.parse(given);
    return true;
  } catch {
    return false;
  }
}

/** Generates texts that match the pattern as a whole, from the pattern's own characters. */
const bare = (pattern: RegExp): RegExp => {
  const source = pattern.source.replaceAll(/\(\?<?!(?:\\.|\[[^\]]*\]|[^)])*\)|\\b/g, "");
  return new RegExp(`^(?:${source.replaceAll("\\s*", " ?")})$`, pattern.flags.replace(/[gim]+/g, ""));
};

/** These accept `SG.a.bc` as a key; cairn's rules require about as many characters as real keys have. */
const isShorter = (pattern: RegExp): boolean => /SG|\\\.\[[^\]]+\]\{1,/.test(pattern.source);
/** Rules that verify a checksum or structure, which random texts do not have; the probes cover them. */
const CONTEXT_RULES: ReadonlySet<string> = new Set(["privatekey", "1password"]);

/** Realistic samples: a URL has no quotes, a token is longer than a word, and a Slack token has digits. */
const isPlainToken = (token: string): boolean =>
  token.includes("://") ? !/["'<>[\]]/.test(token) : token.length >= 20 && !/^xox[^\d]*$/.test(token);

describe("the maintained rules", () => {
  const tried = MAINTAINED.filter(({ name, patterns }) => patterns.length > 0 && !CONTEXT_RULES.has(name));

  test("are known to this test by name", () => {
    expect(MAINTAINED.length).toBeGreaterThanOrEqual(25);
    expect(tried.length).toBeGreaterThanOrEqual(22);
  });

  test.each(
    tried.flatMap(({ name, patterns }) =>
      patterns.filter((each) => !isShorter(each)).map((pattern) => [name, pattern] as const),
    ),
  )("find nothing after redaction: %s %s", (name, pattern) => {
    let made = 0;
    fc.assert(
      fc.property(fc.stringMatching(bare(pattern)), (token) => {
        if (!isPlainToken(token)) return;
        const given = `it was ${token} then`;
        const finds = MAINTAINED.filter((rule) => rule.finds(given));
        made += finds.some((rule) => rule.name === name) ? 1 : 0;
        const clean = text(given);
        expect(finds.filter((rule) => rule.finds(clean)).map((rule) => `${rule.name}: ${given}`)).toEqual([]);
      }),
      { numRuns: 40 },
    );
    expect(made).toBeGreaterThan(0);
  });
});
