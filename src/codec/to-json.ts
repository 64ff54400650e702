/**
 * Converts a value of unknown origin to JSON. The rule: cairn keeps JSON that reads the same; any other value is
 * refused with its path. Nothing is dropped silently. `docs/agents.md` has the rule as a table.
 *
 * The walk is a loop, not a recursion, and has limits for depth and size. Without them, a value of 12 KB with thousands
 * of levels would pass here and overflow the stack of every later step, in every invocation of its run.
 */
import type { Json } from "../core/json.ts";
import type { FileContent } from "../core/file.ts";
import { FILE, type GivenFile, fileContent, fileJson } from "./file.ts";
import { SIZES } from "./limits.ts";

export type Converted =
  | { readonly kind: "json"; readonly json: Json }
  | { readonly kind: "refused"; readonly why: string }
  /** The value's own code threw while it was read: a getter, a `toJSON` or a proxy. `at` is its path. */
  | { readonly kind: "threw"; readonly thrown: unknown; readonly at: string };

/** Never throws. With `files`, a file may stand anywhere in the value: it goes there, and a reference takes its place. */
export function toJson(value: unknown, files: FileContent[] | null = null): Converted {
  const conversion = new Conversion(files);
  try {
    return { kind: "json", json: conversion.convert(value) };
  } catch (thrown) {
    const { refusal: why, place: at } = conversion;
    return why === null ? { kind: "threw", thrown, at } : { kind: "refused", why };
  }
}

/** Whether JSON is nested deeper than `SIZES.jsonDepthMax`. */
export function isTooDeep(json: unknown): boolean {
  let level = [json].filter(isObject);
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth >= SIZES.jsonDepthMax) return true;
    level = level.flatMap((each) => Object.values(each)).filter(isObject);
  }
  return false;
}

export const TOO_DEEP = `it is nested deeper than ${SIZES.jsonDepthMax} levels`;

const TOO_LARGE = `it is too large: as JSON it may have at most ${SIZES.blobBytesMax} characters`;

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** `JSON.stringify` writes instances of these as an empty object, or loses a part of them. */
const OPAQUE = [Map, Set, WeakMap, WeakSet, Promise, Error, RegExp, ArrayBuffer, Number, String, Boolean] as const;

/** A list or object whose members are being converted. */
interface Frame {
  readonly given: object;
  readonly isList: boolean;
  readonly names: readonly string[];
  readonly made: Json[] | Record<string, Json>;
  next: number;
}

class Conversion {
  refusal: string | null = null;
  readonly #open: Frame[] = [];
  readonly #ancestors = new Set<object>();
  readonly #files: FileContent[] | null;
  #charactersLeft: number = SIZES.blobBytesMax;

  constructor(files: FileContent[] | null) {
    this.#files = files;
  }

  /** The current path as text: ` at "a.b"`, or empty at the root. */
  get place(): string {
    const path = this.#open.map(({ names, next }) => names[next - 1]).join(".");
    return path === "" ? "" : ` at ${JSON.stringify(path.slice(0, PLACE_CHARACTERS_MAX))}`;
  }

  convert(root: unknown): Json {
    const json = root === undefined ? null : this.#enter(root, "");
    for (let frame = this.#open.at(-1); frame !== undefined; frame = this.#open.at(-1)) this.#step(frame);
    // The walk counted a lower bound, so the exact size is checked once at the end.
    if (JSON.stringify(json).length > SIZES.blobBytesMax) this.#refuse(TOO_LARGE, "");
    return json;
  }

  /** Converts the next member of the innermost open value. */
  #step(frame: Frame): void {
    const name = frame.names[frame.next];
    if (name === undefined) {
      this.#open.pop();
      this.#ancestors.delete(frame.given);
      return;
    }
    frame.next += 1;
    const given: unknown = Reflect.get(frame.given, name);
    // JSON has no member with the value undefined.
    if (given === undefined && !frame.isList) return;
    const json = this.#enter(given, name);
    const { made } = frame;
    if (Array.isArray(made)) made.push(json);
    else if (name !== "__proto__") made[name] = json;
    else Object.defineProperty(made, name, { value: json, enumerable: true, writable: true, configurable: true });
  }

