/** What an operator sees of a memory and removes from it: pages, searches, one entry, all of it; and nothing else. */
import { expect, test } from "vitest";
import { type MemoryScope, entryKey } from "../../src/features/memory/entries.ts";
import { memoryOf } from "../../src/features/memory/stored.ts";
import { readAudit } from "../../src/operations/access/audit.ts";
import { FORGOTTEN_MAX, forgetMemory, listMemory } from "../../src/operations/memory.ts";
import { performOperation } from "../../src/operations/perform.ts";
import { OPERATIONS } from "../../src/operations/table.ts";
import type { RecordKey, StoredRecord } from "../../src/ports/records.ts";
import { createHarness } from "../support/harness/harness.ts";

const SCOPE: MemoryScope = { tenant: "local", scope: "notes" };
const LIST = { query: null, limit: 50, after: null };

const contextIn = (world: ReturnType<typeof createHarness>["world"], tenant = "local") => ({
  ...{ world, tenant, by: "ada", agentOf: async () => null },
});

async function filled(count: number) {
  const { world, clock } = createHarness();
  const memory = memoryOf(world, SCOPE);
  for (let n = 0; n < count; n += 1) {
    // Two entries of each moment.
    if (n % 2 === 0) clock.moveTo(clock.now() + 1_000);
    await memory.put({ id: `e${String(n).padStart(3, "0")}`, text: `fact ${n}`, tags: ["fact"] });
  }
  return { world, clock, memory };
}

test("lists the newest first, page by page, each entry once, also while entries are forgotten", async () => {
  const { world, memory } = await filled(12);
  const ids: string[] = [];
  let after: string | null = null;
  do {
    const page = await listMemory(world, { ...SCOPE, ...LIST, limit: 5, after });
    expect({ count: page.count, entriesMax: page.entriesMax }).toEqual({
      count: 12 - (after === null ? 0 : 1),
      entriesMax: 500,
    });
    ids.push(...page.entries.map(({ id }) => id));
    // The entry at the place of the cursor goes.
    if (after === null) await memory.forget(ids.at(-1) ?? "");
    after = page.next;
  } while (after !== null);
  expect(ids).toEqual(["e010", "e011", "e008", "e009", "e006", "e007", "e004", "e005", "e002", "e003", "e000", "e001"]);
});

test.each(["", "x", "9", "-1.e000", "99999999999999999.e000", "\u0000"])(
  "gives an empty page for the cursor %j",
  async (after) => {
    const { world } = await filled(2);
    expect(await listMemory(world, { ...SCOPE, ...LIST, after })).toMatchObject({ entries: [], next: null, count: 2 });
  },
);

test("finds entries by words, best first, on one page", async () => {
  const { world, memory } = await filled(3);
  await memory.put({ id: "ferry", text: "The ferry leaves at nine." });
  const page = await listMemory(world, { ...SCOPE, ...LIST, query: "ferry", limit: 1 });
  expect(page).toMatchObject({
    entries: [{ id: "ferry", snippet: "The ferry leaves at nine." }],
    next: null,
    count: 4,
  });
  expect((await listMemory(world, { ...SCOPE, ...LIST, query: "zeppelin" })).entries).toEqual([]);
});

test.each(["", "a/b", "..", "x".repeat(3_000), "\u0000"])("knows no memory of the name %j", async (scope) => {
  const { world } = await filled(1);
  expect(await listMemory(world, { tenant: "local", scope, ...LIST })).toMatchObject({ entries: [], count: 0 });
  const context = contextIn(world);
  expect(await performOperation(OPERATIONS.memoryEntry, context, { scope, id: "e000" })).toEqual({ kind: "missing" });
  expect(await performOperation(OPERATIONS.forgetEntry, context, { scope, id: "e000" })).toEqual({ kind: "missing" });
  expect(await forgetMemory(world, { tenant: "local", scope, confirmed: true })).toMatchObject({
    entries: 0,
    sources: 0,
  });
});

test("forgets one entry of one tenant, and the audit log says who did it and why", async () => {
  const { world } = await filled(2);
  const given = { scope: "notes", id: "e000", why: "it is wrong" };
  expect(await performOperation(OPERATIONS.forgetEntry, contextIn(world, "other"), given)).toEqual({ kind: "missing" });
  const shown = await performOperation(OPERATIONS.memoryEntry, contextIn(world), { scope: "notes", id: "e000" });
  expect(shown).toMatchObject({ kind: "shown", entry: { text: "fact 0", tags: ["fact"] } });
  expect(await performOperation(OPERATIONS.forgetEntry, contextIn(world), given)).toMatchObject({ kind: "forgotten" });
  expect(await performOperation(OPERATIONS.forgetEntry, contextIn(world), given)).toEqual({ kind: "missing" });
  expect((await listMemory(world, { ...SCOPE, ...LIST })).entries.map(({ id }) => id)).toEqual(["e001"]);
  const log = { tenant: "local", run: null, actor: null, since: null, after: null };
  const { entries } = await readAudit(world, log);
  expect(new Set(entries.map(({ outcome }) => outcome))).toEqual(new Set(["forgotten", "missing"]));
  expect(entries.find(({ outcome }) => outcome === "forgotten")).toMatchObject({
    ...{ operation: "memory forget", actor: "ada", why: "it is wrong", details: { scope: "notes", id: "e000" } },
  });
});

