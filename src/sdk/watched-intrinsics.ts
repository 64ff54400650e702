/**
 * Notices when code of an agent replaces a function of the language that codec, protocol and engine use. The identities
 * are noted before the agent's modules are loaded and once they are. What the modules change while they load (polyfills)
 * is accepted, and `cairn audit` says so. What changes later ends the process.
 *
 * `protectIntrinsics` makes what it can read-only. Methods of prototypes cannot be, so they are compared.
 *
 * Everything here works with broken functions: it uses indexes, plain assignments, and functions that it kept.
 */
import { Hash } from "node:crypto";
import { type CodeAtWork, IntrinsicChanged, type Intrinsics } from "../ports/intrinsics.ts";

/** One function: its holder, its name there, and what it was. */
interface Watched {
  readonly name: string;
  readonly holder: object;
  readonly key: PropertyKey;
  /** The value of a property; of an accessor, its getter. */
  value: unknown;
  readonly isAccessor: boolean;
}

const { defineProperty, deleteProperty, get, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;

/** What all generators inherit, and all asynchronous ones. */
const aboveTwice = (value: object): object => getPrototypeOf(getPrototypeOf(value) as object) as object;
const GENERATOR = aboveTwice((function* () {})());
const ASYNC_GENERATOR = aboveTwice((async function* () {})());

/**
 * Plain methods by holder: what codec, protocol, history and engine call between a decision and its commit. Also what must
 * stay absent: `then` where objects are awaited, and methods that hide inherited ones. An index in `Array.prototype` takes
 * what is pushed into an empty array, and it raises the `length` there.
 */
const METHODS: readonly (readonly [name: string, holder: object, methods: string])[] = [
  ["Array", Array, "isArray from of"],
  [
    "Array.prototype",
    Array.prototype,
    "at concat constructor entries every filter find findIndex findLast findLastIndex flat flatMap forEach includes " +
      "indexOf join keys lastIndexOf length map pop push reduce reverse shift slice some sort splice then toJSON toReversed " +
      "toSorted toString unshift values",
  ],
  [
    "Object",
    Object,
    "assign create defineProperty entries freeze fromEntries getOwnPropertyNames getPrototypeOf hasOwn is keys values",
  ],
  ["Object.prototype", Object.prototype, "constructor hasOwnProperty propertyIsEnumerable toJSON toString valueOf"],
  ["Function.prototype", Function.prototype, "apply bind call then"],
  ["JSON", JSON, "parse stringify"],
  ["Number", Number, "isFinite isInteger isNaN isSafeInteger parseInt"],
  ["Number.prototype", Number.prototype, "toFixed toJSON toString"],
  ["Math", Math, "ceil floor max min round trunc"],
  ["Reflect", Reflect, "apply get ownKeys"],
  ["Map.prototype", Map.prototype, "clear delete entries forEach get has keys set then values"],
  ["Set.prototype", Set.prototype, "add clear delete entries forEach has keys then values"],
  ["WeakMap.prototype", WeakMap.prototype, "delete get has set"],
  ["Promise", Promise, "all allSettled race reject resolve withResolvers"],
  ["Promise.prototype", Promise.prototype, "catch constructor finally then"],
  ["RegExp.prototype", RegExp.prototype, "exec test"],
  [
    "String.prototype",
    String.prototype,
    "at charCodeAt codePointAt concat endsWith includes indexOf isWellFormed lastIndexOf match matchAll normalize padEnd " +
      "padStart repeat replace replaceAll search slice split startsWith substring toJSON toLowerCase toString toUpperCase " +
      "toWellFormed trim",
  ],
  ["String", String, "fromCodePoint raw"],
  ["Date", Date, "now"],
  ["Date.prototype", Date.prototype, "getTime toISOString"],
  ["performance", performance, "now"],
  ["Uint8Array", Uint8Array, "from of"],
  ["TypedArray.prototype", getPrototypeOf(Uint8Array.prototype) as object, "fill set slice subarray toString"],
  ["Uint8Array.prototype", Uint8Array.prototype, "fill set slice subarray then toString"],
  ["ArrayBuffer", ArrayBuffer, "isView"],
  ["Buffer", Buffer, "alloc allocUnsafe allocUnsafeSlow byteLength compare concat from isBuffer"],
  [
    "Buffer.prototype",
    Buffer.prototype,
    "compare copy equals fill includes indexOf lastIndexOf readUInt8 readUInt32BE set slice subarray then toString utf8Slice " +
      "write writeUInt32BE",
  ],
  ["TextEncoder.prototype", TextEncoder.prototype, "encode"],
  ["TextDecoder.prototype", TextDecoder.prototype, "decode"],
  ["Hash.prototype", Hash.prototype, "copy digest update"],
  ["AbortController.prototype", AbortController.prototype, "abort"],
  ["AbortSignal", AbortSignal, "any timeout"],
  ["AbortSignal.prototype", AbortSignal.prototype, "addEventListener removeEventListener"],
  ["%ArrayIteratorPrototype%", getPrototypeOf([].values()) as object, "next"],
  ["%MapIteratorPrototype%", getPrototypeOf(new Map().values()) as object, "next"],
  ["%SetIteratorPrototype%", getPrototypeOf(new Set().values()) as object, "next"],
  ["%StringIteratorPrototype%", getPrototypeOf(""[Symbol.iterator]()) as object, "next"],
  ["%RegExpStringIteratorPrototype%", getPrototypeOf("".matchAll(/a/g)) as object, "next"],
  ["%GeneratorPrototype%", GENERATOR, "next return"],
  ["%AsyncGeneratorPrototype%", ASYNC_GENERATOR, "next return"],
  ["Iterator.prototype", Iterator.prototype, "drop every filter find flatMap map reduce some take toArray"],
];

/** Constructors, by their names in `globalThis`. */
const GLOBALS =
  "AbortController AbortSignal Array ArrayBuffer BigInt Buffer Date Error JSON Map Math Number Object Promise Proxy " +
  "Reflect RegExp Set String Symbol TextDecoder TextEncoder TypeError URL Uint8Array WeakMap WeakSet clearTimeout " +
  "encodeURIComponent isNaN parseInt performance queueMicrotask setImmediate setTimeout structuredClone";

/** Members whose keys are symbols. */
const SYMBOLS: readonly (readonly [name: string, holder: object, key: symbol])[] = [
  ["Array.prototype[Symbol.iterator]", Array.prototype, Symbol.iterator],
  ["Array.prototype[Symbol.isConcatSpreadable]", Array.prototype, Symbol.isConcatSpreadable],
  ["Map.prototype[Symbol.iterator]", Map.prototype, Symbol.iterator],
  ["Set.prototype[Symbol.iterator]", Set.prototype, Symbol.iterator],
  ["String.prototype[Symbol.iterator]", String.prototype, Symbol.iterator],
  ["TypedArray.prototype[Symbol.iterator]", getPrototypeOf(Uint8Array.prototype) as object, Symbol.iterator],
  ["RegExp.prototype[Symbol.replace]", RegExp.prototype, Symbol.replace],
  ["RegExp.prototype[Symbol.split]", RegExp.prototype, Symbol.split],
  ["RegExp.prototype[Symbol.match]", RegExp.prototype, Symbol.match],
  ["RegExp.prototype[Symbol.matchAll]", RegExp.prototype, Symbol.matchAll],
  ["RegExp.prototype[Symbol.search]", RegExp.prototype, Symbol.search],
  ["Iterator.prototype[Symbol.iterator]", Iterator.prototype, Symbol.iterator],
  ["%AsyncIteratorPrototype%[Symbol.asyncIterator]", getPrototypeOf(ASYNC_GENERATOR) as object, Symbol.asyncIterator],
];

/** Getters of the language. */
const ACCESSORS: readonly (readonly [name: string, holder: object, key: PropertyKey])[] = [
  ["Map.prototype.size", Map.prototype, "size"],
  ["Set.prototype.size", Set.prototype, "size"],
  ["TypedArray.prototype.length", getPrototypeOf(Uint8Array.prototype) as object, "length"],
  ["TypedArray.prototype.byteLength", getPrototypeOf(Uint8Array.prototype) as object, "byteLength"],
  ["TypedArray.prototype.buffer", getPrototypeOf(Uint8Array.prototype) as object, "buffer"],
  ["TypedArray.prototype.byteOffset", getPrototypeOf(Uint8Array.prototype) as object, "byteOffset"],
  ["Uint8Array.prototype.length", Uint8Array.prototype, "length"],
  ["Uint8Array.prototype.byteLength", Uint8Array.prototype, "byteLength"],
  ["Buffer.prototype.length", Buffer.prototype, "length"],
  ["AbortController.prototype.signal", AbortController.prototype, "signal"],
  ["AbortSignal.prototype.aborted", AbortSignal.prototype, "aborted"],
  ...["flags", "hasIndices", "global", "ignoreCase", "multiline", "dotAll", "unicode", "unicodeSets", "sticky"].map(
    (key) => [`RegExp.prototype.${key}`, RegExp.prototype, key] as const,
  ),
  ["RegExp[Symbol.species]", RegExp, Symbol.species],
  ["Array[Symbol.species]", Array, Symbol.species],
  ["Promise[Symbol.species]", Promise, Symbol.species],
];

const watchedNow = (): Watched[] => [
  ...GLOBALS.split(" ").map((key): Watched => ({
    name: key,
    holder: globalThis,
    key,
    value: get(globalThis, key),
    isAccessor: false,
  })),
  ...METHODS.flatMap(([of, holder, methods]) =>
    methods
      .split(" ")
      .map((key): Watched => ({ name: `${of}.${key}`, holder, key, value: get(holder, key), isAccessor: false })),
  ),
  ...SYMBOLS.map(([name, holder, key]): Watched => ({ name, holder, key, value: get(holder, key), isAccessor: false })),
  ...ACCESSORS.map(([name, holder, key]): Watched => ({
    name,
    holder,
    key,
    value: getterOf(holder, key),
    isAccessor: true,
  })),
];

const getterOf = (holder: object, key: PropertyKey): unknown => getOwnPropertyDescriptor(holder, key)?.get;

/** What it is now. A value that cannot be read is another one. */
function valueNow({ holder, key, isAccessor }: Watched): unknown {
  try {
    return isAccessor ? getterOf(holder, key) : (holder as Record<PropertyKey, unknown>)[key];
  } catch {
    return UNREADABLE;
  }
}

const UNREADABLE = Symbol("unreadable");

const OBJECT: object = Object.prototype;

/** Properties that every object inherits. One more of them is in every object that codec and schemas look at. */
const inherited = (): readonly PropertyKey[] => ownKeys(OBJECT);

/** What a property is: absent, or how it is defined. */
interface Property {
  readonly holder: object;
  readonly key: PropertyKey;
  readonly is: PropertyDescriptor | undefined;
}

const propertyOf = (holder: object, key: PropertyKey): Property => {
  return { holder, key, is: getOwnPropertyDescriptor(holder, key) };
};

/** Makes the property what it was, as far as the language lets it. */
function putBack({ holder, key, is }: Property): void {
  try {
    if (is !== undefined) defineProperty(holder, key, is);
    else deleteProperty(holder, key);
  } catch {
    // Whatever code of the agent put there stays.
  }
}

/** Also where one is taken away and another one is added. */
function isInherited(before: readonly PropertyKey[]): boolean {
  const now = inherited();
  for (let index = 0; index < now.length; index += 1) if (now[index] !== before[index]) return false;
  return now.length === before.length;
}

/** The functions of the language as they are now. */
export class IntrinsicsNoted {
  readonly #watched = watchedNow();
  #inherited = inherited();
  #properties = this.#propertiesNow();

  /** The names of those that differ. */
  changed(): readonly string[] {
    const names: string[] = [];
    for (let index = 0; index < this.#watched.length; index += 1) {
      const each = this.#watched[index] as Watched;
      if (valueNow(each) !== each.value) names[names.length] = each.name;
    }
    if (names.length === 0 && !isInherited(this.#inherited)) names[0] = "Object.prototype";
    return names;
  }

  /** The first one that differs, or null. */
  firstChanged(): string | null {
    if (!isInherited(this.#inherited)) return "Object.prototype";
    for (let index = 0; index < this.#watched.length; index += 1) {
      const each = this.#watched[index] as Watched;
      if (valueNow(each) !== each.value) return each.name;
    }
    return null;
  }

  /** Accepts what they are now. */
  accept(): void {
    for (let index = 0; index < this.#watched.length; index += 1) {
      const each = this.#watched[index] as Watched;
      each.value = valueNow(each);
    }
    this.#inherited = inherited();
    this.#properties = this.#propertiesNow();
  }

  /**
   * Puts back what differs. The process still has to say that it ends: with a `toJSON` in every object, its supervisor or
   * its Lambda would get no readable word, and the run would count as one that killed it.
   */
  putBack(): void {
    const now = inherited();
    for (let index = 0; index < now.length; index += 1) {
      const key = now[index] as PropertyKey;
      if (!this.#isKnown(key)) putBack({ holder: OBJECT, key, is: undefined });
    }
    for (let index = 0; index < this.#properties.length; index += 1) putBack(this.#properties[index] as Property);
  }

  #isKnown(key: PropertyKey): boolean {
    for (let index = 0; index < this.#inherited.length; index += 1) if (this.#inherited[index] === key) return true;
    return false;
  }

  #propertiesNow(): readonly Property[] {
    return [
      ...this.#watched.map(({ holder, key }) => propertyOf(holder, key)),
      ...this.#inherited.map((key) => propertyOf(OBJECT, key)),
    ];
  }
}

/** The watcher of a process. */
export interface WatchedIntrinsics extends Intrinsics {
  /** Loads code of an agent. What its modules change is accepted, unless code of an agent is at work meanwhile. */
  readonly loading: <T>(load: () => Promise<T>) => Promise<T>;
}

/** `onChanged` is called once, before the first error is thrown, and once all is put back. It ends the process. */
export function watchIntrinsics(onChanged: (error: IntrinsicChanged) => void = () => {}): WatchedIntrinsics {
  const noted = new IntrinsicsNoted();
  const slots: (CodeAtWork | null)[] = [];
  let error: IntrinsicChanged | null = null;
  const check = (ran: CodeAtWork | null = null): void => {
    if (error !== null) throw error;
    const intrinsic = noted.firstChanged();
    if (intrinsic === null) return;
    const by = ran ?? onlyOne(slots);
    noted.putBack();
    error = new IntrinsicChanged(intrinsic, by && { run: by.run, tool: by.tool, epoch: by.epoch, intrinsic });
    onChanged(error);
    throw error;
  };
  return {
    check,
    enter: (code) => {
      let slot = 0;
      while (slot < slots.length && slots[slot] !== null) slot += 1;
      slots[slot] = code;
      return () => {
        slots[slot] = null;
      };
    },
    loading: async (load) => {
      check();
      try {
        return await load();
      } finally {
        // A tool that works meanwhile may be the one that changed something: the next check finds it.
        if (!hasTool(slots)) noted.accept();
      }
    },
  };
}

function hasTool(slots: readonly (CodeAtWork | null)[]): boolean {
  for (let index = 0; index < slots.length; index += 1) {
    const each = slots[index] ?? null;
    if (each !== null && each.tool !== null) return true;
  }
  return false;
}

/**
 * The code at work, if all of it is of one run. Of several runs none is blamed: each is tried again with fewer others
 * beside it, until it is certain.
 */
function onlyOne(slots: readonly (CodeAtWork | null)[]): CodeAtWork | null {
  let found: CodeAtWork | null = null;
  for (let index = 0; index < slots.length; index += 1) {
    const each = slots[index] ?? null;
    if (each === null) continue;
    if (found !== null && found.run !== each.run) return null;
    // Of several tools of one run, the one that began last is named.
    if (found === null || each.tool !== null) found = each;
  }
  return found;
}
