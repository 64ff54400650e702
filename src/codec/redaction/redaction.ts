/**
 * Redaction: what is a secret is replaced by a reference before it is written anywhere, for what is not written cannot
 * leak. Declared secrets are known by their values, in every form that text on its way may give them (`secret-forms.ts`);
 * all other credentials by their shapes and their names (`credentials.ts`).
 *
 * What is redacted once stays as it is: references are stepped over. So digests and keys are of what is recorded, and an
 * invocation that records again after a crash records the very same.
 */
import type { Event } from "../../core/event.ts";
import type { Json } from "../../core/json.ts";
import { secretUnder } from "./credential-fields.ts";
import { withoutCredentials } from "./credentials.ts";
import { formsOf } from "./secret-forms.ts";
import { type Form, type Search, searchFor } from "./secret-search.ts";

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
  const search = searchOf(secrets);
  const text = (given: string): string => redactText(given, search());
  const name = remembered(text);
  const json = (given: Json, onReplaced: (replaced: Replaced) => void = () => {}): Json =>
    walk(given, { text, name, step: null, under: null, onReplaced, isTheirs: true }) as Json;
  const words = <T>(given: T): T =>
    walk(given, { text, name, step: null, under: null, onReplaced: () => {}, isTheirs: false }) as T;
  return { text, json, words, event: (given) => redactEvent(given, words) };
}

const REMEMBERED_MAX = 1_000;

function remembered(text: (text: string) => string): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const clean = text(name);
    // What is large or a secret is not kept for later.
    if (clean === name && name.length <= NAME_CHARACTERS_MAX && known.size < REMEMBERED_MAX) known.set(name, name);
    return clean;
  };
}

const NAME_CHARACTERS_MAX = 64;

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

/** What a value has of forms is made once, however often its redaction is made again with more values. */
const formsKnown = new WeakMap<KnownSecret, readonly Form[]>();

function formsOfSecret(secret: KnownSecret): readonly Form[] {
  const { name, value } = secret;
  if (value.length < SECRET_CHARACTERS_MIN) return [];
  const reference = `[secret ${name}]`;
  const forms =
    formsKnown.get(secret) ?? [...formsOf(value, SECRET_CHARACTERS_MIN)].map((literal) => ({ literal, reference }));
  formsKnown.set(secret, forms);
  return forms;
}

/** Made when the first text is looked through. */
function searchOf(secrets: readonly KnownSecret[]): () => Search {
  const known = [...secrets];
  let search: Search | null = null;
  return () => (search ??= searchFor(known.flatMap(formsOfSecret), SECRET_CHARACTERS_MIN));
}

/** Of one text: what stands right behind a credential can be told for one only when that is gone. */
const PASSES_MAX = 8;
const FULL_OF_THEM = "[redacted row-of-credentials]";

function redactText(text: string, search: Search): string {
  let clean = text;
  for (let pass = 0; pass < PASSES_MAX; pass += 1) {
    const before = clean;
    clean = redactOnce(before, search);
    if (clean === before) return clean;
  }
  return FULL_OF_THEM;
}

function redactOnce(text: string, search: Search): string {
  if (!text.includes("[")) return redactPart(text, search);
  // Every second part is a reference.
  const parts = text.split(REFERENCE).map((part, index) => (index % 2 === 1 ? part : redactPart(part, search)));
  return parts.join("");
}

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

/** What a text ends with that was too long (`bounded`). */
const CUT = "…";
const CUT_CHARACTERS_MIN = 3;

/** Where a long text was cut, a secret may have been cut in two: its beginning goes as well. */
function cutOff(text: string, search: Search): string {
  if (!text.endsWith(CUT)) return text;
  const whole = text.slice(0, -CUT.length);
  const begun = search.begun(whole, CUT_CHARACTERS_MIN);
  return begun === null ? text : `${whole.slice(0, begun.from)}${begun.reference}${CUT}`;
}

/** Where the walk is: each step knows the one before it, so that a step costs the same at any depth. */
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
  /** The same for names, most of which come again and again. */
  readonly name: (name: string) => string;
  readonly step: Step | null;
  /** The name that a value stands under, or a list of values. */
  readonly under: string | null;
  readonly onReplaced: (replaced: Replaced) => void;
  /** It is somebody else's JSON: its names and numbers may be anything, and none of them is ours. */
  readonly isTheirs: boolean;
}

const into = (on: Walk, name: string | number, under: string | null): Walk => ({
  ...on,
  step: { name, before: on.step },
  under,
});

function walk(given: unknown, on: Walk): unknown {
  if (typeof given === "string") return leaf(given, on);
  // A token of digits alone may come as a number. Ours are counts and times.
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
  // A provider vouches for what its model thought by a signature: with other words it is none.
  const isOther = !on.isTheirs && given["kind"] === "reasoning" && clean["text"] !== given["text"];
  return isOther ? { ...clean, provider: null } : clean;
}

/** A value may stand under its name as `{ name, value }` as well, and one level below it. */
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
  // A provider takes its own metadata back as it gave them, or not at all.
  return name === "provider" && clean !== value ? null : clean;
}

/** Under these names of ours stands somebody else's JSON. */
const THEIRS: ReadonlySet<string> = new Set(["json", "provider"]);

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
