/**
 * Redaction takes time in proportion to the length of the text, whatever the text contains. Times are compared with one
 * another and never with a clock: four times the text with the text itself, and each text with an ordinary one. Nothing
 * but time shows what a regular expression does, so these tests play at night, on a machine that does nothing else.
 */
import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { type Redaction, redactionOf } from "../../src/codec/redaction/redaction.ts";

const SECRETS = Array.from({ length: 512 }, (_, index) => ({
  name: `S${index}`,
  value: `sk-ant-api03-${index * 7_919_317}`,
}));
const none = redactionOf([]);
const many = redactionOf(SECRETS);

const CHARACTERS = 24_000;
const ROUNDS = 5;
/** Four times the text takes 4 times as long if linear, and 16 times if quadratic. */
const RATIO_MAX = 10;
/** Shorter times cannot be measured reliably. */
const NOISE_MS = 3;
/** The most that any text may cost in relation to an ordinary text. */
const DEARER_MAX = 40;
const MEGABYTE = 1_000_000;

const filled = (unit: string, characters: number): string => unit.repeat(Math.ceil(characters / unit.length));

/** The minimum of several rounds, because other processes take time as well. */
function medianMs(work: () => unknown): number {
  const times = Array.from({ length: ROUNDS }, () => {
    const { user, system } = process.cpuUsage();
    work();
    const spent = process.cpuUsage({ user, system });
    return (spent.user + spent.system) / 1_000;
  });
  return times.toSorted((one, other) => one - other)[Math.floor(ROUNDS / 2)] ?? 0;
}

function expectLinear(make: (size: number) => () => unknown): void {
  const [one, four] = [medianMs(make(1)), medianMs(make(4))];
  expect((four + NOISE_MS) / (one + NOISE_MS)).toBeLessThan(RATIO_MAX);
}

const ofText = (unit: string, redaction: Redaction) => (size: number) => () =>
  redaction.text(filled(unit, size * CHARACTERS));

/** Each begins a pattern that never completes, or completes only at its last character. */
const UNITS: readonly string[] = [
  ...["A", "1", " ", "\n", "\\", '\\\\"', "x…", "[redacted ", "[redacted x]", "[secret A]password", "0123456789abcdef"],
  ...["eyJ", "eyJa-", "eyJaaaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nab"],
  ...[
    "://",
    "://a:",
    "://a:a",
    "postgres://a:a",
    "postgres://a:a@",
    "https://aaaaaaaaaaaaaaaaaaaaaa",
    "jdbc:oracle:thin:a/",
  ],
  ...[
    "sk-",
    "sk-a1",
    "xoxb-",
    "xoxb-a1",
    "ghs_1_",
    "ghs_1_a.",
    "SG.",
    "SG.aaaaaaaaaaaaa",
    "EAAA",
    "AAAAAAAA",
    "M1.",
    "hvs.",
    "$2b$",
  ],
  ...[
    "bearer ",
    "bearer a1",
    "basic a",
    "basic YWRhOmxvdmVsYWNl ",
    "curl -u a:",
    "mysql ",
    "mysql -p",
    "sshpass -p ",
    "hooks.slack.com/services/",
  ],
  ...[
    "token=",
    "token:",
    "token=a1",
    'token="',
    'token="a ',
    "token=2024-01-01 ",
    "next_token=",
    "a_token=a1b2c3d4e5 ",
    "&sig=",
    "?sig=aaaa",
  ],
  ...[
    "password=",
    'password="',
    "password='\"",
    'password=\\"',
    "password: ",
    "password: x.y.z(",
    "password = ab,",
    "password=a1b2c3 ",
  ],
  ...[
    "<password>",
    "<password>a",
    "password >",
    "password is ",
    "--password ",
    "login a password ",
    "name: password value:",
    "identified by '",
  ],
  ...[
    "Cookie: a=",
    "Cookie: a=bcde",
    "Authorization: ",
    'Authorization: ="',
    "authorization:a1b2c3d4e5f6 ",
    "session",
    "sess",
    "passpass:",
  ],
  ...[
    "%22password%22%3A%22",
    "password&quot;:&quot;",
    "aws_secret_access_key=",
    "password: |\n ",
    "AccountKey=",
    "aB",
    "abcdefgh1.",
    "aa-",
    "Aa",
  ],
  // Credentials that are found, one directly after the other, and what is encoded.
  ...["://a:b@", "://a:b@ ", "https://a:b@h ", "password=hunter2x ", "AKIAIOSFODNN7EXAMPLE ", "secret key ", "MIIE"],
  ...["Private-Lines: 1\n", "Private-Lines: 1\nAAAA", "b3BlbnNzaC1rZXktdj", "sess-a1", "12345678:", "bot12345678:AA"],
  ...[
    "%41",
    "%2541",
    "\\u0041",
    "\\u0022",
    "&#65;",
    "&#x41;",
    "&amp;",
    "QUJDREVGR0hJSktM",
    "QUJDREVGR0hJSktMQUJDREVG\n",
  ],
  ...[
    "cGFzc3dvcmQ9aHVudGVyMmh1bnRlcg==",
    "cGFzc3dvcmQ9aHVudGVyMmh1bnRlcg== ",
    "%70%61%73%73%77%6f%72%64%3d%68%75%6e%74%65%72%32 ",
  ],
];

