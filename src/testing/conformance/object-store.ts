/** The contract of ObjectStore: an object is written once and never changes, until its whole prefix is removed. */
import type { FoundKey, ObjectStore } from "../../ports/object-store.ts";
import { type Case, insist, must, mustBe, mustEqual } from "./case.ts";
import { HOSTILE } from "./commits.ts";
import { times } from "./run.ts";

/** What the object store cases need of a world. */
export interface ObjectStoreWorld {
  readonly objects: ObjectStore;
  /** The prefix of all keys of the case. No other case and no earlier round may use it. */
  readonly prefix: string;
  /** The time of the clock that stamps objects, or close to it; epoch milliseconds. */
  readonly now: () => number;
}

/** How far `now` may differ from the clock that stamps objects. */
const CLOCKS_MS = 60_000;
const LARGE_BYTES = 8 * 1024 * 1024;

/** The contract of the port `ObjectStore`. */
export const objectStoreCases: readonly Case<ObjectStoreWorld>[] = [
  {
    name: "get returns the bytes that were put, and null for other keys",
    run: async ({ objects, prefix }) => {
      mustEqual(await objects.get(`${prefix}/a`), null, "an object that was not put");
      await mustBe(() => objects.put(`${prefix}/a`, Uint8Array.of(0, 255, 10, 13)), "stored");
      mustEqual(await objects.get(`${prefix}/a`), Uint8Array.of(0, 255, 10, 13), "the object");
      mustEqual(await objects.get(`${prefix}/`), null, "a prefix of its key");
      mustEqual(await objects.get(`${prefix}/a/b`), null, "a key below its key");
    },
  },
  {
    name: "put creates an object and never replaces it, whatever the bytes",
    run: async ({ objects, prefix }) => {
      const key = `${prefix}/once`;
      await mustBe(() => objects.put(key, Uint8Array.of(1)), "stored");
      await mustBe(() => objects.put(key, Uint8Array.of(2)), "exists");
      await mustBe(() => objects.put(key, Uint8Array.of(1)), "exists");
      mustEqual(await objects.get(key), Uint8Array.of(1), "the object");
    },
  },
  {
    name: "stores one object when 50 puts use one key at once",
    run: async ({ objects, prefix }) => {
      const key = `${prefix}/race`;
      const outcomes = await Promise.all(times(50, (index) => insist(() => objects.put(key, Uint8Array.of(index)))));
      const stored = outcomes.flatMap(({ kind }, index) => (kind === "stored" ? [index] : []));
      must(stored.length <= 1, "at most one writer gets `stored`");
      const found = await objects.get(key);
      must(
        found !== null && stored.every((index) => found[0] === index),
        "the object is the one of the writer that got `stored`",
      );
    },
  },
  {
    name: "keeps hostile keys apart",
    run: async ({ objects, prefix }) => {
      const keys = HOSTILE.map((name) => `${prefix}/${name.slice(0, 400)}`);
      for (const [index, key] of keys.entries()) await mustBe(() => objects.put(key, Uint8Array.of(index)), "stored");
      for (const [index, key] of keys.entries()) mustEqual(await objects.get(key), Uint8Array.of(index), key);
    },
  },
  {
    name: "returns an empty object and a large one unchanged",
    run: async ({ objects, prefix }) => {
      await mustBe(() => objects.put(`${prefix}/empty`, new Uint8Array()), "stored");
      mustEqual(await objects.get(`${prefix}/empty`), new Uint8Array(), "the empty object");
      const large = new Uint8Array(LARGE_BYTES).map((_, index) => index % 251);
      await mustBe(() => objects.put(`${prefix}/large`, large), "stored");
      const found = await objects.get(`${prefix}/large`);
      must(found !== null && Buffer.compare(found, large) === 0, "the large object is unchanged");
    },
  },
  {
    name: "does not store what a caller changes in its bytes after a put or a get",
    run: async ({ objects, prefix }) => {
      const bytes = Uint8Array.of(1, 2, 3);
      await mustBe(() => objects.put(`${prefix}/mine`, bytes), "stored");
      bytes.fill(9);
      (await objects.get(`${prefix}/mine`))?.fill(8);
      mustEqual(await objects.get(`${prefix}/mine`), Uint8Array.of(1, 2, 3), "the object");
    },
  },
  {
    name: "keysAfter returns the keys in byte order, each once, with the time of its put",
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
      // After a prefix of a key, and after a key that does not exist.
      mustEqual(
        (await objects.keysAfter(`${prefix}/a/`, 1))[0]?.key,
        `${prefix}/a/b`,
        "the key after the beginning of one",
      );
      mustEqual(
        (await objects.keysAfter(`${prefix}/a1`, 1))[0]?.key.startsWith(`${prefix}/`),
        true,
        "the key after an absent one",
      );
    },
  },
  {
    name: "removeUnder removes the keys with that prefix and no others",
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
      // More than one page in any store.
      const keys = times(1_100, (index) => `${prefix}/many/${index}`);
      await Promise.all(keys.map((key) => mustBe(() => objects.put(key, Uint8Array.of(1)), "stored")));
      await objects.removeUnder(`${prefix}/many/`);
      const [found] = await objects.keysAfter(`${prefix}/many/`, 1);
      must(found === undefined || !found.key.startsWith(`${prefix}/many/`), "no object is left");
    },
  },
  {
    name: "storeId returns the same ID every time",
    run: async ({ objects }) => {
      const id = await objects.storeId();
      must(id.length > 0, "a store has an ID");
      mustEqual(await objects.storeId(), id, "the ID at the next call");
    },
  },
];

/** All keys with the prefix `below`, from pages of several sizes. */
async function walk(objects: ObjectStore, below: string): Promise<readonly FoundKey[]> {
  const all: FoundKey[] = [];
  let from = below;
  for (let limit = 1; ; limit = (limit % 3) + 1) {
    const found = await objects.keysAfter(from, limit);
    must(found.length <= limit, "a page has at most as many keys as were asked for");
    if (found.length === 0) return all;
    for (const each of found) {
      if (!each.key.startsWith(below)) return all;
      must(!all.some(({ key }) => key === each.key), "each key comes once");
      all.push(each);
      from = each.key;
    }
  }
}
