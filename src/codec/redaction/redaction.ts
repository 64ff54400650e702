/**
 * Redaction: replaces secrets by references before anything is written, because unwritten data cannot leak.
 * Declared secrets are found by their values, in every form of `secret-forms.ts`. All other credentials are found by
 * their formats and names (`credentials.ts`).
 *
 * Redaction is idempotent: it skips existing references. Digests and idempotency keys cover the redacted data, so an
 * invocation that records again after a crash records the same bytes.
 */
import type { Event } from "../../core/event.ts";
import type { Json } from "../../core/json.ts";
import { secretUnder } from "./credential-fields.ts";
import { withoutCredentials } from "./credentials.ts";
import { withoutEncoded } from "./encoded-texts.ts";
import { formsOf } from "./secret-forms.ts";
import { type SecretForm, type Search, searchFor } from "./secret-search.ts";

export interface KnownSecret {
  readonly name: string;
  readonly value: string;
}

/** The path of a replaced value and the reference that replaced it. */
export interface Replaced {
  readonly path: readonly (string | number)[];
  readonly reference: string;
}

export interface Redaction {
  readonly text: (text: string) => string;
  /** Returns the same object if there is nothing to replace. */
  readonly json: (json: Json, onReplaced?: (replaced: Replaced) => void) => Json;
  /** Redacts everything but the structure of an event. Returns the same event if there is nothing to replace. */
  readonly event: <E extends Event>(event: E) => E;
  /**
   * Where the beginning of a declared secret stands at the end of the text, however long; null: nowhere. If a whole
   * secret ends with that beginning, it is where the whole one stands.
   */
  readonly begunAt: (text: string) => number | null;
  /** Redacts the body of a message, or any other document of cairn that contains values and free text. */
  readonly words: <T>(value: T) => T;
}

/** A shorter value is not treated as a secret: it would match in too many texts. */
export const SECRET_CHARACTERS_MIN = 6;

const REFERENCE = /(\[(?:secret [A-Z][A-Z0-9_]{0,63}|redacted [a-z-]{1,64})\])/;

export function redactionOf(secrets: readonly KnownSecret[]): Redaction {
  const search = searchOf(secrets);
  const text = remembered((given) => redactText(given, search()), TEXTS);
  const name = remembered(text, NAMES);
  const json = (given: Json, onReplaced: (replaced: Replaced) => void = () => {}): Json =>
    walk(given, { text, name, step: null, under: null, onReplaced, isTheirs: true }) as Json;
  const words = <T>(given: T): T =>
    walk(given, { text, name, step: null, under: null, onReplaced: () => {}, isTheirs: false }) as T;
  const begunAt = (given: string): number | null => {
    const begun = search().begun(given, CUT_CHARACTERS_MIN, Infinity);
    if (begun === null) return null;
    // A secret may end with its own beginning, or with that of another.
    const isAround = ({ from, to }: { from: number; to: number }) => from < begun.from && begun.from < to;
    return search().all(given).find(isAround)?.from ?? begun.from;
  };
  return { text, json, words, begunAt, event: (given) => redactEvent(given, words) };
}

/** Which texts are remembered as free of secrets, and how many. */
interface Remembering {
  readonly max: number;
  readonly charactersMin: number;
  readonly charactersMax: number;
}

const NAMES: Remembering = { max: 1_000, charactersMin: 0, charactersMax: 64 };
/** A reply or a result is redacted as a value, and again with the event that holds it. */
const TEXTS: Remembering = { max: 16, charactersMin: 65, charactersMax: 16 * 1024 };

/** Texts with secrets are not remembered. */
function remembered(text: (text: string) => string, { max, ...bounds }: Remembering): (given: string) => string {
  const known = new Set<string>();
  return (given) => {
    if (given.length < bounds.charactersMin || given.length > bounds.charactersMax) return text(given);
    if (known.has(given)) return given;
    const clean = text(given);
    if (clean !== given) return clean;
    known.add(given);
    const [oldest = given] = known;
    if (known.size > max) known.delete(oldest);
    return clean;
  };
}

/** In an absorbed message, `message` is an ID and stays unchanged; in a failure, `message` is text and is redacted. */
function redactEvent<E extends Event>(event: E, words: <T>(value: T) => T): E {
  const clean = words(event);
  if (clean === event || event.kind !== "MessageAbsorbed") return clean;
  return { ...clean, message: event.message };
}

