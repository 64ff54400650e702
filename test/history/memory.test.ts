/** The memory of a scope: bounds, redaction, expiry, search and damaged records. */
import { expect, test } from "vitest";
import { searchEntries } from "../../src/history/memory-search.ts";
import { MEMORY, memoryOf } from "../../src/history/memory.ts";
import { createHarness } from "../support/harness/harness.ts";
import { AWS_ID } from "../support/runs/secret-leaks.ts";

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
  expect([await memory.get(["a"]), await memory.search("nine")]).toEqual([[], []]);
});

test("refuses a tenant that is none, since it could name the memory of another one", () => {
  const { world } = createHarness();
  expect(() => memoryOf(world, { tenant: "a/b", scope: "notes" })).toThrow('"a/b" is no tenant');
});

test("does not keep a source that is too large, and says so", async () => {
  const { memory } = memoryInWorld();
  const large = "x".repeat(256 * 1024 + 1);
  const fetch = () =>
    memory.fetch("s", async (kept) => (expect(kept).toBeNull(), { kind: "fetched", etag: "1", content: large }));
  expect((await fetch()).isKept).toBe(false);
  expect((await fetch()).from).toBe("source");
});

test("refuses an answer that a source without a kept version is unchanged", async () => {
  const { memory } = memoryInWorld();
  await expect(memory.fetch("s", async () => ({ kind: "unchanged" }))).rejects.toThrow(/s has no kept version/);
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
  const [hit] = searchEntries([entry], "Zéppelin");
  expect(hit?.snippet).toMatch(/^….*zeppelin.*…$/);
  expect(hit?.snippet.length).toBeLessThanOrEqual(242);
});
