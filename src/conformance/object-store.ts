/** ObjectStore: put once, for ever these bytes. */
import type { ObjectStore } from "../ports/object-store.ts";
import { type Case, insist, must, mustBe, mustEqual } from "./case.ts";
import { HOSTILE } from "./commits.ts";
import { times } from "./run.ts";

export interface ObjectStoreWorld {
  readonly objects: ObjectStore;
  /** Used by no other case and no earlier round; keys begin with it. */
  readonly prefix: string;
}

const LARGE_BYTES = 8 * 1024 * 1024;

export const objectStoreCases: readonly Case<ObjectStoreWorld>[] = [
  {
    name: "get returns what was put, and null where nothing was",
    run: async ({ objects, prefix }) => {
      mustEqual(await objects.get(`${prefix}/a`), null, "an object that nobody put");
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
];