test("forgets a whole memory with its sources once it is confirmed, and no other memory", async () => {
  const { world, memory } = await filled(3);
  const fetched = async () => ({ kind: "fetched", etag: "1", content: "the content" }) as const;
  await memory.fetch("https://example.org/a", fetched);
  const others = [
    memoryOf(world, { tenant: "local", scope: "other" }),
    memoryOf(world, { tenant: "acme", scope: "notes" }),
  ];
  for (const other of others) {
    await other.put({ id: "kept", text: "fact" });
    await other.fetch("https://example.org/a", fetched);
  }
  const context = contextIn(world);
  const asked = await performOperation(OPERATIONS.forgetMemory, context, { scope: "notes" });
  expect(asked).toEqual({ kind: "notConfirmed", scope: "notes", entries: 3 });
  expect((await listMemory(world, { ...SCOPE, ...LIST })).count).toBe(3);
  const done = await performOperation(OPERATIONS.forgetMemory, context, { scope: "notes", confirmed: true });
  expect(done).toEqual({ kind: "forgotten", scope: "notes", entries: 3, sources: 1, more: false });
  const left = [...world.store.records.values()].filter(({ about }) => about === "local/notes");
  expect(left.map(({ body }) => body)).toEqual([null, null, null, null]);
  const seen: unknown[] = [];
  await memory.fetch("https://example.org/a", async (kept) => {
    seen.push(kept);
    return fetched();
  });
  expect(seen).toEqual([null]);
  for (const other of others) {
    expect(await other.get(["kept"])).toHaveLength(1);
    const again = await other.fetch("https://example.org/a", async (kept) => ({
      kind: kept === null ? "fetched" : "unchanged",
      ...{ etag: null, content: "" },
    }));
    expect(again.from).toBe("confirmed");
  }
});

test("forgets at most so many records at once, and goes on where it stopped", async () => {
  const { world } = createHarness();
  const at = world.clock.now();
  for (let n = 0; n < FORGOTTEN_MAX + 2; n += 1) {
    const key = { kind: "source", about: "local/notes", id: `s${n}` } as const;
    await world.records.add({ ...key, tenant: "local", at, body: { source: `s${n}` }, expiresAtSec: null }, at);
  }
  const forget = () => forgetMemory(world, { ...SCOPE, confirmed: true });
  expect(await forget()).toMatchObject({ sources: FORGOTTEN_MAX, more: true });
  expect(await forget()).toMatchObject({ sources: 2, more: false });
  expect(await forget()).toMatchObject({ sources: 0, more: false });
});

/** How an entry can be damaged: its record cannot be read, or its record holds no entry. */
const DAMAGES = [
  ["has no body", undefined],
  ["holds no entry", { text: 7 }],
] as const;

function damage({ store: { records } }: ReturnType<typeof createHarness>["world"], of: RecordKey, body: unknown) {
  const key = JSON.stringify([of.kind, of.about, of.id]);
  const record = records.get(key);
  if (record === undefined) throw new Error("the record is not where the test looks");
  records.set(key, { ...record, body: body as StoredRecord["body"] });
}

test.each(DAMAGES)("names an entry whose record %s, lists the others, and forgets it", async (_name, body) => {
  const { world, memory } = await filled(2);
  damage(world, entryKey(SCOPE, "e000"), body);
  expect((await memory.search("fact")).map(({ id }) => id)).toEqual(["e001"]);
  for (const query of [null, "fact"]) {
    const page = await listMemory(world, { ...SCOPE, ...LIST, query });
    expect(page).toMatchObject({ entries: [{ id: "e001" }], damaged: ["e000"], count: 2, next: null });
  }
  const given = { scope: "notes", id: "e000" };
  await expect(performOperation(OPERATIONS.memoryEntry, contextIn(world), given)).rejects.toThrow(/e000/);
  expect(await performOperation(OPERATIONS.forgetEntry, contextIn(world), given)).toMatchObject({ kind: "forgotten" });
  expect(await performOperation(OPERATIONS.forgetEntry, contextIn(world), given)).toEqual({ kind: "missing" });
  expect(await listMemory(world, { ...SCOPE, ...LIST })).toMatchObject({ damaged: [], count: 1 });
  expect((await memory.put({ id: "e000", text: "fact 0" })).kind).toBe("kept");
});

test.each(DAMAGES)("forgets a whole memory with an entry and a source whose record %s", async (_name, body) => {
  const { world, memory } = await filled(2);
  await memory.fetch("https://example.org/a", async () => ({ kind: "fetched", etag: "1", content: "the content" }));
  const source = [...world.store.records.values()].find(({ kind }) => kind === "source");
  if (source === undefined) throw new Error("the source is not kept");
  for (const key of [entryKey(SCOPE, "e000"), source]) damage(world, key, body);
  const forget = (confirmed: boolean) => forgetMemory(world, { ...SCOPE, confirmed });
  expect(await forget(false)).toMatchObject({ kind: "notConfirmed", entries: 2 });
  expect(await forget(true)).toMatchObject({ kind: "forgotten", entries: 2, sources: 1, more: false });
  expect(await forget(true)).toMatchObject({ entries: 0, sources: 0 });
});
