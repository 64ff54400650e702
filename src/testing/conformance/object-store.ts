/** ObjectStore: put once, for ever these bytes, until a whole prefix is removed. */
import type { FoundKey, ObjectStore } from "../../ports/object-store.ts";
import { type Case, insist, must, mustBe, mustEqual } from "./case.ts";
import { HOSTILE } from "./commits.ts";
import { times } from "./run.ts";

export interface ObjectStoreWorld {
  readonly objects: ObjectStore;
  /** Used by no other case and no earlier round; keys begin with it. */
  readonly prefix: string;
  /** By the clock that says when an object was put, or close to it. */
  readonly now: () => number;
}

/** How far the two clocks of `now` may differ. */
const CLOCKS_MS = 60_000;
const LARGE_BYTES = 8 * 1024 * 1024;

export const objectStoreCases: readonly Case<ObjectStoreWorld>[] = [
  {
    name: "get returns what was put, and null where nothing was",
    run: async ({ objects, prefix }) => {
      mustEqual(await objects.get(`${prefix}/a`), null, "an object that was not put");
      await mustBe(() => objects.put(`${prefix}/a`, Uint8Array.of(0, 255, 10, 13)), "stored");
      mustEqual(await objects.get(`${prefix}/a`), Uint8Array.of(0, 255, 10, 13), "the object");
      mustEqual(await objects.get(`${prefix}/`), null, "a prefix of its key");
      mustEqual(await objects.get(`${prefix}/a/b`), null, "a key below its key");
    },
  },
  {
    name: "put creates and never replaces, whatever the bytes",
    run: async ({ objects, prefix }) => {
      const key = `${prefix}/once`;
      await mustBe(() => objects.put(key, Uint8Array.of(1)), "stored");
      await mustBe(() => objects.put(key, Uint8Array.of(2)), "exists");
      await mustBe(() => objects.put(key, Uint8Array.of(1)), "exists");
      mustEqual(await objects.get(key), Uint8Array.of(1), "the object");
    },
  },
  {
    name: "of 50 puts at once under one key one is stored",
    run: async ({ objects, prefix }) => {
      const key = `${prefix}/race`;
      const outcomes = await Promise.all(times(50, (index) => insist(() => objects.put(key, Uint8Array.of(index)))));
      const stored = outcomes.flatMap(({ kind }, index) => (kind === "stored" ? [index] : []));
      must(stored.length <= 1, "two writers were told `stored`");
      const found = await objects.get(key);
      must(found !== null && stored.every((index) => found[0] === index), "the object is not the one that was stored");
    },
  },
  {
    name: "hostile keys are kept apart",
    run: async ({ objects, prefix }) => {
      const keys = HOSTILE.map((name) => `${prefix}/${name.slice(0, 400)}`);
      for (const [index, key] of keys.entries()) await mustBe(() => objects.put(key, Uint8Array.of(index)), "stored");
      for (const [index, key] of keys.entries()) mustEqual(await objects.get(key), Uint8Array.of(index), key);
    },
  },
  {
    name: "an empty object and a large one come back as they were",
    run: async ({ objects, prefix }) => {
      await mustBe(() => objects.put(`${prefix}/empty`, new Uint8Array()), "stored");
      mustEqual(await objects.get(`${prefix}/empty`), new Uint8Array(), "the empty object");
      const large = new Uint8Array(LARGE_BYTES).map((_, index) => index % 251);
      await mustBe(() => objects.put(`${prefix}/large`, large), "stored");
      const found = await objects.get(`${prefix}/large`);
      must(found !== null && Buffer.compare(found, large) === 0, "the large object came back changed");
    },
  },
  {
    name: "what a caller changes after a put, or in what it got, is not stored",
    run: async ({ objects, prefix }) => {
      const bytes = Uint8Array.of(1, 2, 3);
      await mustBe(() => objects.put(`${prefix}/mine`, bytes), "stored");
      bytes.fill(9);
      (await objects.get(`${prefix}/mine`))?.fill(8);
      mustEqual(await objects.get(`${prefix}/mine`), Uint8Array.of(1, 2, 3), "the object");
    },
  },
  {
    name: "next goes from key to key in the order of their bytes, each once, and says when it was put",
    run: async ({ objects, prefix, now }) => {
      const before = now();
      const names = ["a", "a/b", "a0", "B", "~", "\u{FF5E}", "\u{1F9ED}", ...HOSTILE.map((name) => name.slice(0, 400))];
      const keys = names.map((name) => `${prefix}/${name}`);
      for (const key of keys) await mustBe(() => objects.put(key, Uint8Array.of(1)), "stored");
      const found = await walk(objects, `${prefix}/`);
      const inOrder = keys.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
      mustEqual(
        found.map(({ key }) => key),
        inOrder,
        "the keys",
      );
      const [from, to] = [before - CLOCKS_MS, now() + CLOCKS_MS];
      must(
        found.every(({ putAt }) => putAt >= from && putAt <= to),
        "a key has the time of its put",
      );
      // From the middle of a key, and from one that is not there.
      mustEqual((await objects.next(`${prefix}/a/`))?.key, `${prefix}/a/b`, "the key after the beginning of one");
      mustEqual(
        (await objects.next(`${prefix}/a1`))?.key.startsWith(`${prefix}/`),
        true,
        "the key after an absent one",
      );
    },
  },
  {
    name: "removeUnder removes what begins with that text and nothing else",
    run: async ({ objects, prefix }) => {
      const below = ["a_b/", "a_b/x", "a_b/x/y", ...HOSTILE.map((name) => `a_b/${name.slice(0, 400)}`)];
      const beside = ["a_b", "a_b0", "a_b.", "aXb/x", "A_B/x", "a%b/x", "a", "z/a_b/x"];
      const put = async (names: readonly string[]): Promise<void> => {
        for (const name of names) await mustBe(() => objects.put(`${prefix}/${name}`, Uint8Array.of(1)), "stored");
      };
      await put([...below, ...beside]);
      await objects.removeUnder(`${prefix}/a_b/`);
      for (const name of below) mustEqual(await objects.get(`${prefix}/${name}`), null, `the object ${name}`);
      for (const name of beside) must((await objects.get(`${prefix}/${name}`)) !== null, `${name} is gone`);
      await objects.removeUnder(`${prefix}/a_b/`);
      await put(below);
      must((await objects.get(`${prefix}/a_b/x`)) !== null, "a key that was removed can be put again");
    },
  },
  {
    name: "removeUnder removes any number of objects",
    run: async ({ objects, prefix }) => {
      // More than a page of any store.
      const keys = times(1_100, (index) => `${prefix}/many/${index}`);
      await Promise.all(keys.map((key) => mustBe(() => objects.put(key, Uint8Array.of(1)), "stored")));
      await objects.removeUnder(`${prefix}/many/`);
      const found = await objects.next(`${prefix}/many/`);
      must(found === null || !found.key.startsWith(`${prefix}/many/`), "an object is left");
    },
  },
  {
    name: "the objects say which store they are, always the same",
    run: async ({ objects }) => {
      const id = await objects.storeId();
      must(id.length > 0, "a store has a name");
      mustEqual(await objects.storeId(), id, "the name at the next look");
    },
  },
];

/** Every key below that text. */
async function walk(objects: ObjectStore, below: string): Promise<readonly FoundKey[]> {
  const all: FoundKey[] = [];
  let from = below;
  for (;;) {
    const found = await objects.next(from);
    if (found === null || !found.key.startsWith(below)) return all;
    must(!all.some(({ key }) => key === found.key), "a key comes twice");
    all.push(found);
    from = found.key;
  }
}
