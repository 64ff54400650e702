/**
 * Decides whether a text after a name such as `password` or `token` is a secret. Most are not: a type, a placeholder, a
 * status, or code that reads the secret from elsewhere. Only the first characters count, so each decision costs the
 * same.
 */

/** What kind of value a field's name promises. */
export type FieldKind = "password" | "pass" | "token" | "session" | "auth" | "authorization" | "cookie";

/** At most this many characters of a value are examined. */
export const JUDGED_CHARACTERS = 256;

const PASSWORD_CHARACTERS_MIN = 6;

/** Whether `value`, which has no white space, is a secret. `isCode`: it has no quotes, so it may be source code. */
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

/** Whether `found` is the base64 of `name:password`. */
export function isNameAndPassword(found: string): boolean {
  if (!/^[A-Za-z0-9+/]{6}[A-Za-z0-9+/]*={0,2}$/.test(found)) return false;
  return /^[\x20-\x7e]{1,128}:[\x20-\x7e]{1,512}$/.test(Buffer.from(found, "base64").toString("latin1"));
}

/** Whether a text is as long and mixed as a random token. */
export function isSecretLike(value: string): boolean {
  if (value.length < 8) return false;
  if (/\d/.test(value)) {
    if (!/[A-Za-z]/.test(value)) return false;
  } else if (value.length >= 16) {
    // More consecutive lower-case letters than any word has, or many groups of upper-case letters.
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

/** Whether the value has letters and also a character that no word has. */
const isMixed = (value: string, charactersMin: number): boolean =>
  value.length >= charactersMin && /[A-Za-z]/.test(value) && /[\d!@#$%^&*?+~]/.test(value);

const NO_SECRETS: readonly RegExp[] = [
  // Numbers, times, versions.
  /^v?[\d\s.:TZ+_-]+$/,
  /^\d+(?:\.\d+)*[a-z]{1,8}$/i,
  // URLs, paths and addresses: where a secret is kept, not the secret.
  /^[a-z][a-z0-9+.-]{1,12}:\/\//i,
  /^(?:\.{0,2}\/)?(?:[a-z][a-z0-9_.-]*\/)+[a-z0-9_.:-]*$/,
  /^[\w.+-]+@[\w-]+\.[\w.-]+$/,
  // Words. The end of each part is unambiguous; otherwise the pattern could backtrack exponentially.
  /^(?:[A-Z][a-z]{2,}|[a-z]+)(?:[A-Z][a-z]{2,}|[-_. ](?:[A-Z][a-z]*|[a-z]+))*\d{0,4}$/,
  /^[A-Z]+(?:[-_. ][A-Z]+)*\d{0,4}$/,
];

/** Identifiers that are not secret: UUIDs and run IDs. */
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

/** Source code instead of a value: a call, a member access, or the name of a variable. */
const CODE =
  /^(?:await$|async$|function|new$|return$|[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][A-Za-z_$]*)*[([{]|[A-Za-z_$][A-Za-z_$]*(?:\??\.[A-Za-z_$][A-Za-z_$]*)+[;,)}]*$|[A-Za-z_$]*(?:password|passwd|pass|pwd|secret|token|key|hash|input|value|field|arg|param)s?[;,)}\]]*$|[A-Za-z_$]+[;,)}]+$)/i;