  /** Converts a scalar, or opens a list or object whose members are converted next. */
  #enter(given: unknown, name: string): Json {
    const value = this.#asItSays(given, name);
    switch (typeof value) {
      case "string":
        this.#count(value.length + 2);
        return value.toWellFormed();
      case "boolean":
        this.#count(4);
        return value;
      case "number":
        this.#count(1);
        if (!Number.isFinite(value)) this.#refuse(`${value} is not JSON`);
        return value === 0 ? 0 : value;
      case "object":
        this.#count(2);
        return value === null ? null : this.#openFrame(value);
      default:
        return this.#refuse(`${value === undefined ? "undefined" : article(value)} is not JSON`);
    }
  }

  /** The result of the value's own `toJSON`, if it has one. */
  #asItSays(given: unknown, name: string): unknown {
    if (!isObject(given) && typeof given !== "bigint") return given;
    if (this.#files !== null && FILE in Object(given)) return this.#reference(given as object, this.#files);
    // The `toJSON` of a Buffer would return a list of numbers.
    if (ArrayBuffer.isView(given) || given instanceof ArrayBuffer || given instanceof Blob)
      this.#refuse(`${article(given)} is not JSON`, `${this.place}; a tool returns bytes as toolFile(bytes)`);
    // Its `toJSON` would return null.
    if (isDateWithoutTime(given)) this.#refuse("a Date without a time is not JSON");
    const { toJSON } = given as { readonly toJSON?: unknown };
    return typeof toJSON === "function" ? (Reflect.apply(toJSON, given, [name]) as unknown) : given;
  }

  /** Keeps the file that this value stands for. Its reference takes its place. */
  #reference(given: object, files: FileContent[]): unknown {
    const parsed = fileContent((given as { readonly [FILE]: GivenFile })[FILE]);
    if (!parsed.ok) return this.#refuse(parsed.why);
    files.push(parsed.content);
    return fileJson(parsed.content.ref);
  }

  #openFrame(given: object): Json {
    if (this.#ancestors.has(given)) this.#refuse("a circular reference is not JSON");
    if (this.#open.length >= SIZES.jsonDepthMax) this.#refuse(TOO_DEEP, "");
    const isList = Array.isArray(given);
    const names = isList ? this.#listNames(given) : this.#objectNames(given);
    const symbols = Object.getOwnPropertySymbols(given);
    if (symbols.some((symbol) => Object.prototype.propertyIsEnumerable.call(given, symbol))) {
      this.#refuse("a property whose name is a symbol is not JSON");
    }
    const made: Json[] | Record<string, Json> = isList ? [] : {};
    this.#ancestors.add(given);
    this.#open.push({ given, isList, names, made, next: 0 });
    return made;
  }

  /**
   * Indices precede other names. So if the last of `length` names is the last index, there are no gaps or other names.
   */
  #listNames(list: readonly unknown[]): readonly string[] {
    const names = Object.keys(list);
    const isDense = names.length === list.length && (names.at(-1) ?? "-1") === String(list.length - 1);
    if (!isDense) this.#refuse("a list with gaps or additional properties is not JSON");
    return names;
  }

  #objectNames(given: object): readonly string[] {
    const names = Object.keys(given);
    const isBare = names.length === 0 && !isPlain(given);
    if (isBare || OPAQUE.some((kind) => given instanceof kind)) this.#refuse(`${article(given)} is not JSON`);
    for (const name of names) {
      this.#count(name.length + 3);
      if (!name.isWellFormed()) this.#refuse("a property name is not well-formed Unicode");
    }
    return names;
  }

  #count(characters: number): void {
    this.#charactersLeft -= characters;
    if (this.#charactersLeft < 0) this.#refuse(TOO_LARGE, "");
  }

  #refuse(why: string, place = this.place): never {
    this.refusal = `${why}${place}`;
    throw new TypeError(this.refusal);
  }
}

const PLACE_CHARACTERS_MAX = 200;

/** Whether it is a plain object, also one of another realm. */
function isPlain(given: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(given);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Recognizes dates of another realm too. */
const isDateWithoutTime = (given: object | bigint): boolean =>
  Object.prototype.toString.call(given) === "[object Date]" &&
  Number.isNaN((given as { getTime: () => number }).getTime());

function article(value: unknown): string {
  const named: unknown = isObject(value) ? value.constructor?.name : typeof value;
  const name = typeof named === "string" && named !== "" ? named.slice(0, PLACE_CHARACTERS_MAX) : "object";
  return `${/^[aeiou]/i.test(name) ? "an" : "a"} ${name}`;
}
