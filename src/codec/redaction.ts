/**
 * Redaction: what is a secret is replaced by a reference before it is written anywhere, for what is not written cannot
 * leak. Declared secrets are known by their values, in every form that text on its way may give them; anybody's
 * credentials by their shapes (`credentials.ts`).
 *
 * What is redacted once stays as it is: references are stepped over. So digests and keys are of what is recorded, and an
 * invocation that records again after a crash records the very same.
 */
import type { Event } from "../core/event.ts";
import type { Json } from "../core/json.ts";
import { HINT, SHAPES, isSecretKeyUnder } from "./credentials.ts";

export interface KnownSecret {
  readonly name: string;
  readonly value: string;
}

/** Where something was replaced, and by what. */
export interface Replaced {
  readonly path: readonly (string | number)[];
  readonly reference: string;
}

export interface Redaction {
  readonly text: (text: string) => string;
  /** The same value if there is nothing to replace. */
  readonly json: (json: Json, onReplaced?: (replaced: Replaced) => void) => Json;
  /** Everything in it that is not its structure. The same event if there is nothing to replace. */
  readonly event: <E extends Event>(event: E) => E;
  /** The same for the body of a message, and for whatever else is made of values and words. */
  readonly words: <T>(of: T) => T;
}

/** A shorter value is no secret: it would be found in every other text. */
export const SECRET_CHARACTERS_MIN = 6;

const REFERENCE = /(\[(?:secret [A-Z][A-Z0-9_]{0,63}|redacted [a-z-]{1,64})\])/;

export function redactionOf(secrets: readonly KnownSecret[]): Redaction {
  const forms = formsOf(secrets);
  const text = (given: string): string => redactText(given, forms);
  const json = (given: Json, onReplaced: (replaced: Replaced) => void = () => {}): Json =>
    walk(given, { text, path: [], onReplaced, isTheirs: true }) as Json;
  const words = <T>(given: T): T => walk(given, { text, path: [], onReplaced: () => {}, isTheirs: false }) as T;
  return { text, json, words, event: (given) => redactEvent(given, words) };
}

/** Of an absorbed message `message` is the id, by which its item is found; of a failure it is what a person reads. */
function redactEvent<E extends Event>(event: E, words: <T>(of: T) => T): E {
  const clean = words(event);
  if (clean === event || event.kind !== "MessageAbsorbed") return clean;
  return { ...clean, message: event.message };
}

/** What makes an event what it is: its names, kinds and digests, which come from cairn and never from outside. */
const STRUCTURE: ReadonlySet<string> = new Set([
  ...["kind", "at", "call", "calls", "effect", "key", "argsDigest", "gate", "planHash", "argsHash", "sha256", "as"],
  ...["stage", "status", "outcome", "crack", "otherwise", "finish", "model", "tool", "child", "rule", "agentVersion"],
]);

interface Form {
  readonly literal: string;
  readonly reference: string;
}

/** The longest first: a form may be a part of another one. */
function formsOf(secrets: readonly KnownSecret[]): readonly Form[] {
  const forms = new Map<string, string>();
  for (const { name, value } of secrets) {
    if (value.length < SECRET_CHARACTERS_MIN) continue;
    for (const literal of literalsOf(value)) forms.set(literal, forms.get(literal) ?? `[secret ${name}]`);
  }
  return [...forms]
    .map(([literal, reference]) => ({ literal, reference }))
    .toSorted((one, other) => other.literal.length - one.literal.length);
}

