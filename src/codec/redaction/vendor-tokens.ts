/**
 * Redacts tokens whose vendor gives them a recognizable format: a prefix, then a known number of known characters. All
 * formats are one pattern, so a text is read once. A test compares this table with a maintained rule set.
 *
 * Each alternative takes linear time: what follows a prefix has a fixed length, or is read to its end and then matches.
 */

/** A token may follow anything but a letter or digit, or an escape such as `\n` or `%20`. */
const BEFORE = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]|%[0-9A-Fa-f]{2}))`;
/** A token of that length contains a digit; words joined by `-` do not. */
const DIGIT = String.raw`(?=[\w-]{0,64}\d)`;

/** A token of that length has letters of both cases and a digit; words joined by `-` do not. */
const MIXED = String.raw`(?=[\w-]{0,34}\d)(?=[\w-]{0,34}[A-Z])(?=[\w-]{0,34}[a-z])`;

type Tokens = readonly (readonly [name: string, alternatives: readonly string[]])[];

/** If two alternatives match, the first one gives the name. */
const TOKENS: Tokens = [
  ["cairn-token", ["cairn_[0-9a-f]{16}_[0-9a-f]{64}"]],
  ["aws-access-key", ["(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"]],
  ["aws-bedrock-key", ["ABSK[A-Za-z0-9+/]{60,}={0,2}", "bedrock-api-key-[A-Za-z0-9+/=]{40,}"]],
  ["stripe-key", ["(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}", "whsec_[A-Za-z0-9+/]{24,}={0,2}"]],
  ["github-token", [String.raw`gh[pousr]_[\w.-]{36,}`, String.raw`github_pat_\w{22,}`]],
  ["slack-token", [String.raw`(?:xox[abcdeoprs]|xapp)-${DIGIT}[\w%.-]{10,}`]],
  ["gitlab-token", [String.raw`gl(?:pat|ptt|dt|rt|cbt|ft|imt|agent|soat|oas|ffct)-[\w.-]{20,}`]],
  ["google-token", [String.raw`AIza[\w-]{35}`, String.raw`ya29\.[\w-]{20,}`, String.raw`1//0[\w-]{20,}`]],
  ["google-token", [String.raw`GOCSPX-[\w-]{20,}`]],
  ["npm-token", [String.raw`npm_\w{30,}`]],
  ["pypi-token", [String.raw`pypi-${DIGIT}[\w-]{16,}`]],
  ["package-token", ["rubygems_[0-9a-f]{48}", "cio[A-Za-z0-9]{32}(?![A-Za-z0-9])", "oy2[a-z0-9]{43}(?![A-Za-z0-9])"]],
  ["package-token", ["CLOJARS_[a-z0-9]{60}", "AKCp[A-Za-z0-9]{60,}", "cmVmdGtu[A-Za-z0-9]{50,}"]],
  ["docker-token", [String.raw`dckr_[a-z]{3}_[\w-]{20,}`]],
  ["twilio-key", ["SK[0-9a-f]{32}(?![A-Za-z0-9])"]],
  ["sendgrid-key", [String.raw`SG\.[\w-]{12,}\.[\w-]{16,}`]],
  ["mail-key", ["key-[0-9a-f]{32}(?![A-Za-z0-9])", String.raw`[0-9a-f]{32}-us\d{1,2}(?!\w)`, "xkeysib-[0-9a-f]{64}"]],
  ["mail-key", [String.raw`[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])`, "re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{16,}"]],
  ["shopify-token", ["shp(?:at|ca|pa|ss|ua)_[A-Za-z0-9]{32,}"]],
  ["square-token", [String.raw`sq0[a-z]{3}-[\w-]{22,}`, String.raw`EAAA[\w-]{60}(?![\w-])`]],
  ["discord-token", [String.raw`[MNO]${DIGIT}[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}`]],
  // In the address of the interface `bot` is before it.
  ["telegram-token", [String.raw`(?:bot)?\d{8,10}:(?:AA|${MIXED}[\w-]{2})[\w-]{33}(?![\w-])`]],
  ["openai-session", [String.raw`sess-${DIGIT}[A-Za-z0-9]{32,}`]],
  ["newrelic-key", ["NR(?:AK|II|JS|BR|IQ|AA)-[A-Za-z0-9-]{19,}", "[0-9a-f]{36}NRAL"]],
  ["heroku-key", [String.raw`HRKU-[\w-]{30,}`]],
  ["digitalocean-token", ["do[opr]_v1_[0-9a-f]{64}"]],
  ["linear-key", [String.raw`lin_(?:api|oauth|wh)_\w{32,}`]],
  ["notion-token", ["ntn_[A-Za-z0-9]{40,}", "secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])"]],
  ["atlassian-token", [String.raw`AT(?:ATT3|CTT3|BB|STT3)[\w=-]{28,}`]],
  ["vault-token", [String.raw`hv[sbr]\.${DIGIT}[\w-]{20,}`, String.raw`[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}`]],
  ["databricks-token", [String.raw`d(?:api|ose|kea)[A-Fa-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])`]],
  ["supabase-key", ["sbp_[0-9a-f]{40}", String.raw`sb_secret_[\w-]{20,}`]],
  ["vercel-token", ["vc[picrk]_[A-Za-z0-9]{20,}", "vca_[A-Za-z0-9]{20,}"]],
  ["cloudflare-token", ["cf(?:k|ut|at)_[A-Za-z0-9]{40,}", String.raw`v1\.0-[0-9a-f]{24}-[0-9a-f]{146}`]],
  ["azure-secret", [String.raw`[\w~.-]{3}\dQ~[\w~.-]{31,34}`]],
  ["service-token", ["ops_ey[A-Za-z0-9+/=]{60,}", String.raw`figd_[\w-]{40,}`]],
  ["tailscale-key", [String.raw`tskey-[a-z]{2,20}-\w{8,40}-\w{16,}`]],
  ["grafana-token", ["glc_[A-Za-z0-9+/]{32,}={0,2}", "glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"]],
  ["sentry-token", [String.raw`sntr(?:ys|yu)_[\w+/=-]{40,}`]],
  ["database-token", [String.raw`pscale_(?:tkn|pw|oauth)_[\w.-]{20,}`, "napi_[a-z0-9]{40,}"]],
  ["postman-key", ["PMAK-[0-9a-f]{24}-[0-9a-f]{34}"]],
  [
    "model-key",
    ["(?:gsk|hf)_[A-Za-z0-9]{30,}", "r8_[A-Za-z0-9]{37,}", String.raw`pcsk_\w{40,}`, String.raw`nvapi-[\w-]{40,}`],
  ],
  ["model-key", [String.raw`lsv2_(?:pt|sk)_\w{32,}`, String.raw`tgp_v1_[\w-]{40,}`, "csk-[a-z0-9]{40,}"]],
  [
    "model-key",
    ["sk_[0-9a-f]{48}", "fw_[A-Za-z0-9]{22,}", "BSA[A-Za-z0-9_-]{27}(?![A-Za-z0-9_-])", String.raw`tvly-[\w-]{28,}`],
  ],
  ["api-key", [String.raw`sk-${DIGIT}[\w-]{20,}`, String.raw`(?:xai|pplx)-${DIGIT}[\w-]{20,}`]],
  [
    "deployment-token",
    [
      String.raw`nfp_\w{36,}`,
      "rnd_[A-Za-z0-9]{28,}",
      String.raw`fm\d[a-z]?_[\w+/=-]{60,}`,
      String.raw`dp\.[a-z]{2,5}\.[\w.-]{40,}`,
    ],
  ],
  [
    "deployment-token",
    ["pul-[0-9a-f]{40}", String.raw`CCIP(?:AT|RJ)_[\w-]{40,}`, "bkua_[0-9a-f]{40}", "sq[upa]_[0-9a-f]{40}"],
  ],
  [
    "crm-token",
    [
      String.raw`pat-(?:na|eu)\d-[0-9a-f-]{36}`,
      String.raw`pat[A-Za-z0-9]{14}\.[0-9a-f]{64}`,
      String.raw`CFPAT-[\w-]{43}`,
    ],
  ],
  [
    "payment-key",
    [String.raw`access-(?:sandbox|development|production)-[0-9a-f-]{36}`, "FLWSECK(?:_TEST)?-[a-z0-9-]{32,}"],
  ],
  [
    "payment-key",
    [String.raw`access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[0-9a-f]{32}`, "EZ[AT]K[a-z0-9]{54}"],
  ],
  [
    "social-token",
    [
      String.raw`EAA[A-Za-z0-9]{90,}`,
      String.raw`A{21}[A-Za-z0-9]{0,40}%[23][A-F\d][\w%]{20,}`,
      String.raw`sl\.[\w-]{100,}`,
    ],
  ],
  ["dynatrace-token", [String.raw`dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}`]],
  ["mapbox-token", [String.raw`sk\.eyJ[\w-]{10,}\.[\w-]{10,}`]],
  ["age-key", ["AGE-SECRET-KEY-1[A-Z0-9]{50,}"]],
  ["password-hash", [String.raw`\$(?:1|2[abxy]|5|6|y|apr1|argon2id?)\$[\w./$=,+-]{20,}`]],
];

