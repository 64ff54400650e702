/**
 * What looks like a credential, whoever it belongs to: by the shape that its maker gives it, or by the name that stands before
 * it. Each rule has a test of what it hits and of what it must not hit.
 *
 * Texts of 8 MB come from models and tools, so every pattern is linear: a try that may fail reads a bounded number of
 * characters, or can begin only where a run of its characters begins.
 */
import { withoutFields } from "./credential-fields.ts";
import { isNameAndPassword, isSecretLike } from "./secret-values.ts";
import { withoutTokens } from "./vendor-tokens.ts";

interface Shape {
  /** Stands in the reference that takes its place: lower-case letters and `-`. */
  readonly name: string;
  /** What of the match is the credential: group 1 stays before it. */
  readonly pattern: RegExp;
  /** What a pattern cannot say. */
  readonly is?: (found: string) => boolean;
}

const SHAPES: readonly Shape[] = [
  {
    name: "private-key",
    // Also one whose end is cut off.
    pattern:
      /()-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!-----?END)){0,32768}(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?/g,
    is: (found) => /[A-Za-z0-9+/=]{24}/.test(found),
  },
  { name: "jwt", pattern: /(?<![\w-])()eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/g },
  // Encrypted: a header, and an empty or wrapped key.
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
  // Up to the last `@`: a password may have one in it.
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

/** What each shape has in it: most texts have nothing of it, and are done with one look. */
const HINT =
  /-----BEGIN|eyJ|:\/\/|secret_?(?:access_?)?key|bearer|basic|jdbc:oracle|hooks\.|webhook|\s-(?:u|-user|-proxy-user)[ =]|mysql|mariadb|sshpass|docker login|redis-cli|smbclient/i;

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
