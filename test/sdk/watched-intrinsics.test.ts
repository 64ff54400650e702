/** What the watcher of a process notices, accepts and blames. */
import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, expect, test } from "vitest";
import { changedWhileLoaded } from "../../src/doctor/audit-missing.ts";
import { IntrinsicChanged } from "../../src/ports/intrinsics.ts";
import { intactWorld } from "../../src/sdk/intact-world.ts";
import { IntrinsicsNoted, watchIntrinsics } from "../../src/sdk/watched-intrinsics.ts";
import { createHarness } from "../support/harness/harness.ts";

const NAME = "TextDecoder.prototype.decode";
const own = Reflect.get(TextDecoder.prototype, "decode");
const change = (): void => {
  TextDecoder.prototype.decode = function decode(this: TextDecoder, ...given) {
    return Reflect.apply(own, this, given);
  };
};
afterEach(() => {
  TextDecoder.prototype.decode = own;
});

const at = (run: string, tool: string | null = null) => ({ run, epoch: 1, tool });

function blamed(act: () => void): IntrinsicChanged["culprit"] {
  try {
    act();
  } catch (error) {
    if (error instanceof IntrinsicChanged) return error.culprit;
  }
  throw new Error("nothing was noticed");
}

test("accepts what modules change while they are loaded, and names it in the audit", async () => {
  const noted = new IntrinsicsNoted();
  const watcher = watchIntrinsics();
  await watcher.loading(async () => change());
  expect(() => watcher.check()).not.toThrow();
  expect(noted.changed()).toEqual([NAME]);
  expect(changedWhileLoaded(noted.changed())).toEqual([
    expect.objectContaining({ what: "intrinsics", why: expect.stringContaining(NAME) }),
  ]);
  expect(changedWhileLoaded([])).toEqual([]);
});

test("does not accept a change while modules are loaded beside a tool at work", async () => {
  const watcher = watchIntrinsics();
  watcher.enter(at("a", "pay"));
  await watcher.loading(async () => change());
  expect(blamed(watcher.check)).toMatchObject({ run: "a", tool: "pay", intrinsic: NAME });
});

test("blames nobody when code of several runs was at work, unless only one of them can have run", () => {
  const several = watchIntrinsics();
  const exact = watchIntrinsics();
  for (const watcher of [several, exact]) for (const run of ["a", "b"]) watcher.enter(at(run, "pay"));
  change();
  expect(blamed(() => several.check())).toBeNull();
  change();
  expect(blamed(() => exact.check(at("b", "pay")))).toMatchObject({ run: "b", tool: "pay" });
});

test("blames no code that has ended, and says the same at each later check", () => {
  let changed = 0;
  const watcher = watchIntrinsics(() => (changed += 1));
  watcher.enter(at("a"))();
  watcher.enter(at("b"));
  change();
  expect(blamed(watcher.check)).toMatchObject({ run: "b", tool: null });
  expect(blamed(watcher.check)).toMatchObject({ run: "b", tool: null });
  expect(changed).toBe(1);
});

test("lets a world neither read nor write once something has changed", async () => {
  const world = intactWorld(createHarness().world, watchIntrinsics());
  expect(await world.objects.get("a")).toBeNull();
  change();
  expect(() => world.objects.put("a", new Uint8Array())).toThrow(IntrinsicChanged);
  expect(() => world.objects.get("a")).toThrow(IntrinsicChanged);
});

test("watches each function of the language that codec, protocol and engine call, unless it is read-only", async () => {
  const script = join(import.meta.dirname, "..", "support", "processes", "called-intrinsics.ts");
  const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", script]);
  expect(JSON.parse(stdout)).toEqual([]);
});

test("watches each static function, and each method that reads numbers, that the sources of a stored record name", () => {
  const rooms = "core codec protocol ports history engine adapters/aws adapters/local adapters/memory".split(" ");
  const files = rooms.flatMap((room) => globSync(join(import.meta.dirname, "../../src", room, "**/*.ts")));
  expect(files.length).toBeGreaterThan(300);
  const called = new Set(files.flatMap((file) => callsIn(readFileSync(file, "utf8"))));
  expect(called).toContain("Buffer.from");
  expect([...called].filter((name) => !isNoticed(name))).toEqual([]);
});

const HOLDERS = { Array, Buffer, Number, Promise, String, Uint8Array, AbortSignal };