/** A character, an escape or a class, with a least number of repetitions. */
const COUNTED = /(\[(?:\\.|[^\]\\])*\]|\\.|[A-Za-z0-9])\{(\d+),\}/g;

/**
 * The source of a pattern for texts of any length. V8 keeps a place to go back to for each repetition that it counts, and
 * throws a `RangeError` after some five million: so `\w{20,}` fails within 8 MB of one word. `\w{20}\w*` means the same,
 * and counts to 20.
 */
export const uncountedSource = (source: string): string => source.replaceAll(COUNTED, "$1{$2}$1*");

export const uncounted = (pattern: RegExp): RegExp => new RegExp(uncountedSource(pattern.source), pattern.flags);

const joined = (all: Tokens): string => all.flatMap(([, alternatives]) => alternatives).join("|");

const ANY = new RegExp(uncountedSource(`${BEFORE}(?:${joined(TOKENS)})`), "g");
const EACH = TOKENS.map(([name, alternatives]) => ({
  name,
  is: new RegExp(uncountedSource(`^(?:${alternatives.join("|")})$`)),
}));

/** The least characters of a token. */
const CHARACTERS_MIN = 15;
/** The characters of tokens, and of what may be directly before one. */
const OF_TOKENS = flagsOf("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~%$=,+/:\\-");

