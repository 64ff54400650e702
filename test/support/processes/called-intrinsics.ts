/**
 * A process that plays a run with one kill, and prints which functions of the language its codec, protocol and engine
 * called although nothing watches them and nothing makes them read-only. One that a tool replaces would change records.
 */
import { Hash } from "node:crypto";
import { z } from "zod";
import { defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import { protectIntrinsics } from "../../../src/sdk/protect-intrinsics.ts";
import { IntrinsicsNoted } from "../../../src/sdk/watched-intrinsics.ts";
import { fakeService, runAgent } from "../../../src/testing/kit/index.ts";

const { apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;

const desk = fakeService({ name: "desk", reply: () => ({ page: "zé".repeat(30_000) }) });
const clerk = defineAgent({
  ...{ name: "clerk", version: "1", instructions: "File it.", task: z.object({ n: z.number() }).loose() },
  model: scriptedModel({
    name: "clerk",
    reply: ({ calls }) =>
      calls.length < 4
        ? {
            text: "é",
            calls: [
              { tool: "file", args: { list: [1, 2.5, `é${calls.length}`] } },
              { tool: "look", args: { at: calls.length } },
            ],
          }
        : { text: "done ".repeat(20_000) },
  }),
  tools: {
    file: tool({ input: z.object({ list: z.array(z.any()) }), effect: "keyed", run: () => null }),
    look: tool({
      input: z.object({ at: z.number() }),
      effect: "none",
      run: () => "password=hunter2 https://u:p@x.example",
    }),
  },
  budget: { beats: 50 },
});
const play = () => runAgent(clerk, { input: { n: 1 }, tools: { file: desk }, killAt: "after:effect:file" });

/** Everything that a name of the language leads to, by that name. */
function holders(): ReadonlyMap<string, object> {
  const found = new Map<string, object>([["globalThis", globalThis]]);
  const names =
    "Array Object Map Set WeakMap WeakSet Promise String Number Math Date RegExp Uint8Array Buffer Reflect Symbol JSON " +
    "AbortSignal AbortController Error TypeError BigInt Function ArrayBuffer DataView Boolean TextEncoder TextDecoder Iterator URL";
  for (const name of names.split(" ")) {
    const holder = Reflect.get(globalThis, name) as object & { readonly prototype?: object };
    found.set(name, holder);
    if (holder.prototype !== undefined) found.set(`${name}.prototype`, holder.prototype);
  }
  const above = (value: object, levels: number): object =>
    levels === 0 ? value : above(getPrototypeOf(value) as object, levels - 1);
  return found
    .set("TypedArray", above(Uint8Array, 1))
    .set("TypedArray.prototype", above(Uint8Array.prototype, 1))
    .set("%ArrayIteratorPrototype%", above([].values(), 1))
    .set("%MapIteratorPrototype%", above(new Map().values(), 1))
    .set("%SetIteratorPrototype%", above(new Set().values(), 1))
    .set("%StringIteratorPrototype%", above(""[Symbol.iterator](), 1))
    .set("%RegExpStringIteratorPrototype%", above("".matchAll(/a/g), 1))
    .set("%GeneratorPrototype%", above((function* () {})(), 2))
    .set("%AsyncGeneratorPrototype%", above((async function* () {})(), 2))
    .set("%AsyncIteratorPrototype%", above((async function* () {})(), 3))
    .set("Hash.prototype", Hash.prototype);
}

await play();
protectIntrinsics();
const noted = new IntrinsicsNoted();
const called = new Set<string>();
const restorers: (() => void)[] = [];
let isOn = false;

/** The function, which notes that it was called. */
function counted(name: string, real: object): object {
  const note = (): void => {
    if (!isOn) return;
    isOn = false;
    called.add(name);
    isOn = true;
  };
  return new Proxy(real, {
    apply: (target, self, given) => {
      note();
      return apply(target as (...args: unknown[]) => unknown, self, given) as unknown;
    },
    construct: (target, given, type) => {
      note();
      return construct(target as new () => object, given, type) as object;
    },
  });
}

for (const [holderName, holder] of holders()) {
  for (const key of ownKeys(holder)) {
    const own = getOwnPropertyDescriptor(holder, key);
    // Of the accessors of `globalThis` the value counts, which is watched. Node's own symbols are not of the language.
    const isOfLanguage =
      typeof key === "string" ? !["constructor", "prototype"].includes(key) : key.description?.startsWith("Symbol.");
    if (own?.configurable !== true || isOfLanguage !== true || (holder === globalThis && own.get !== undefined))
      continue;
    const name = `${holderName}.${String(key)}`;
    const { value, get } = own as { readonly value?: unknown; readonly get?: object };
    const next =
      typeof value === "function"
        ? { ...own, value: counted(name, value) }
        : get && { ...own, get: counted(name, get) as () => unknown };
    if (next === undefined) continue;
    defineProperty(holder, key, next);
    const isWatched = noted.firstChanged() !== null;
    if (isWatched) defineProperty(holder, key, own);
    else restorers.push(() => defineProperty(holder, key, own));
  }
}
isOn = true;
await play();
isOn = false;
for (const restore of restorers) restore();
process.stdout.write(JSON.stringify([...called]));
