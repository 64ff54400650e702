/**
 * What looks like a credential, whoever it belongs to: the shapes that their makers give them. Each row has a test of what
 * it hits and of what it must not hit.
 *
 * Texts of 8 MB come from models and tools, so every pattern is linear: a try that may fail reads a bounded number of
 * characters, or can begin only where a run of its characters begins.
 */

export interface Shape {
  /** Stands in the reference that takes its place: lower-case letters and `-`. */
  readonly name: string;
  /** What of the match is the credential: group 1 stays before it. */
  readonly pattern: RegExp;
  /** What a pattern cannot say. */
  readonly is?: (found: string) => boolean;
}

export const SHAPES: readonly Shape[] = [
  { name: "aws-access-key", pattern: /(?<![A-Za-z0-9])()(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])/g },
  {
    name: "aws-secret-key",
    pattern:
      /((?:aws_?)?secret_?(?:access_?)?key\\?["']?\s{0,4}[:=]\s{0,4}\\?["']?)[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])/gi,
  },
  { name: "api-key", pattern: /(?<![A-Za-z0-9])()sk-(?=[\w-]{0,64}\d)[\w-]{20,}/g },
  {
    name: "api-key",
    pattern:
      /(?<![A-Za-z0-9])()(?:AIza[\w-]{35}|(?:gsk|hf|npm)_[A-Za-z0-9]{30,}|(?:xai|glpat|pplx)-(?=[\w-]{0,64}\d)[\w-]{20,})/g,
  },
  { name: "github-token", pattern: /(?<![A-Za-z0-9])()(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,})/g },
  { name: "slack-token", pattern: /(?<![A-Za-z0-9])()(?:xox[abeoprs]|xapp)-(?=[\w-]{0,64}\d)[\w-]{10,}/g },
  {
    name: "stripe-key",
    pattern: /(?<![A-Za-z0-9])()(?:(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{24,}={0,2})/g,
  },
  { name: "jwt", pattern: /(?<![\w-])()eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/g },
  {
    name: "private-key",
    // Also one whose end is cut off.
    pattern:
      /()-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!-----?END)){0,32768}(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?/g,
    is: (found) => /[A-Za-z0-9+/=]{24}/.test(found),
  },
  {
    name: "bearer-token",
    pattern: /(\bbearer(?:\s|%20|\+){1,4})[\w.~+/=-]{16,}/gi,
    is: (found) => /\d/.test(found) || /[a-z][A-Z]/.test(found),
  },
  { name: "basic-auth", pattern: /(\bbasic(?:\s|%20|\+){1,4})[A-Za-z0-9+/]{6,}={0,2}/gi, is: isNameAndPassword },
  { name: "url-password", pattern: /(:\/\/[^\s/:@"'<>[\]]{0,128}:)[^\s/@"'<>[\]]{1,256}(?=@)/g },
];

/** Most texts have nothing of this, and are done with one look. */
export const HINT =
  /AKIA|ASIA|sk-|AIza|gsk_|hf_|npm_|xai-|glpat-|pplx-|gh[pousr]_|github_pat_|xox|xapp-|k_live|k_test|whsec_|eyJ|PRIVATE KEY|bearer|basic|:\/\/|secret_?(?:access_?)?key/i;

/** A name that says that the text under it is a secret key of AWS: there is no shape to it but its length. */
export const isSecretKeyUnder = (name: string, text: string): boolean =>
  /secret_?(?:access_?)?key$/i.test(name) && /^[A-Za-z0-9/+]{40}$/.test(text);

function isNameAndPassword(found: string): boolean {
  return /^[\x20-\x7e]{1,128}:[\x20-\x7e]{1,512}$/.test(Buffer.from(found, "base64").toString("latin1"));
}