function flagsOf(characters: string): Uint8Array {
  const flags = new Uint8Array(128);
  for (const each of characters) flags[each.charCodeAt(0)] = 1;
  return flags;
}

/** The text with every vendor token replaced by a reference. Only long rows of the characters of tokens are searched. */
export function withoutTokens(text: string): string {
  const isOne = (at: number): boolean => OF_TOKENS[text.charCodeAt(at)] === 1;
  const parts: string[] = [];
  let done = 0;
  // A row of so many characters contains one of these places.
  for (let at = CHARACTERS_MIN - 1; at < text.length; at += CHARACTERS_MIN) {
    if (!isOne(at)) continue;
    let from = at;
    while (from > done && isOne(from - 1)) from -= 1;
    let to = at + 1;
    while (isOne(to)) to += 1;
    at = to;
    if (to - from < CHARACTERS_MIN) continue;
    const row = text.slice(from, to);
    const clean = withoutTokensIn(row);
    if (clean === row) continue;
    parts.push(text.slice(done, from), clean);
    done = to;
  }
  return done === 0 ? text : parts.join("") + text.slice(done);
}

const withoutTokensIn = (row: string): string =>
  row.replace(ANY, (found: string) => `[redacted ${EACH.find(({ is }) => is.test(found))?.name ?? "api-key"}]`);
