/**
 * Redacts credentials that were not declared as secrets. It recognizes them by the format of their vendor or by the
 * name before them. Each rule has a test for what it matches and one for what it must not match.
 *
 * Models and tools send texts of up to 8 MB, so every pattern takes linear time. A failing attempt reads a bounded
 * number of characters, or can start only at the beginning of a run of its characters.
 */
import { withoutFields } from "./credential-fields.ts";
import { isNameAndPassword, isSecretLike } from "./secret-values.ts";
import { withoutTokens } from "./vendor-tokens.ts";

interface Shape {
  /** The name in the reference `[redacted NAME]`: lower-case letters and `-`. */
  readonly name: string;
  /** Group 1 is the text before the credential, which is kept; the rest of the match is the credential. */
  readonly pattern: RegExp;
  /** An additional test of the credential that a pattern cannot express. */
  readonly is?: (found: string) => boolean;
}

const SHAPES: readonly Shape[] = [
  {
    name: "private-key",
    // The end is optional, because a text may be truncated.
    pattern:
      /()-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!-----?END)){0,32768}(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?/g,
    is: (found) => /[A-Za-z0-9+/=]{24}/.test(found),
  },
  { name: "jwt", pattern: /(?<![\w-])()eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/g },
  // An encrypted token (JWE): a header, then an empty or wrapped key.
  { name: "jwt", pattern: /(?<![\w-])()eyJ[\w-]{10,}\.[\w-]*\.[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/g },
  {
    name: "aws-secret-key",
    pattern:
      /((?:aws_?)?secret_?(?:access_?)?key\\?["']?\s{0,8}(?:=>|[:=])\s{0,8}\\?["']?)[A-Za-z0-9/+=]{40}(?![A-Za-z0-9/+=])/gi,
  },
  {
    name: "bearer-token",
    pattern: /(\bbearer(?:\s|%20|\+){1,4})[\w.~+/=-]{16,}/gi,
    is: (found) => /\d/.test(found) || /[a-z][A-Z]/.test(found),
  },
  { name: "basic-auth", pattern: /(\bbasic(?:\s|%20|\+){1,4})[A-Za-z0-9+/]{6,}={0,2}/gi, is: isNameAndPassword },
  // Up to the last `@`, because a password may contain one.
  {
    name: "url-password",
    pattern:
      /(\b(?:postgres(?:ql)?|mysqlx?|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|clickhouse|cockroachdb|snowflake|ldaps?)(?:\+\w{1,16})?:\/\/[^\s/:"'<>[\]]{0,128}:)[^\s"'<>[\]]{1,256}(?=@\S)/gi,
  },
  { name: "url-password", pattern: /(:\/\/[^\s/:@"'<>[\]]{0,128}:)[^\s/@"'<>[\]]{1,256}(?=@)/g },
  { name: "url-password", pattern: /(jdbc:oracle:\w{1,8}:[^\s/@:"']{1,64}\/)[^\s/@"']{1,128}(?=@)/g },
  { name: "url-token", pattern: /(\bhttps?:\/\/)[\w.~%-]{16,256}(?=@[\w-])/g, is: isSecretLike },
  {
    name: "webhook",
    pattern:
      /(hooks\.slack\.com\/(?:services|workflows|triggers)\/|discord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/|webhook\.office\.com\/webhookb2\/|hooks\.zapier\.com\/hooks\/catch\/)[\w@/-]{5,}/gi,
  },
  // `curl -u name:password`, `mysql -ppassword`, `sshpass -p password`.
  { name: "password", pattern: /(\s(?:-u|--user|--proxy-user)[ =]['"]?[^\s:'"$]{1,128}:)[^\s'"$]{4,256}/g },
  {
    name: "password",
    pattern: /(\b(?:mysql|mysqldump|mariadb|mysqladmin)\s[^\n|;]{0,64}?-p)[^\s'"$-][^\s'"$]{4,128}/g,
  },
  {
    name: "password",
    pattern: /(\b(?:sshpass|docker login|redis-cli|smbclient)\s[^\n|;]{0,64}?-(?:p|a)\s)[^\s'"$-][^\s'"$]{4,128}/g,
  },
];

/** A quick test for all shapes: most texts match none of these hints, so one pass is enough. */
const HINT =
  /-----BEGIN|eyJ|:\/\/|secret_?(?:access_?)?key|bearer|basic|jdbc:oracle|hooks\.|webhook|\s-(?:u|-user|-proxy-user)[ =]|mysql|mariadb|sshpass|docker login|redis-cli|smbclient/i;

export const hintsAtCredential = (text: string): boolean => HINT.test(text);

export const withoutCredentials = (text: string): string => withoutFields(withoutTokens(withoutShapes(text)));

function withoutShapes(text: string): string {
  if (!HINT.test(text)) return text;
  return SHAPES.reduce(
    (clean, { name, pattern, is = () => true }) =>
      clean.replace(pattern, (found: string, before: string) =>
        is(found.slice(before.length)) ? `${before}[redacted ${name}]` : found,
      ),
    text,
  );
}
