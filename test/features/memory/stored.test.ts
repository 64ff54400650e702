/** The memory of a scope: bounds, redaction, expiry, search and damaged records. */
import { expect, test } from "vitest";
import { searchEntries } from "../../../src/features/memory/search.ts";
import { MEMORY, memoryOf } from "../../../src/features/memory/stored.ts";
import type { Records, StoredRecord } from "../../../src/ports/records.ts";
import { StoreUnreachable } from "../../../src/ports/world.ts";
import { createHarness } from "../../support/harness/harness.ts";
import { AWS_ID } from "../../support/runs/secret-leaks.ts";

const SCOPE = { tenant: "local", scope: "notes" };

function memoryInWorld() {
  const { world, clock } = createHarness();
  return { world, clock, memory: memoryOf(world, SCOPE) };
}

test("keeps as many entries as a scope may have, and no more", async () => {
  const { memory } = memoryInWorld();
  for (let n = 0; n < MEMORY.entriesMax; n += 1)
    expect((await memory.put({ id: `e${n}`, text: `fact ${n}` })).kind).toBe("kept");
  expect(await memory.put({ id: "more", text: "one more" })).toEqual({ kind: "full", entriesMax: MEMORY.entriesMax });
  expect((await memory.put({ id: "e7", text: "another fact" })).kind).toBe("kept");
  await memory.forget("e7");
  expect((await memory.put({ id: "more", text: "one more" })).kind).toBe("kept");
});

/** The world, which counts how often a page of a scope is listed. */
function countingWorld() {
  const { world } = createHarness();
  const lists: string[] = [];
  const list: Records["list"] = (query) => {
    lists.push(query.kind);
    return world.records.list(query);
  };
  return { world: { ...world, records: { ...world.records, list } }, lists };
}

test("reads the scope once for sixteen new entries, and never for one that is there", async () => {
  const { world, lists } = countingWorld();
  const memory = memoryOf(world, SCOPE);
  for (let n = 0; n < 16; n += 1) await memory.put({ id: `e${n}`, text: `fact ${n}` });
  expect(lists).toHaveLength(1);
  for (let n = 0; n < 16; n += 1) await memory.put({ id: `e${n}`, text: `another fact ${n}` });
  expect(lists).toHaveLength(1);
  await memory.put({ id: "e16", text: "fact 16" });
  expect(lists).toHaveLength(2);
});

test("fills a scope exactly with entries that are put at once", async () => {
  const { memory } = memoryInWorld();
  for (let n = 0; n < MEMORY.entriesMax - 5; n += 1) await memory.put({ id: `e${n}`, text: `fact ${n}` });
  const puts = await Promise.all(Array.from({ length: 40 }, (_, n) => memory.put({ id: `m${n}`, text: `more ${n}` })));
  expect(puts.filter(({ kind }) => kind === "kept")).toHaveLength(5);
  expect(puts.filter(({ kind }) => kind === "full")).toHaveLength(35);
});

test("puts an entry after one that the store refused", async () => {
  const { world } = createHarness();
  let isAway = true;
  const add: Records["add"] = async (...given) => {
    if (isAway) throw new StoreUnreachable("away");
    return world.records.add(...given);
  };
  const memory = memoryOf({ ...world, records: { ...world.records, add } }, SCOPE);
  await expect(memory.put({ id: "a", text: "one" })).rejects.toThrow(StoreUnreachable);
  isAway = false;
  expect((await memory.put({ id: "a", text: "one" })).kind).toBe("kept");
});

test("takes what was forgotten for absent, also by a clock that is behind", async () => {
  const { world, clock } = createHarness();
  const ahead = { ...world, clock: { ...world.clock, now: () => clock.now() + 5_000 } };
  const memory = memoryOf(world, SCOPE);
  await memory.put({ id: "a", text: "It leaves at nine." });
  await memory.put({ id: "b", text: "It leaves at ten." });
  await memoryOf(ahead, SCOPE).forget("a");
  expect({ entries: await memory.get(["a"]), found: (await memory.search("leaves")).map(({ id }) => id) }).toEqual({
    entries: [],
    found: ["b"],
  });
  expect(await memory.forget("a")).toEqual({ kind: "missing" });
  expect((await memory.put({ id: "a", text: "It leaves at one." })).kind).toBe("kept");
  expect((await memory.get(["a"])).map(({ text }) => text)).toEqual(["It leaves at one."]);
});

test("removes secrets from an entry before it is written", async () => {
  const { memory, world } = memoryInWorld();
  await memory.put({ id: "a", text: `The ID is ${AWS_ID}.`, tags: [AWS_ID], source: `https://x.example/${AWS_ID}` });
  expect(JSON.stringify([...world.store.records.values()])).not.toContain(AWS_ID);
  expect((await memory.put({ id: AWS_ID, text: "text" })).kind).toBe("refused");
  const fetched = await memory.fetch("s", async () => ({ kind: "fetched", etag: null, content: AWS_ID }));
  expect(fetched).toMatchObject({ content: AWS_ID, isKept: false });
  expect(JSON.stringify([...world.store.records.values()])).not.toContain(AWS_ID);
});

