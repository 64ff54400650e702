/**
 * Redacts secrets by the name before them: `password=…`, `"token": "…"`, `Cookie: …`, `<secret>…</secret>` or
 * `--password …`. It handles any text, including JSON within JSON, URLs and HTML, and also the fields of JSON values.
 *
 * The time is linear: one pattern finds the names, and each name costs a bounded number of characters.
 */
import { type FieldKind, JUDGED_CHARACTERS, isSecretLike, isSecretValue } from "./secret-values.ts";

const NAMES: readonly (readonly [kind: FieldKind, reference: string, names: string])[] = [
  ["password", "password", "pass(?:word|wd|phrase|code)|pwd|pswd|bindpw|identified by"],
  ["pass", "password", "pass"],
  ["cookie", "cookie", "(?:set-)?cookie"],
  ["authorization", "authorization", "authorization"],
  ["session", "session", String.raw`sess(?:ion)?[_-]?id|session[_-]?key|session|connect\.sid|sid|sess`],
  ["auth", "basic-auth", "_?auth"],
  ["token", "connection-string", "connection[_-]?string|shared[_-]?access[_-]?signature"],
  [
    "token",
    "key",
    "(?:api|access|secret|private|signing|encryption|master|account|shared[_-]?access|auth|service|license|app|application|ssh|storage)[_. -]?key",
  ],
  ["token", "secret", "secret|secret[_-]?key[_-]?base"],
  ["token", "token", "token|jwt|bearer"],
  ["token", "signature", "x-(?:amz|goog)-(?:signature|security-token)|sig(?:nature)?"],
];

const joined = NAMES.map(([, , names]) => names).join("|");
/** A name matches if it ends with one of these words: `DB_PASSWORD` and `clientSecret`, but not `maxTokens`. */
const NAME = new RegExp(`(?:${joined})$`, "i");
const KINDS = NAMES.map(([kind, reference, names]) => ({ kind, reference, is: new RegExp(`^(?:${names})$`, "i") }));

/** Pagination tokens are not secret, and a model needs them for its next call. */
const CURSOR =
  /(?:next|prev|previous|page|continuation|continue|sync|cursor|start|starting|resume|skip)[_-]?(?:page)?[_-]?token$/i;
/** Short words that are also the end of unrelated words, such as `compass`. */
const SHORT = /^(?:pass|sid|sess|_?auth|jwt)$/i;
/** A signature is a credential only in a URL; elsewhere it is public. */
const SIGNATURE = /^sig/i;
const NAME_CHARACTERS_MAX = 64;

interface Field {
  readonly kind: FieldKind;
  readonly reference: string;
}

function fieldOf(word: string): Field {
  const found = KINDS.find(({ is }) => is.test(word)) ?? KINDS[0];
  if (found === undefined) throw new Error("there are no names");
  return found;
}

/** Whether a name that ends with `word` is the name of a secret. `before` is the text before the word. */
function isNamed(word: string, before: string): boolean {
  if (SIGNATURE.test(word)) return /[?&;]$/.test(before);
  if (!SHORT.test(word)) return !/token$/i.test(word) || !CURSOR.test(before + word);
  return !/[a-z]$/i.test(before) || (/[a-z]$/.test(before) && /^[A-Z]/.test(word));
}

const ANYWHERE = new RegExp(joined, "i");

/** Whether a text has the name of a secret anywhere. */
export const namesSecret = (text: string): boolean => ANYWHERE.test(text);

/** The reference that replaces `value` in a JSON field `name`; null if the value is not a secret. */
export function secretUnder(name: string, value: string): string | null {
  const end = name.slice(-NAME_CHARACTERS_MAX);
  const [word] = NAME.exec(end) ?? [];
  if (word === undefined || !isNamed(word, end.slice(0, -word.length))) return null;
  const { kind, reference } = fieldOf(word);
  if (AWS_SECRET.test(value) && /secret/i.test(end)) return "[redacted aws-secret-key]";
  const given = value.trim();
  const isOne = !/\s/.test(given.slice(0, JUDGED_CHARACTERS));
  const isSecret = isWhole(kind) ? holdsSecret(kind, given) : isOne && isSecretValue(kind, given, false);
  return isSecret ? `[redacted ${reference}]` : null;
}

const AWS_SECRET = /^[A-Za-z0-9/+]{40}$/;

/** Kinds whose values may have several words and are replaced as a whole. */
const isWhole = (kind: FieldKind): boolean => kind === "cookie" || kind === "authorization";

