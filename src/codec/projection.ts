/**
 * What can be recorded of a value that a schema made: the value itself where it is plain JSON, else its projection. A
 * projection is JSON that shows the value to a human, and that is equal for equal values: two parses are compared by it.
 * It is lossy, so nothing is ever read back from it.
 */
import { droppedNames } from "../core/dropped-names.ts";
import { type Json, copyOfJson } from "../core/json.ts";
import { canonical, sha256 } from "./canonical.ts";
import { SIZES } from "./limits.ts";
import { asJson } from "./value.ts";

/** A copy of the value if it is JSON and stays as it is when it is stored; else undefined. Never throws. */
export function plainJsonOf(value: unknown): Json | undefined {
  const converted = asJson(value);
  if (!converted.ok) return undefined;
  try {
    return isSame(value, converted.json) ? copyOfJson(converted.json) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether nothing was converted. A class instance, a member `undefined` and `-0` do not stay as they are. */
function isSame(value: unknown, json: Json): boolean {
  if (typeof json !== "object" || json === null) return Object.is(value, json);
  if (typeof value !== "object" || value === null) return false;
  const isList = Array.isArray(json);
  if (Object.getPrototypeOf(value) !== (isList ? Array.prototype : Object.prototype)) return false;
  const names = Object.keys(json);
  if (Reflect.ownKeys(value).length !== names.length + (isList ? 1 : 0)) return false;
  return names.every((name) => isSame(Reflect.get(value, name), Reflect.get(json, name) as Json));
}

/** Values in one projection. What is beyond them is not compared. */
const VALUES_MAX = 100_000;

/** The projection of any value. Never throws. */
export function projectionOf(value: unknown): Json {
  const json = new Projection().of(value, SIZES.jsonDepthMax / 2);
  const text = canonical(json);
  return text.length <= SIZES.blobBytesMax ? json : `Large(${sha256(text)})`;
}

class Projection {
  #left = VALUES_MAX;
  readonly #ancestors = new Set<object>();

  of(value: unknown, depthLeft: number): Json {
    this.#left -= 1;
    if (this.#left < 0 || depthLeft === 0) return "Omitted()";
    switch (typeof value) {
      case "string":
        return value.toWellFormed();
      case "boolean":
        return value;
      case "number":
        return Number.isFinite(value) && !Object.is(value, -0)
          ? value
          : `Number(${Object.is(value, -0) ? "-0" : value})`;
      case "bigint":
        return `BigInt(${value})`;
      case "undefined":
        return "undefined";
      case "object":
        return value === null ? null : this.#object(value, depthLeft - 1);
      default:
        return `${typeof value === "symbol" ? "Symbol" : "Function"}()`;
    }
  }

  #object(value: object, depthLeft: number): Json {
    if (this.#ancestors.has(value)) return "Circular()";
    this.#ancestors.add(value);
    try {
      return this.#members(value, depthLeft);
    } catch {
      return "Unreadable()";
    } finally {
      this.#ancestors.delete(value);
    }
  }

  #members(value: object, depthLeft: number): Json {
    if (Array.isArray(value)) return value.map((member) => this.of(member, depthLeft));
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype) return this.#named(value, depthLeft);
    const name = nameOf(value);
    const words = textOf(value);
    if (words !== null) return `${name}(${words})`;
    // In a list, so that its members are not taken for those of the arguments.
    if (value instanceof Map) return [name, [...value].map((entry) => this.of(entry, depthLeft))];
    if (value instanceof Set) return [name, [...value].map((member) => this.of(member, depthLeft))];
    const { toJSON } = value as { readonly toJSON?: unknown };
    if (typeof toJSON === "function") return [name, this.of(Reflect.apply(toJSON, value, [""]), depthLeft)];
    return [name, this.#named(value, depthLeft)];
  }

  #named(value: object, depthLeft: number): Json {
    const names = Object.keys(value);
    return Object.fromEntries(names.map((name) => [name.toWellFormed(), this.of(Reflect.get(value, name), depthLeft)]));
  }
}

function nameOf(value: object): string {
  const { constructor } = value as { readonly constructor?: unknown };
  return typeof constructor === "function" && constructor.name !== "" ? constructor.name.toWellFormed() : "Object";
}

/** The part of a `Date` that is read here. */
interface Time {
  readonly getTime: () => number;
  readonly toISOString: () => string;
}

const isDate = (value: object): value is Time => Object.prototype.toString.call(value) === "[object Date]";

/** The text of a value that has one; null for every other value. */
function textOf(value: object): string | null {
  if (isDate(value)) return Number.isNaN(value.getTime()) ? "no time" : value.toISOString();
  if (value instanceof RegExp || value instanceof URL) return String(value).toWellFormed();
  if (value instanceof Error) return String(value.message).toWellFormed();
  if (!ArrayBuffer.isView(value)) return null;
  return sha256(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
}

/** The same for what a schema made, before it is recorded. */
export const droppedBy = (given: Json, output: unknown): readonly string[] =>
  droppedNames(given, plainJsonOf(output) ?? projectionOf(output));