test("treats an entry as gone when its life is over", async () => {
  const { memory, clock } = memoryInWorld();
  await memory.put({ id: "a", text: "It leaves at nine.", lifeMs: 60_000 });
  clock.moveTo(clock.now() + 59_000);
  expect(await memory.get(["a"])).toHaveLength(1);
  clock.moveTo(clock.now() + 2_000);
  expect({ entries: await memory.get(["a"]), found: await memory.search("nine") }).toEqual({ entries: [], found: [] });
});

test("refuses a tenant that is none, since it could name the memory of another one", () => {
  const { world } = createHarness();
  expect(() => memoryOf(world, { tenant: "a/b", scope: "notes" })).toThrow('"a/b" is no tenant');
});

test.each([
  ["too large", "x".repeat(384 * 1024)],
  ["too large as JSON", '"a","b"\n'.repeat(30 * 1024)],
])("does not keep a source that is %s, and says so", async (_, large) => {
  const { memory } = memoryInWorld();
  const fetch = () =>
    memory.fetch("s", async (kept) => (expect(kept).toBeNull(), { kind: "fetched", etag: "1", content: large }));
  expect((await fetch()).isKept).toBe(false);
  expect((await fetch()).from).toBe("source");
});

test("keeps a source of 300 KB", async () => {
  const { memory } = memoryInWorld();
  const fetch = () =>
    memory.fetch("s", async () => ({ kind: "fetched", etag: "1", content: "x".repeat(300 * 1024) }), {
      freshMs: 1_000,
    });
  expect((await fetch()).isKept).toBe(true);
  expect((await fetch()).from).toBe("kept");
});

test("refuses an answer that a source without a kept version is unchanged", async () => {
  const { memory } = memoryInWorld();
  await expect(memory.fetch("s", async () => ({ kind: "unchanged" }))).rejects.toThrow(/s has no kept version/);
});

test.each([undefined, { content: 7 }])(
  "takes a kept source with the body %j for absent, and keeps it anew",
  async (body) => {
    const { memory, world } = memoryInWorld();
    const kept: unknown[] = [];
    const fetch = () =>
      memory.fetch("s", async (known) => (kept.push(known), { kind: "fetched", etag: "1", content: "c" }), {
        freshMs: 1_000,
      });
    await fetch();
    for (const [key, record] of world.store.records)
      world.store.records.set(key, { ...record, body: body as StoredRecord["body"] });
    expect(await fetch()).toMatchObject({ from: "source", content: "c", isKept: true });
    expect(kept).toEqual([null, null]);
    expect((await fetch()).from).toBe("kept");
  },
);

test("counts a damaged entry among those that a scope may have", async () => {
  const { memory, world } = memoryInWorld();
  for (let n = 0; n < MEMORY.entriesMax; n += 1) await memory.put({ id: `e${n}`, text: `fact ${n}` });
  const [[key, { body: _, ...rest }] = ["", {} as StoredRecord]] = world.store.records;
  world.store.records.set(key, rest as StoredRecord);
  expect((await memory.put({ id: "more", text: "one more" })).kind).toBe("full");
});

test("asks a source again when its content is not fresh any more", async () => {
  const { memory, clock } = memoryInWorld();
  const fetch = () =>
    memory.fetch(
      "s",
      async (kept) => (kept === null ? { kind: "fetched", etag: "1", content: "c" } : { kind: "unchanged" }),
      { freshMs: 1_000 },
    );
  expect((await fetch()).from).toBe("source");
  expect((await fetch()).from).toBe("kept");
  clock.moveTo(clock.now() + 1_000);
  expect((await fetch()).from).toBe("confirmed");
  expect((await fetch()).from).toBe("kept");
});

test("shows the part of a long text that has the word", () => {
  const entry = {
    id: "a",
    text: `${"before ".repeat(100)}zeppelin ${"after ".repeat(100)}`,
    tags: [],
    at: 1,
    digest: "d",
  };
  const [hit] = searchEntries([entry], "Zéppelin", { limit: 10 });
  expect(hit?.snippet).toMatch(/^….*zeppelin.*…$/);
  expect(hit?.snippet.length).toBeLessThanOrEqual(242);
});

test("shows the part of a long text that has the word with accents", () => {
  const text = `${"before ".repeat(100)}Zéppelin ${"after ".repeat(100)}`;
  const [hit] = searchEntries([{ id: "a", text, tags: [], at: 1, digest: "d" }], "zeppelin", { limit: 10 });
  expect(hit?.snippet).toMatch(/^….*Zéppelin.*…$/);
});

test.each([
  ["Japanese", "フェリーの遅延", "フェリー遅延について", "天気の予報"],
  ["Chinese", "渡轮延误", "关于渡轮延误的评论", "天气预报"],
  ["Thai", "เรือข้ามฟาก", "วันนี้เรือข้ามฟากล่าช้า", "อากาศดี"],
  ["one character", "船", "船", "渡船"],
])("finds words in a text without spaces: %s", (_, query, text, other) => {
  const entryOf = (id: string, text: string) => ({ id, text, tags: [], at: 1, digest: id });
  const hits = searchEntries([entryOf("other", other), entryOf("found", text)], query, { limit: 10 });
  expect(hits[0]?.id).toBe("found");
  expect(searchEntries([entryOf("a", "ferry船")], "ferry", { limit: 10 })).toHaveLength(1);
});