function holdsSecret(kind: FieldKind, value: string): boolean {
  const begin = value.slice(0, JUDGED_CHARACTERS);
  if (kind === "cookie") return /^[\w!#$%&'*+.^`|~-]{1,128}=[^\s;"[]{4}/.test(begin);
  if (/^(?:[A-Za-z][\w-]*\s+)?(?:\[(?:redacted|secret)|[<{$])/.test(begin)) return false;
  return begin.split(/[\s,;="']+/).some((part) => isSecretLike(part));
}

const QUOTE = String.raw`(?:\\{0,7}["'\`]|&quot;|&#(?:34|39);|%(?:5C%)?22)`;
const FIELD = new RegExp(
  [
    `(${joined})(?:`,
    // An assignment; in YAML the value may be on the next line.
    String.raw`(${QUOTE}?\]?[ \t]{0,8}(?::=|=>|={1,3}|:[ \t]{0,2}str(?:ing)?[ \t]{0,2}=|:|%3[AaDd])(?:\s{0,24}(?=["'])|[ \t]{0,8}(?:[|>][-+]?\s{1,16})?))|`,
    // A pair: `name: "password", value: "…"`.
    String.raw`(${QUOTE}?[ \t]{0,4},?\s{0,24}${QUOTE}?value${QUOTE}?\s{0,4}[:=]\s{0,4})|`,
    // An XML element.
    `(>)|`,
    // A phrase: `--password …`, `PASSWORD '…'`, "the password is …".
    String.raw`([ \t]{1,4}(?:(?:is|was):?[ \t]{1,4})?))`,
  ].join(""),
  "gi",
);

const runOf = (character: string): RegExp => new RegExp(`(?:${character}){1,${JUDGED_CHARACTERS}}`, "y");
const RUNS = {
  line: runOf(String.raw`[^\s"'\`\\]`),
  bare: runOf(String.raw`[^\s"'\`<>,;&\\]`),
  element: runOf("[^<\\s]"),
  entity: runOf(String.raw`[^\s&"']|&(?!quot;|#3[49];)`),
  percent: runOf(String.raw`[^\s&"'%]|%(?!22|5C)`),
  whole: runOf(String.raw`="[^"\r\n]{0,128}"|[^\r\n"'\`\\]`),
} as const;
const QUOTED = Object.fromEntries(
  ['"', "'", "`"].map((quote) => [
    quote,
    {
      plain: runOf(String.raw`[^\s${quote}\\]|\\[^\s]`),
      // Within a string that is itself escaped.
      escaped: runOf(String.raw`[^\s${quote}\\]|\\(?![\\${quote}])`),
      whole: runOf(String.raw`[^\r\n${quote}\\]|\\(?![\\${quote}rn])`),
    },
  ]),
);
const OPENING = new RegExp(QUOTE, "y");

/** The end of the character run that starts at `from`: of its first `JUDGED_CHARACTERS`, or of all with `isAll`. */
function endOf(run: RegExp, text: string, { from, isAll }: { from: number; isAll: boolean }): number {
  for (let at = from; ;) {
    run.lastIndex = at;
    if (!run.test(text)) return at;
    at = run.lastIndex;
    if (!isAll) return at;
  }
}

/** A value may itself contain names of secrets. At most this many values are examined in one character run. */
const JUDGED_MAX = 16;

/** A text, with the end of the last run of each kind and how many values in that run were examined. */
class Scan {
  readonly text: string;
  #line: Stretch = { from: 0, to: 0 };
  readonly #runs = new Map<RegExp, { readonly end: number; judged: number }>();

  constructor(text: string) {
    this.text = text;
  }

  /** The end of the part of a run to examine; null if the limit for that run is reached. */
  begin(run: RegExp, from: number): number | null {
    const last = this.#runs.get(run);
    if (last !== undefined && from < last.end) {
      last.judged += 1;
      if (last.judged > JUDGED_MAX) return null;
    } else this.#runs.set(run, { end: this.end(run, from), judged: 1 });
    return endOf(run, this.text, { from, isAll: false });
  }

  end(run: RegExp, from: number): number {
    return endOf(run, this.text, { from, isAll: true });
  }

  /** The end of the part of the line to examine. A line is read once, however many names are in it. */
  lineEnd(from: number): number {
    if (from < this.#line.from || from >= this.#line.to) this.#line = { from, to: this.end(RUNS.line, from) };
    return Math.min(this.#line.to, from + JUDGED_CHARACTERS);
  }
}

/** The text with every secret that follows a telling name replaced. */
export function withoutFields(text: string): string {
  const parts: string[] = [];
  const scan = new Scan(text);
  let done = 0;
  FIELD.lastIndex = 0;
  for (let match = FIELD.exec(text); match !== null; match = FIELD.exec(text)) {
    const word = match[1] ?? "";
    const found = valueBehind(scan, match, word);
    FIELD.lastIndex = found?.to ?? match.index + word.length;
    if (found === null) continue;
    parts.push(text.slice(done, found.from), `[redacted ${fieldOf(word).reference}]`);
    done = found.to;
  }
  return done === 0 ? text : parts.join("") + text.slice(done);
}

interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** Where a value may begin, and the name and separator before it. */
interface Place {
  readonly kind: FieldKind;
  readonly from: number;
  readonly opening: string;
  readonly separator: string;
  readonly isSaid: boolean;
  readonly before: string;
}

function valueBehind(scan: Scan, match: RegExpExecArray, word: string): Stretch | null {
  const { text } = scan;
  const before = text.slice(Math.max(0, match.index - NAME_CHARACTERS_MAX), match.index);
  if (!isNamed(word, before)) return null;
  const { kind } = fieldOf(word);
  const from = match.index + match[0].length;
  // Named groups would make an object for each match.
  const [, , , , element, said] = match;
  if (element !== undefined) return /<[\w:.-]*$/.test(before) ? elementAt(scan, { kind, from }) : null;
  OPENING.lastIndex = from;
  const opening = OPENING.exec(text)?.[0] ?? "";
  if (said !== undefined && !maySay(kind, { said, before, opening })) return null;
  const separator = match[0].slice(word.length);
  const place = { kind, from: from + opening.length, opening, separator, isSaid: said !== undefined, before };
  if (isWhole(kind)) return wholeAt(scan, place);
  return opening === "" ? bareAt(scan, place) : quotedAt(scan, place);
}

/** Whether a phrase may name a secret: a command-line option, a quoted text as in SQL, or a sentence with "is". */
function maySay(kind: FieldKind, on: { said: string; before: string; opening: string }): boolean {
  if (isWhole(kind) || kind === "session" || kind === "auth") return false;
  if (/[a-z]/i.test(on.said) || /--[\w-]*$|\bENV[ \t]+[A-Z_]*$/.test(on.before)) return true;
  return kind === "password" && (on.opening !== "" || /\blogin[ \t]+\S{1,48}[ \t]+$/.test(on.before));
}

function elementAt(scan: Scan, { kind, from }: Pick<Place, "kind" | "from">): Stretch | null {
  const end = scan.begin(RUNS.element, from);
  if (end === null || !isSecretValue(kind, scan.text.slice(from, end), false)) return null;
  const to = scan.end(RUNS.element, from);
  return scan.text.startsWith("</", to) ? { from, to } : null;
}

function wholeAt(scan: Scan, { kind, from, opening }: Place): Stretch | null {
  const run = QUOTED[opening.at(-1) ?? ""]?.whole ?? RUNS.whole;
  const end = scan.begin(run, from);
  if (end === null || !holdsSecret(kind, scan.text.slice(from, end))) return null;
  return { from, to: scan.end(run, from) };
}

function runWithin(opening: string): RegExp {
  const own = QUOTED[opening.at(-1) ?? ""];
  if (own !== undefined) return opening.length > 1 ? own.escaped : own.plain;
  return opening.startsWith("&") ? RUNS.entity : RUNS.percent;
}

function quotedAt(scan: Scan, { kind, from, opening }: Place): Stretch | null {
  const run = runWithin(opening);
  const end = scan.begin(run, from);
  if (end === null || !isSecretValue(kind, scan.text.slice(from, end), false)) return null;
  const to = scan.end(run, from);
  // More words follow, so it is a sentence.
  return /[ \t]/.test(scan.text[to] ?? "") ? null : { from, to };
}

function bareAt(scan: Scan, { kind, from, separator, isSaid, before }: Place): Stretch | null {
  const { text } = scan;
  if (scan.begin(RUNS.bare, from) === null) return null;
  const lineEnd = scan.lineEnd(from);
  const isAll = isLine(text, from, lineEnd);
  const run = isAll ? RUNS.line : RUNS.bare;
  const end = isAll ? lineEnd : endOf(run, text, { from, isAll: false });
  const value = text.slice(from, end);
  const isAssigned = separator === "=";
  if (!isSecretValue(kind, value, !isAssigned || !isVariable(before))) return null;
  // In prose or in a list of code, the value itself must look like a secret.
  const isLoose = isSaid || (!isAssigned && /[ \t,;]/.test(text[end] ?? ""));
  if (isLoose && !/[\d!@#$%^&*?+~]/.test(value.replace(/[.,;:!?)\]}]+$/, ""))) return null;
  return { from, to: scan.end(run, from) };
}

/** Environment variables have upper-case names. What is before them ends a word. */
function isVariable(before: string): boolean {
  let from = before.length;
  while (from > 0 && /[A-Z0-9_]/.test(before[from - 1] ?? "")) from -= 1;
  const isWord = from === 0 || /[\s"'`]/.test(before[from - 1] ?? "");
  return isWord && (from === before.length || /[A-Z]/.test(before[from] ?? ""));
}

/** Whether the value extends to the end of its line, as in an environment file or in YAML. */
function isLine(text: string, from: number, end: number): boolean {
  if (end < text.length && !/[\r\n]/.test(text[end] ?? "")) return false;
  return !/[&;,]\s*[\w.-]+=|<\/|[,;)}\]]$/.test(text.slice(from, end));
}