/** The structural fields of an event: names, kinds and digests. Cairn writes them; no outside text gets into them. */
const STRUCTURE: ReadonlySet<string> = new Set([
  "kind",
  "at",
  "call",
  "calls",
  "effect",
  "key",
  "argsDigest",
  "gate",
  "planHash",
  "argsHash",
  "sha256",
  "offered",
  "digest",
  "as",
  "file",
  "mediaType",
  "stage",
  "status",
  "outcome",
  "crack",
  "topology",
  "final",
  "otherwise",
  "finish",
  "model",
  "tool",
  "child",
  "rule",
  "agentVersion",
]);

/** The forms of each value are computed once, even if `redactionOf` is called again with more values. */
const formsKnown = new WeakMap<KnownSecret, readonly SecretForm[]>();

function formsOfSecret(secret: KnownSecret): readonly SecretForm[] {
  const { name, value } = secret;
  if (value.length < SECRET_CHARACTERS_MIN) return [];
  const reference = `[secret ${name}]`;
  const forms =
    formsKnown.get(secret) ?? [...formsOf(value, SECRET_CHARACTERS_MIN)].map((literal) => ({ literal, reference }));
  formsKnown.set(secret, forms);
  return forms;
}

/** Builds the search lazily, when the first text is redacted. */
function searchOf(secrets: readonly KnownSecret[]): () => Search {
  const known = [...secrets];
  let search: Search | null = null;
  return () => (search ??= searchFor(known.flatMap(formsOfSecret), SECRET_CHARACTERS_MIN));
}

/**
 * Passes per text: each finds one kind of credential, and a credential directly after another one is recognized only once
 * the first is replaced.
 */
const PASSES_MAX = 12;
const FULL_OF_THEM = "[redacted row-of-credentials]";

function redactText(text: string, search: Search): string {
  return redactAt(text, passingAt(search, 0));
}

const redactAt = (text: string, passing: Passing): string =>
  text.includes("[") ? redactParts(text, passing, 0) : redactUntilClean(text, passing, 0);

interface Passing {
  readonly search: Search;
  readonly known: Set<string>;
  /** Redacts what is encoded in a text; null where the text is itself so deep that nothing is decoded. */
  readonly inner: ((decoded: string) => string) | null;
}

/** Texts encoded within texts within a text. */
const DEPTH_MAX = 2;

function passingAt(search: Search, depth: number): Passing {
  let below: Passing | null = null;
  const inner = (decoded: string): string => redactAt(decoded, (below ??= passingAt(search, depth + 1)));
  return { search, known: new Set([""]), inner: depth < DEPTH_MAX ? inner : null };
}

function redactUntilClean(part: string, passing: Passing, pass: number): string {
  const { search, known, inner } = passing;
  if (known.has(part)) return part;
  const plain = redactPart(part, search);
  const clean = plain === part && inner !== null ? withoutEncoded(part, inner) : plain;
  if (clean !== part) return pass + 1 < PASSES_MAX ? redactParts(clean, passing, pass + 1) : FULL_OF_THEM;
  if (part.length <= PART_CHARACTERS_MAX && known.size < PARTS_MAX) known.add(part);
  return part;
}

/** Redacts what is between the references. Each part is split once, however many credentials it has. */
function redactParts(text: string, passing: Passing, pass: number): string {
  // `split` with a capturing group returns the references at odd indices.
  const parts = text.split(REFERENCE);
  for (let index = 0; index < parts.length; index += 2)
    parts[index] = redactUntilClean(parts[index] ?? "", passing, pass);
  return parts.join("");
}

/** Between credentials that repeat, so do the parts. These are short and clean. */
const PART_CHARACTERS_MAX = 64;
const PARTS_MAX = 1_000;

function redactPart(part: string, search: Search): string {
  if (part === "") return part;
  const found = search.all(part);
  if (found.length === 0) return withoutCredentials(cutOff(part, search));
  const pieces: string[] = [];
  let done = 0;
  for (const { from, to, reference } of found) {
    pieces.push(withoutCredentials(part.slice(done, from)), reference);
    done = to;
  }
  return pieces.join("") + withoutCredentials(cutOff(part.slice(done), search));
}

/** The end of a text that `bounded` truncated. */
const CUT = "…";
const CUT_CHARACTERS_MIN = 3;

