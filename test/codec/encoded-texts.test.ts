/** Secrets in texts that are encoded within a text, keys without a name, and what looks like them. */
import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { redactionOf } from "../../src/codec/redaction/redaction.ts";

const DECLARED = "declared-value-77x";
const { text, json } = redactionOf([{ name: "TOKEN", value: DECLARED }]);

const base64 = (plain: string, as: BufferEncoding = "utf8"): string => Buffer.from(plain, as).toString("base64");
const lines = (one: string, length: number, end: string): string =>
  one.replaceAll(new RegExp(`.{${length}}(?=.)`, "g"), `$&${end}`);
const each = (plain: string, encode: (code: number) => string): string =>
  Array.from(plain, (character) => encode(character.charCodeAt(0))).join("");
const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, "0");
const quotes = (plain: string, quote: string): string => plain.replaceAll('"', quote);

/** How a text is encoded within another one. */
const ENCODINGS: readonly (readonly [how: string, encode: (plain: string) => string])[] = [
  ["base64", (plain) => base64(plain)],
  ["base64 for addresses", (plain) => Buffer.from(plain).toString("base64url")],
  ["base64 with lines as in mail", (plain) => lines(base64(plain), 76, "\r\n")],
  ["base64 with lines as of base64(1)", (plain) => lines(base64(plain), 64, "\n")],
  ["base64 with indented lines, as in YAML", (plain) => lines(base64(plain), 60, "\n    ")],
  ["base64 with escaped lines, as in JSON", (plain) => lines(base64(plain), 60, String.raw`\n`)],
  ["base64 of UTF-16, as of PowerShell", (plain) => base64(plain, "utf16le")],
  ["base64 of UTF-16 with a byte order mark", (plain) => base64(`\ufeff${plain}`, "utf16le")],
  ["base64 of UTF-16 with lines", (plain) => lines(base64(plain, "utf16le"), 76, "\n")],
  ["base64 of base64", (plain) => base64(base64(plain))],
  ["escapes of JSON", (plain) => each(plain, (code) => `\\u${hex(code, 4)}`)],
  ["escapes of JSON within JSON", (plain) => each(plain, (code) => `\\\\u${hex(code, 4).toUpperCase()}`)],
  ["decimal entities", (plain) => each(plain, (code) => `&#${code};`)],
  ["hexadecimal entities", (plain) => each(plain, (code) => `&#x${hex(code, 2)};`)],
  ["percent signs", (plain) => each(plain, (code) => `%${hex(code, 2).toUpperCase()}`)],
  ["percent signs in lower case", (plain) => each(plain, (code) => `%${hex(code, 2)}`)],
  ["percent signs, twice", (plain) => each(plain, (code) => `%25${hex(code, 2)}`)],
];

/** A secret within a text, and the text around it. */
const SECRETS: readonly (readonly [what: string, plain: string, secret: string])[] = [
  [
    "a password in JSON",
    '{"user":"ada","password":"hunter2hunter","note":"and so on, for some more words"}',
    "hunter2hunter",
  ],
  [
    "a key of a vendor",
    "the key is sk-ant-api03-0123456789abcdefghij and it is valid",
    "sk-ant-api03-0123456789abcdefghij",
  ],
  ["a declared value", `the value is ${DECLARED}, and more words follow behind it`, DECLARED],
];

describe.each(SECRETS)("%s", (_, plain, secret) => {
  test.each(ENCODINGS)("is found in %s", (__, encode) => {
    const clean = text(`it printed ${encode(plain)} and ended`);
    expect(clean).toMatch(/^it printed .*(?:\[redacted [a-z-]+\]|\[secret TOKEN\]).* and ended$/s);
    // No encoding of the secret, and none of most of it, is left.
    for (const [, other] of ENCODINGS) expect(clean).not.toContain(other(secret).slice(4, -4));
    expect(text(clean)).toBe(clean);
    expect(json({ output: encode(plain) })).not.toEqual({ output: encode(plain) });
  });

  test.each(ENCODINGS)("leaves what is around it in %s", (how, encode) => {
    if (how === "base64 of base64") return;
    const [begin = ""] = encode(plain.slice(0, 8)).split("=");
    expect(text(encode(plain)).startsWith(begin.slice(0, 9))).toBe(true);
  });
});