describe("a text", () => {
  test.each(UNITS)("is redacted in linear time: %j", (unit) => {
    expectLinear(ofText(unit, none));
  });

  test("of any such unit is redacted in linear time when secrets are declared, too", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...UNITS), { minLength: 2, maxLength: 6 }), (units) => {
        expectLinear(ofText(units.join(""), many));
      }),
      { numRuns: 12 },
    );
  });

  test("costs about as much as any other, whatever it contains", () => {
    const ordinary = medianMs(ofText('the tool said {"city": "Oslo", "tempC": -3} and was done. ', none)(4));
    for (const unit of UNITS) {
      expect({
        unit,
        isCheap: (medianMs(ofText(unit, none)(4)) + NOISE_MS) / (ordinary + NOISE_MS) < DEARER_MAX,
      }).toEqual({
        unit,
        isCheap: true,
      });
    }
  });

  test.each(["S", "sk-ant-api03-", "sk-ant-api03-79193", "0a", "c2stYW50LWFwaTAz", "736b2d616e742d", "sk-ant-api03-…"])(
    "is searched for 512 values in time that grows with it: %j",
    (unit) => {
      expectLinear(ofText(unit, many));
    },
  );
});

describe("a megabyte of credentials", () => {
  let accounts = "";
  for (let index = 0; accounts.length < MEGABYTE; index += 1) accounts += `://a${index}:b@`;

  test.each([
    ["that are all the same", filled("://a:b@", MEGABYTE)],
    ["that all differ", accounts],
    ["that are passwords", filled("password=hunter2x ", MEGABYTE)],
    ["in base64", filled("cGFzc3dvcmQ9aHVudGVyMmh1bnRlcg== ", MEGABYTE)],
  ])("takes half of the time of two, %s", (_, one) => {
    const ofTexts = (size: number) => () => none.text(one.repeat(size));
    const [first, both] = [medianMs(ofTexts(1)), medianMs(ofTexts(2))];
    expect((both + NOISE_MS) / (first + NOISE_MS)).toBeLessThan(3);
  });
});

const fieldsOf = (count: number, field: (index: number) => readonly [string, unknown]): never =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => field(index))) as never;

describe("JSON", () => {
  test.each<readonly [what: string, make: (size: number) => never]>([
    [
      "names that are credentials",
      (size) => fieldsOf(size * 1_000, (index) => [`sk-ant-api03-0123456789abcdefghij${index}`, index]),
    ],
    ["names that become the same", (size) => fieldsOf(size * 1_000, (index) => [`password=hunter2hunter${index}`, 1])],
    [
      "passwords",
      (size) => fieldsOf(size * 1_000, (index) => [`password${index}`, { password: `hunter2hunter${index}` }]),
    ],
    [
      "pairs",
      (size) => Array.from({ length: size * 1_000 }, () => ({ name: "token", value: "a1b2c3d4e5f6a7b8" })) as never,
    ],
    [
      "depth",
      (size) => Array.from({ length: size * 12 }).reduce((inner) => ({ password: [inner] }), "hunter2hunter2") as never,
    ],
  ])("is redacted in linear time: %s", (_, make) => {
    expectLinear((size) => {
      const json = make(size);
      return () => none.json(json);
    });
  });
});
