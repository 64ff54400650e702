/**
 * Whether a text that stands under a name such as `password` or `token` is a secret. Most are none: a type, a placeholder, a
 * state, code that reads it from elsewhere. Judged by its first characters, so that a judgement costs the same for each text.
 */

/** What a name says about what stands under it. */
export type FieldKind = "password" | "pass" | "token" | "session" | "auth" | "authorization" | "cookie";

/** More of a value is not looked at to judge it. */
export const JUDGED_CHARACTERS = 256;

const PASSWORD_CHARACTERS_MIN = 6;

/** `value` has no white space in it. `isCode`: it stands without quotes, where code may stand. */
export function isSecretValue(kind: FieldKind, value: string, isCode: boolean): boolean {
  if (value.length < PASSWORD_CHARACTERS_MIN || isPlaceholder(value) || (isCode && CODE.test(value))) return false;
  switch (kind) {
    case "password":
      return !/^[\d.:/-]{1,5}$/.test(value);
    case "pass":
      return isMixed(value, PASSWORD_CHARACTERS_MIN);
    case "session":
      return isSecretLike(value) && !IDS.test(value);
    case "auth":
      return isNameAndPassword(value);
    default:
      return isSecretLike(value);
  }
}

/** The base64 of `name:password`. */
export function isNameAndPassword(found: string): boolean {
  if (!/^[A-Za-z0-9+/]{6,}={0,2}$/.test(found)) return false;
  return /^[\x20-\x7e]{1,128}:[\x20-\x7e]{1,512}$/.test(Buffer.from(found, "base64").toString("latin1"));
}

/** Long and mixed as what is drawn at random is. */
export function isSecretLike(value: string): boolean {
  if (value.length < 8) return false;
  if (/\d/.test(value)) {
    if (!/[A-Za-z]/.test(value)) return false;
  } else if (value.length >= 16) {
    // More lower-case letters than words have, or many runs of upper-case ones.
    if (/[a-z]{32}/.test(value)) return true;
    if ((value.match(/[A-Z]+/g)?.length ?? 0) < 4) return false;
  }
  if (NO_SECRETS.some((pattern) => pattern.test(value))) return false;
  return (
    value.length >= 16 || (isMixed(value, 10) && (classesOf(value) >= 3 || (value.match(/\d/g)?.length ?? 0) >= 3))
  );
}

const classesOf = (value: string): number =>
  [/[a-z]/, /[A-Z]/, /\d/, /[^\w-]/].filter((each) => each.test(value)).length;

/** Letters, and something that no word has. */
const isMixed = (value: string, charactersMin: number): boolean =>
  value.length >= charactersMin && /[A-Za-z]/.test(value) && /[\d!@#$%^&*?+~]/.test(value);

const NO_SECRETS: readonly RegExp[] = [
  // Numbers, times, versions.
  /^v?[\d\s.:TZ+_-]+$/,
  /^\d+(?:\.\d+)*[a-z]{1,8}$/i,
  // Addresses and paths of where it is kept.
  /^[a-z][a-z0-9+.-]{1,12}:\/\//i,
  /^(?:\.{0,2}\/)?(?:[a-z][a-z0-9_.-]*\/)+[a-z0-9_.:-]*$/,
  /^[\w.+-]+@[\w-]+\.[\w.-]+$/,
  // Words: each part of a pattern ends where the next one can begin, or a text could be cut in very many ways.
  /^(?:[A-Z][a-z]{2,}|[a-z]+)(?:[A-Z][a-z]{2,}|[-_. ](?:[A-Z][a-z]*|[a-z]+))*\d{0,4}$/,
  /^[A-Z]+(?:[-_. ][A-Z]+)*\d{0,4}$/,
];

/** Names of things: UUIDs and run ids. */
const IDS = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[a-z][a-z0-9-]{0,30}-[a-z2-7]{26})$/i;

const PLACEHOLDERS: readonly RegExp[] = [
  /^(?:arn|urn|vault|ssm|file|env|op|gcp|secretsmanager|azurekeyvault):/i,
  /^\[(?:secret|redacted)/,
  /^(?:<.*>?|\{.*|\[.*|\$\{.*|\$\(.*|\$[A-Z_]\w*|\$[a-z_]+|%[A-Za-z_]\w*%|%[sdv]|:[a-z_]+|@[A-Za-z_.]+)$/,
  /^(.)\1*$/,
  /^[*•.xX#_-]+$/,
  /^(?:your|my|the|some|insert|enter|put|replace|example|sample|dummy|test|fake|placeholder|change)[-_]?(?:your|this|my|me|own)?[-_]?(?:db[-_]?)?(?:pass(?:word|wd)?|pwd|secret|token|api[-_]?key|key|here|value|with)?[-_]?(?:here|key|token|value)?$/i,
];

const WORDS: ReadonlySet<string> = new Set(
  (
    "string str text varchar number integer boolean object array buffer secretstr optional required missing invalid incorrect wrong " +
    "expired undefined null none nil true false hidden masked redacted removed omitted withheld secret secrets password passwords " +
    "passwd passphrase token tokens unknown default enabled disabled bearer basic digest private public protected readonly forgot " +
    "forgotten reset resets changed updated rotated revoked accepted rejected denied failed failure success succeeded needed " +
    "encrypted plaintext hashed cleared mismatch matches should cannot please policy manager prompt strength length value column " +
    "field fields input inputs confirm confirmation current please-enter type-password new-password current-password one-time-code"
  ).split(" "),
);

function isPlaceholder(value: string): boolean {
  const word = value.replace(/[.,;:!?)\]}'"]+$/, "").toLowerCase();
  return WORDS.has(word) || PLACEHOLDERS.some((pattern) => pattern.test(value));
}

/** A call, a member, a name of something that holds it. */
const CODE =
  /^(?:await$|async$|function|new$|return$|[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][A-Za-z_$]*)*[([{]|[A-Za-z_$][A-Za-z_$]*(?:\??\.[A-Za-z_$][A-Za-z_$]*)+[;,)}]*$|[A-Za-z_$]*(?:password|passwd|pass|pwd|secret|token|key|hash|input|value|field|arg|param)s?[;,)}\]]*$|[A-Za-z_$]+[;,)}]+$)/i;