/** A truncated text may end within a secret, so the beginning of a secret at its end is replaced too. */
function cutOff(text: string, search: Search): string {
  if (!text.endsWith(CUT)) return text;
  const whole = text.slice(0, -CUT.length);
  const begun = search.begun(whole, CUT_CHARACTERS_MIN);
  return begun === null ? text : `${whole.slice(0, begun.from)}${begun.reference}${CUT}`;
}

/** A position in the walk. Each step links to its parent step, so a step costs the same at any depth. */
interface Step {
  readonly name: string | number;
  readonly before: Step | null;
}

function pathOf(step: Step | null): readonly (string | number)[] {
  const path: (string | number)[] = [];
  for (let each = step; each !== null; each = each.before) path.push(each.name);
  return path.toReversed();
}

interface Walk {
  readonly text: (text: string) => string;
  /** The same for member names; cached, because most of them repeat. */
  readonly name: (name: string) => string;
  readonly step: Step | null;
  /** The member name of the value, or of the list that contains it. */
  readonly under: string | null;
  readonly onReplaced: (replaced: Replaced) => void;
  /** The JSON comes from a tool, a model or a user: its names and numbers may be secrets too. */
  readonly isTheirs: boolean;
}

const into = (on: Walk, name: string | number, under: string | null): Walk => ({
  ...on,
  step: { name, before: on.step },
  under,
});

function walk(given: unknown, on: Walk): unknown {
  if (typeof given === "string") return leaf(given, on);
  // In foreign JSON, a token of digits may be a number. Numbers of cairn are counts and times.
  if (typeof given === "number") return on.isTheirs ? leaf(given, on) : given;
  if (typeof given !== "object" || given === null) return given;
  if (!Array.isArray(given)) return walkObject(given as Readonly<Record<string, unknown>>, on);
  const members = given.map((each, index) => walk(each, into(on, index, on.under)));
  return members.every((each, index) => each === given[index]) ? given : members;
}

function leaf(given: string | number, on: Walk): unknown {
  const before = String(given);
  const clean = on.text(before);
  const after = clean === before && on.under !== null ? (secretUnder(on.under, before) ?? clean) : clean;
  if (after === before) return given;
  on.onReplaced({ path: pathOf(on.step), reference: REFERENCE.exec(after)?.[0] ?? "" });
  return after;
}

function walkObject(given: Readonly<Record<string, unknown>>, on: Walk): unknown {
  let isSame = true;
  const fields: [string, unknown][] = [];
  for (const [name, value] of Object.entries(given)) {
    const kept = on.isTheirs ? on.name(name) : name;
    const inside = into(on, kept, underOf(given, name, on));
    if (kept !== name) on.onReplaced({ path: pathOf(inside.step), reference: kept });
    const clean = walkField(name, value, inside);
    isSame &&= clean === value && kept === name;
    fields.push([kept, clean]);
  }
  if (isSame) return given;
  const clean = Object.fromEntries(on.isTheirs ? apart(fields) : fields);
  // A provider signs its model's reasoning. The signature does not fit the redacted text, so it is dropped.
  const isOther = !on.isTheirs && given["kind"] === "reasoning" && clean["text"] !== given["text"];
  return isOther ? { ...clean, provider: null } : clean;
}

/** The name of a value may also be beside it, as in `{ name, value }`, or one level above. */
function underOf(given: Readonly<Record<string, unknown>>, name: string, on: Walk): string {
  if (!on.isTheirs || !/^value$/i.test(name)) return name;
  const said = PAIRED.map((each) => given[each]).find((each) => typeof each === "string");
  return typeof said === "string" ? said : (on.under ?? name);
}

const PAIRED = ["name", "key", "Name", "Key", "header", "field"] as const;

function walkField(name: string, value: unknown, on: Walk): unknown {
  if (!on.isTheirs && STRUCTURE.has(name)) return value;
  if (on.isTheirs || !THEIRS.has(name)) return walk(value, on);
  const clean = walk(value, { ...on, isTheirs: true, under: null });
  // A provider accepts its own metadata only unchanged, so metadata that needed redaction is dropped.
  return name === "provider" && clean !== value ? null : clean;
}

/** Members of cairn's documents that contain JSON from a tool, a model, a provider or a user. */
const THEIRS: ReadonlySet<string> = new Set(["json", "provider", "before"]);

/** Redaction may make two names equal; a numbered suffix keeps both. One counter per name keeps this linear. */
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