/** Static functions, and the methods of buffers whose names no other type has. */
const callsIn = (source: string): readonly string[] => [
  ...[
    ...source.matchAll(/(?<!\/\/.*|\* .*)\b(Array|Buffer|Number|Promise|String|Uint8Array|AbortSignal)\.([a-z]\w*)\(/g),
  ].map(([, holder, key]) => `${holder}.${key}`),
  ...[...source.matchAll(/\.((?:read|write)U?Int\d+(?:BE|LE)?)\(/g)].map(([, key]) => `Buffer.prototype.${key}`),
];

/** Whether another function under that name is noticed. */
function isNoticed(name: string): boolean {
  const [holderName = "", key = ""] = name.replace(".prototype", "").split(".");
  const global = HOLDERS[holderName as keyof typeof HOLDERS] as { readonly prototype: object };
  const holder: object = name.includes(".prototype.") ? global.prototype : global;
  const before = Reflect.getOwnPropertyDescriptor(holder, key);
  const noted = new IntrinsicsNoted();
  try {
    Object.defineProperty(holder, key, { configurable: true, writable: true, value: () => null });
    return noted.firstChanged() !== null;
  } finally {
    Reflect.deleteProperty(holder, key);
    if (before !== undefined) Object.defineProperty(holder, key, before);
  }
}

const CARELESS: { readonly [name: string]: readonly [holder: object, key: PropertyKey, put: PropertyDescriptor] } = {
  "Array.prototype.findLastIndex": [Array.prototype, "findLastIndex", { value: () => -1 }],
  "String.prototype.toWellFormed": [String.prototype, "toWellFormed", { value: () => "" }],
  "String.fromCodePoint": [String, "fromCodePoint", { value: () => "" }],
  "Buffer.prototype.readUInt8": [Buffer.prototype, "readUInt8", { value: () => 0 }],
  "Number.isNaN": [Number, "isNaN", { value: () => true }],
  "RegExp.prototype.global": [RegExp.prototype, "global", { get: () => false }],
  "Iterator.prototype.map": [Iterator.prototype, "map", { value: () => [] }],
};

test.each(Object.entries(CARELESS))("notices another %s", (name, [holder, key, put]) => {
  const watcher = watchIntrinsics();
  const before = Reflect.getOwnPropertyDescriptor(holder, key) as PropertyDescriptor;
  let noticed: unknown = null;
  try {
    Object.defineProperty(holder, key, put);
    watcher.check();
  } catch (error) {
    noticed = error;
  } finally {
    Object.defineProperty(holder, key, before);
  }
  expect(noticed).toMatchObject({ intrinsic: name });
});

/** What is absent in the language, and would come between the engine and what it calls. */
const ADDED: { readonly [name: string]: readonly [holder: object, key: PropertyKey, put: PropertyDescriptor] } = {
  "Array.prototype.length": [Array.prototype, 3, { get: () => undefined, set: () => {} }],
  "Array.prototype.then": [Array.prototype, "then", { value: (take: (all: unknown) => void) => take([]) }],
  "Array.prototype[Symbol.isConcatSpreadable]": [Array.prototype, Symbol.isConcatSpreadable, { value: false }],
  "Uint8Array.prototype.subarray": [Uint8Array.prototype, "subarray", { value: () => new Uint8Array() }],
  "Uint8Array.prototype.length": [Uint8Array.prototype, "length", { get: () => 0 }],
  "Buffer.prototype.length": [Buffer.prototype, "length", { get: () => 0 }],
  "performance.now": [performance, "now", { value: () => 0 }],
};

test.each(Object.entries(ADDED))("notices %s where there was none, and takes it away", (name, [holder, key, put]) => {
  const watcher = watchIntrinsics();
  let noticed: unknown = null;
  let isLeft = true;
  try {
    Object.defineProperty(holder, key, { ...put, configurable: true });
    watcher.check();
  } catch (error) {
    noticed = error;
    isLeft = Object.hasOwn(holder, key);
  } finally {
    Reflect.deleteProperty(holder, key);
    Reflect.set(Array.prototype, "length", 0);
  }
  expect(noticed).toMatchObject({ intrinsic: name });
  expect(isLeft).toBe(false);
});

test.each<[says: string, change: () => void]>([
  [
    "a getter that every object inherits",
    () => {
      Reflect.defineProperty(Object.prototype, "toJSON", { configurable: true, get: () => () => ({}) });
    },
  ],
  ["a method that is gone", () => void Reflect.deleteProperty(Set.prototype, "has")],
])("puts back %s before it says so, since the word would be lost", (_, put) => {
  const said: string[] = [];
  const watcher = watchIntrinsics(({ code }) => said.push(JSON.stringify({ code, set: new Set([1]).has(1) })));
  put();
  expect(() => watcher.check()).toThrow(IntrinsicChanged);
  expect(said).toEqual(['{"code":"IntrinsicChanged","set":true}']);
  expect(() => watcher.check()).toThrow(IntrinsicChanged);
});

test("notices a property that every object inherits in place of another one", () => {
  const watcher = watchIntrinsics();
  const before = Reflect.getOwnPropertyDescriptor(Object.prototype, "__lookupSetter__") as PropertyDescriptor;
  let noticed: unknown = null;
  try {
    Reflect.deleteProperty(Object.prototype, "__lookupSetter__");
    Reflect.defineProperty(Object.prototype, "format", { value: 1, configurable: true, enumerable: true });
    watcher.check();
  } catch (error) {
    noticed = error;
  } finally {
    Reflect.deleteProperty(Object.prototype, "format");
    Reflect.defineProperty(Object.prototype, "__lookupSetter__", before);
  }
  expect(noticed).toMatchObject({ intrinsic: "Object.prototype" });
});