/** As it is, within JSON, within JSON within JSON, within an address or a form, and within base64. */
function literalsOf(value: string): ReadonlySet<string> {
  const escaped = inJson(value);
  const encoded = encodeURIComponent(value.toWellFormed());
  const escapes = encoded.replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase());
  const strict = encoded.replaceAll(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
  const spaces = [encoded, strict].map((each) => each.replaceAll("%20", "+"));
  const trimmed = value.trim();
  const plain = trimmed.length < SECRET_CHARACTERS_MIN ? value : trimmed;
  return new Set([value, plain, escaped, inJson(escaped), encoded, escapes, strict, ...spaces, ...base64Of(plain)]);
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/** Three forms each: what comes before it in the same base64 moves it by one or two bytes, and its ends mix with others. */
function base64Of(value: string): readonly string[] {
  const bytes = Buffer.from(value, "utf8");
  return [0, 1, 2].flatMap((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replaceAll("=", "");
    const [from, to] = [Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6)];
    const own = whole.slice(from, to);
    return [own, own.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

/** Of one text: what stands right behind a credential can be told for one only when that is gone. */
const PASSES_MAX = 8;
const FULL_OF_THEM = "[redacted row-of-credentials]";

function redactText(text: string, forms: readonly Form[]): string {
  let clean = text;
  for (let pass = 0; pass < PASSES_MAX; pass += 1) {
    const before = clean;
    clean = redactOnce(before, forms);
    if (clean === before) return clean;
  }
  return FULL_OF_THEM;
}

function redactOnce(text: string, forms: readonly Form[]): string {
  const isSuspect = HINT.test(text) || text.endsWith(CUT) || forms.some(({ literal }) => text.includes(literal));
  if (!isSuspect) return text;
  // Every second part is a reference.
  const parts = text.split(REFERENCE).map((part, index) => (index % 2 === 1 ? part : redactPart(part, forms)));
  return parts.join("");
}

function redactPart(part: string, forms: readonly Form[]): string {
  if (part === "") return part;
  const pieces: Piece[] = [{ text: part, isOpen: true }];
  const open = forms.reduce<readonly Piece[]>((all, { literal, reference }) => {
    if (!all.some(({ text, isOpen }) => isOpen && text.includes(literal))) return all;
    return all.flatMap((piece) => (piece.isOpen ? splitAt(piece.text, { literal, reference }) : [piece]));
  }, pieces);
  return open.map(({ text, isOpen }) => (isOpen ? shapeless(cutOff(text, forms)) : text)).join("");
}

/** A stretch of text, or a reference, in which nothing is looked for. */
interface Piece {
  readonly text: string;
  readonly isOpen: boolean;
}

const splitAt = (text: string, { literal, reference }: Form): readonly Piece[] =>
  text
    .split(literal)
    .flatMap((each, index) => [
      ...(index === 0 ? [] : [{ text: reference, isOpen: false }]),
      { text: each, isOpen: true },
    ]);

/** What a text ends with that was too long (`bounded`). */
const CUT = "…";
const CUT_CHARACTERS_MIN = 3;

/** Where a long text was cut, a secret may have been cut in two: its beginning goes as well. */
function cutOff(text: string, forms: readonly Form[]): string {
  if (!text.endsWith(CUT)) return text;
  const end = text.length - CUT.length;
  for (const { literal, reference } of forms) {
    const tail = text.slice(Math.max(0, end - literal.length + 1), end);
    for (let from = 0; tail.length - from >= CUT_CHARACTERS_MIN; from += 1) {
      if (!literal.startsWith(tail.slice(from))) continue;
      return `${text.slice(0, end - tail.length + from)}${reference}${CUT}`;
    }
  }
  return text;
}

function shapeless(text: string): string {
  if (!HINT.test(text)) return text;
  return SHAPES.reduce(
    (clean, { name, pattern, is = () => true }) =>
      clean.replace(pattern, (found: string, before: string) =>
        is(found.slice(before.length)) ? `${before}[redacted ${name}]` : found,
      ),
    text,
  );
}

interface Walk {
  readonly text: (text: string) => string;
  readonly path: readonly (string | number)[];
  readonly onReplaced: (replaced: Replaced) => void;
  /** It is somebody else's JSON: its names and numbers may be anything, and none of them is ours. */
  readonly isTheirs: boolean;
}

function walk(given: unknown, on: Walk): unknown {
  if (typeof given === "string") return leaf(given, on);
  // A token of digits alone may come as a number. Ours are counts and times.
  if (typeof given === "number") return on.isTheirs ? leaf(given, on) : given;
  if (typeof given !== "object" || given === null) return given;
  if (!Array.isArray(given)) return walkObject(given as Readonly<Record<string, unknown>>, on);
  const members = given.map((each, index) => walk(each, { ...on, path: [...on.path, index] }));
  return members.every((each, index) => each === given[index]) ? given : members;
}

function leaf(given: string | number, on: Walk): unknown {
  const before = String(given);
  const after = on.text(before);
  if (after === before) return given;
  on.onReplaced({ path: on.path, reference: REFERENCE.exec(after)?.[0] ?? "" });
  return after;
}

function walkObject(given: Readonly<Record<string, unknown>>, on: Walk): unknown {
  let isSame = true;
  const fields: [string, unknown][] = [];
  for (const [name, value] of Object.entries(given)) {
    const kept = on.isTheirs ? on.text(name) : name;
    if (kept !== name) on.onReplaced({ path: [...on.path, kept], reference: kept });
    const clean = walkField(name, value, { ...on, path: [...on.path, kept] });
    isSame &&= clean === value && kept === name;
    fields.push([kept, clean]);
  }
  if (isSame) return given;
  const clean = Object.fromEntries(on.isTheirs ? apart(fields) : fields);
  // A provider vouches for what its model thought by a signature: with other words it is none.
  const isOther = !on.isTheirs && given["kind"] === "reasoning" && clean["text"] !== given["text"];
  return isOther ? { ...clean, provider: null } : clean;
}

function walkField(name: string, value: unknown, on: Walk): unknown {
  if (!on.isTheirs && STRUCTURE.has(name)) return value;
  if (typeof value === "string" && isSecretKeyUnder(name, value)) {
    on.onReplaced({ path: on.path, reference: SECRET_KEY });
    return SECRET_KEY;
  }
  if (on.isTheirs || !THEIRS.has(name)) return walk(value, on);
  const clean = walk(value, { ...on, isTheirs: true });
  // A provider takes its own metadata back as it gave them, or not at all.
  return name === "provider" && clean !== value ? null : clean;
}

/** Under these names of ours stands somebody else's JSON. */
const THEIRS: ReadonlySet<string> = new Set(["json", "provider"]);

const SECRET_KEY = "[redacted aws-secret-key]";

/** Two names may come to be the same one. Each name counts on from where it stopped, however many come to be it. */
function apart(fields: readonly (readonly [string, unknown])[]): readonly (readonly [string, unknown])[] {
  const names = new Set<string>();
  const counts = new Map<string, number>();
  return fields.map(([name, value]) => {
    let free = name;
    for (let count = counts.get(name) ?? 2; names.has(free); count += 1) {
      free = `${name} ${count}`;
      counts.set(name, count + 1);
    }
    names.add(free);
    return [free, value];
  });
}