describe("words on the lines around base64", () => {
  const AROUND: readonly (readonly [what: string, around: (encoded: string) => string])[] = [
    ["behind it", (encoded) => `${encoded}\nThanks for all`],
    ["before it", (encoded) => `config/production/secrets-of-all\n${encoded}`],
    ["before it, longer than it", (encoded) => `${"config/production/".repeat(8)}\n${encoded}`],
    ["on both sides, escaped", (encoded) => String.raw`config/production/secrets-of-all\n${encoded}\ndone`],
    ["behind its lines", (encoded) => `${lines(encoded, 20, "\n")}\nThanks for all`],
  ];

  test.each(AROUND)("hide no secret in it: %s", (_, around) => {
    // Base64 without padding ends with any of these lengths.
    for (const end of ["", "x", "xy"]) {
      const encoded = base64(`config: password=hunter2hunter, ${end}`).replace(/=+$/, "");
      const clean = text(around(encoded));
      expect({ end, clean }).toEqual({ end, clean: expect.stringContaining("[redacted password]") });
      expect(text(clean)).toBe(clean);
    }
  });

  test("stay as they are", () => {
    const given = `config/production/secrets-of-all\n${base64("only a few words of a plain text")}\nThanks`;
    expect(text(given)).toBe(given);
  });
});

describe("escaped quotes around a name and a value", () => {
  test.each([String.raw`\u0022`, String.raw`\\u0022`, "&#34;", "&#x22;", "&quot;", "%22", "%2522"])(
    "are read: %s",
    (quote) => {
      const clean = text(quotes('{"password":"hunter2hunter"}', quote));
      expect(clean).toContain("[redacted password]");
      expect(clean).not.toContain("hunter2");
    },
  );
});

describe("a private key", () => {
  const { privateKey: rsa, publicKey: rsaPublic } = generateKeyPairSync("rsa", { modulusLength: 1_024 });
  const { privateKey: curve, publicKey: curvePublic } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { privateKey: edwards, publicKey: edwardsPublic } = generateKeyPairSync("ed25519");
  const bytes = { format: "der", type: "pkcs8" } as const;
  const KEYS: readonly (readonly [what: string, base64: string])[] = [
    ["RSA", rsa.export(bytes).toString("base64")],
    ["RSA, PKCS #1", rsa.export({ format: "der", type: "pkcs1" }).toString("base64")],
    ["EC", curve.export(bytes).toString("base64")],
    ["EC, SEC 1", curve.export({ format: "der", type: "sec1" }).toString("base64")],
    ["Ed25519", edwards.export(bytes).toString("base64")],
    ["a file of RSA", base64(rsa.export({ format: "pem", type: "pkcs8" }).toString())],
    ["a file of EC", base64(curve.export({ format: "pem", type: "sec1" }).toString())],
    ["OpenSSH", base64(`openssh-key-v1\0${randomBytes(90).toString("hex")}`)],
  ];

  test.each(KEYS)("as base64 is replaced: %s", (_, key) => {
    const clean = text(`KEY_B64 was ${key} then`);
    expect(clean).toContain("[redacted private-key]");
    expect(clean).not.toContain(key.slice(30, 60));
  });

  test.each<readonly [what: string, end: string]>([
    ["as it is", "\n"],
    ["as on Windows", "\r\n"],
    ["within JSON", String.raw`\n`],
    ["within JSON, of Windows", String.raw`\r\n`],
  ])("in a file of PuTTY is replaced, and its public part stays: %s", (_, end) => {
    const [open, secret] = [
      base64("public part of the key, and more"),
      lines(randomBytes(90).toString("base64"), 64, end),
    ];
    const file = [
      ...["PuTTY-User-Key-File-3: ssh-ed25519", "Encryption: none", "Comment: ada@loom"],
      ...["Public-Lines: 1", open, "Private-Lines: 2", secret, `Private-MAC: ${"0123456789abcdef".repeat(4)}`],
    ].join(end);
    const clean = text(file);
    expect(clean).toContain(`${open}${end}Private-Lines: 2`);
    expect(clean).toContain("[redacted private-key]");
    for (const line of secret.split(end)) expect(clean).not.toContain(line);
    expect(clean).toContain("Private-MAC");
  });

  test("is no public key, certificate, signature or digest", () => {
    const open = { format: "der", type: "spki" } as const;
    const harmless = [rsaPublic, curvePublic, edwardsPublic].map((key) => key.export(open).toString("base64"));
    harmless.push(rsaPublic.export({ format: "der", type: "pkcs1" }).toString("base64"));
    harmless.push(
      `MEUCIQ${"Dabc9".repeat(18)}`,
      `MIIDXTCCAkWgAwIBAgIJAJC1HiIAZAiI${"MA0GCSqGSIb3DQEBBQUAMEUx".repeat(8)}`,
    );
    for (const each of harmless) expect(text(`it is ${each} then`)).toBe(`it is ${each} then`);
  });
});

