/** A memory over HTTP: its owner's tenant sees and steers it, and nobody else. */
import { expect, test } from "vitest";
import { memoryOf } from "../../src/features/memory/stored.ts";
import { SCOPES } from "../../src/operations/operation.ts";
import { createApiHarness } from "../support/harness/api-harness.ts";

const EVE = { caller: { tenant: "other", actor: "eve", scopes: SCOPES } };
/** What an ID may consist of, as a path has to carry it. */
const HARD = "a/b?c=%2F#d&e..";

async function withEntries() {
  const harness = createApiHarness();
  const memory = memoryOf(harness.world, { tenant: "local", scope: "harbour" });
  await memory.put({ id: "ferry", text: "<b>Ferries</b> leave at nine.", tags: ["ferry"], source: "the timetable" });
  harness.clock.moveTo(harness.clock.now() + 1_000);
  await memory.put({ id: HARD, text: "Trains leave at ten." });
  return { harness, memory };
}

test("is listed page by page, searched, and shown entry by entry", async () => {
  const { harness } = await withEntries();
  const first = await harness.ask({ path: "/memory/harbour?limit=1" });
  expect(first.body).toMatchObject({
    kind: "listed",
    scope: "harbour",
    count: 2,
    entriesMax: 500,
    entries: [{ id: HARD }],
  });
  const after = encodeURIComponent(String(first.body["next"]));
  const second = await harness.ask({ path: `/memory/harbour?limit=1&after=${after}` });
  expect(second.body).toMatchObject({ entries: [{ id: "ferry" }], next: null });
  const found = await harness.ask({ path: "/memory/harbour?query=trains%20zeppelin" });
  expect(found.body).toMatchObject({ entries: [{ id: HARD, snippet: "Trains leave at ten." }], next: null });
  const entry = await harness.ask({ path: "/memory/harbour/ferry" });
  expect(entry.headers.get("content-type")).toBe("application/json");
  expect(entry.body).toMatchObject({ entry: { text: "<b>Ferries</b> leave at nine.", source: "the timetable" } });
  const hard = await harness.ask({ path: `/memory/harbour/${encodeURIComponent(HARD)}` });
  expect(hard.body).toMatchObject({ entry: { id: HARD } });
});

test("is empty for another tenant, which can forget nothing of it", async () => {
  const { harness, memory } = await withEntries();
  expect((await harness.ask({ path: "/memory/harbour" }, EVE)).body).toMatchObject({ count: 0, entries: [] });
  for (const method of ["GET", "DELETE"]) {
    const { status, body } = await harness.ask({ method, path: "/memory/harbour/ferry" }, EVE);
    expect({ status, code: body["code"] }).toEqual({ status: 404, code: "MemoryEntryUnknown" });
  }
  const all = await harness.ask({ method: "DELETE", path: "/memory/harbour?confirmed=true" }, EVE);
  expect(all.body).toMatchObject({ kind: "forgotten", entries: 0 });
  expect(await memory.get(["ferry"])).toHaveLength(1);
});

test("is forgotten by who has the scope admin alone: an entry, or all of it once that is confirmed", async () => {
  const { harness, memory } = await withEntries();
  const reader = { caller: { tenant: "local", actor: "ada", scopes: SCOPES.filter((scope) => scope !== "admin") } };
  for (const path of ["/memory/harbour/ferry", "/memory/harbour?confirmed=true"]) {
    const { status, body } = await harness.ask({ method: "DELETE", path }, reader);
    expect({ status, code: body["code"] }).toEqual({ status: 403, code: "ScopeMissing" });
  }
  expect((await harness.ask({ method: "DELETE", path: "/memory/harbour/ferry?why=wrong" })).body).toMatchObject({
    ...{ kind: "forgotten", id: "ferry" },
  });
  const asked = await harness.ask({ method: "DELETE", path: "/memory/harbour" });
  expect({ status: asked.status, code: asked.body["code"], outcome: asked.body["outcome"] }).toMatchObject({
    status: 409,
    code: "NotConfirmed",
    outcome: { entries: 1 },
  });
  expect(await memory.search("")).toHaveLength(1);
  const done = await harness.ask({ method: "DELETE", path: "/memory/harbour?confirmed=true" });
  expect(done.body).toMatchObject({ kind: "forgotten", entries: 1, sources: 0, more: false });
  expect(await memory.search("")).toEqual([]);
  const { body } = await harness.ask({ path: "/audit-log" });
  const operations = (body["entries"] as readonly { readonly operation: string }[]).map(({ operation }) => operation);
  expect(operations.toSorted()).toEqual(["memory forget", "memory forget --all", "memory forget --all"]);
});

test.each(["limit=0", "limit=501", `query=${"x".repeat(1_001)}`, "surprise=1"])(
  "refuses the parameter %s",
  async (query) => {
    const { harness } = await withEntries();
    const { status, body } = await harness.ask({ path: `/memory/harbour?${query}` });
    expect({ status, code: body["code"] }).toEqual({ status: 422, code: "RequestInvalid" });
  },
);