const AWS = "wJalrXUtnFEMI0K7MDENG/bPxRfiCYEXAMPLEKEY";
const TELEGRAM = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1";

describe("a token", () => {
  test.each([
    ["a bot of Telegram in an address", `https://api.telegram.org/bot${TELEGRAM}/sendMessage`, TELEGRAM],
    ["a bot of Telegram", `TELEGRAM ${TELEGRAM}.`, TELEGRAM],
    [
      "a bot of Telegram of another series",
      "bot 987654321:Bk3dqTcvCH1vGWJxfSeofSAs0K5PALDsaw1",
      "Bk3dqTcvCH1vGWJxfSeofSAs0K5PALDsaw1",
    ],
    ["a session of OpenAI", `auth: sess-${"aB3dE6gH9j".repeat(4)}`, "aB3dE6gH9j"],
    ["a secret of AWS behind its name", `aws_secret_access_key ${AWS}`, AWS],
    ["a secret of AWS in quotes behind its name", `AWS_SECRET_ACCESS_KEY "${AWS}"`, AWS],
    ["a secret of AWS in a table", `| Secret access key | ${AWS} |`, AWS],
    ["a secret of AWS in a sentence", `the secret access key is ${AWS}`, AWS],
    ["a secret of AWS behind a tab", `SecretAccessKey\t${AWS}`, AWS],
    ["a secret of AWS behind its key", `AKIAIOSFODNN7EXAMPLE,${AWS}`, AWS],
    ["a secret of AWS in the line below its key", `AKIAIOSFODNN7EXAMPLE\n${AWS}\n`, AWS],
  ])("is replaced: %s", (_, given, secret) => {
    const clean = text(given);
    expect(clean).toContain("[redacted ");
    expect(clean).not.toContain(secret);
    expect(text(clean)).toBe(clean);
  });
});

const sha1 = createHash("sha1").update("x").digest("hex");

describe("what looks like a secret", () => {
  test.each([
    ["a picture in base64", base64(randomBytes(600).toString("latin1"), "latin1")],
    ["a text in base64", base64("The weather in Oslo is fine, and nothing here is secret at all.")],
    ["a text in base64 with lines", lines(base64("The weather in Oslo is fine. ".repeat(12)), 76, "\n")],
    ["a text of UTF-16 in base64", base64("Get-ChildItem -Path C:\\Users | Sort-Object", "utf16le")],
    ["a path", "src/codec/redaction/credential-fields and node_modules/some-package/dist/index"],
    ["an address with percent signs", "https://example.org/search?q=caf%C3%A9%20in%20Oslo&lang=%6E%6F"],
    ["broken percent signs", "100 %zz %E0%A4%A (%) %2"],
    ["escapes of JSON", String.raw`caf\u00e9 \ud83d\ude00 \u12 \uXYZW`],
    ["entities of HTML", "Tom &amp; Jerry &#169; 2026 &#x1F600; &#99999999; &unknown;"],
    ["a digest next to the name of a secret", `the secret key ${sha1} was rotated`],
    ["a digest behind a key's name", `secret access key: see ${sha1}`],
    ["a time and a name of 35 characters", "1700000000:some-long-name-of-a-resource-in-here"],
    ["words about a session", "sess-management-of-the-application-and-its-users"],
    ["words about a private key", "the private key is kept in the vault, and Private-Lines: none"],
    ["a run of one letter", "M".repeat(400)],
  ])("stays: %s", (_, given) => {
    expect(text(given)).toBe(given);
    expect(json({ given })).toEqual({ given });
  });
});

test("a text within texts is decoded twice, and no deeper", () => {
  const secret = "the key is sk-ant-api03-0123456789abcdefghij now";
  expect(text(base64(base64(secret)))).toContain("[redacted ");
  const deep = base64(base64(base64(base64(secret))));
  expect(text(deep)).toBe(deep);
});
