/** A backup has the memories of its store: a restored agent knows what it knew then, and asks sources with what it kept. */
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openNamedStore } from "../../src/client/open-store.ts";
import { memoryOf } from "../../src/features/memory/stored.ts";
import { runCli } from "../support/processes/cli-in-process.ts";
import { temporaryDir } from "../process/fixtures/store.ts";

async function memoryIn(store: string) {
  const { world, close } = await openNamedStore({ store });
  onTestFinished(close);
  return memoryOf(world, { tenant: "acme", scope: "harbour" });
}

test("brings entries and sources back, forgotten ones included, and takes new entries after that", async () => {
  const [dir, file] = [join(temporaryDir(), "store"), join(temporaryDir(), "monday.cairn")];
  const memory = await memoryIn(dir);
  await memory.put({ id: "ferry", text: "Ferries leave at nine.", tags: ["ferry"], source: "run x", etag: "1" });
  await memory.put({ id: "train", text: "Trains leave at ten." });
  const url = "https://example.org/a";
  await memory.fetch(url, async () => ({ kind: "fetched", etag: "v1", content: "the timetable" }));
  const before = await memory.get(["ferry", "train"]);
  expect((await runCli(dir, "backup", file)).exit).toBe(0);
  await memory.forget("ferry");
  await memory.put({ id: "train", text: "Trains leave at one." });

  const restored = join(temporaryDir(), "restored");
  expect((await runCli(restored, "restore", file)).exit).toBe(0);
  const again = await memoryIn(restored);
  expect(await again.get(["ferry", "train"])).toEqual(before);
  expect((await again.search("ferries")).map(({ id }) => id)).toEqual(["ferry"]);
  const asked: unknown[] = [];
  const fetched = await again.fetch(url, async (kept) => {
    asked.push(kept?.etag);
    return { kind: "unchanged" };
  });
  expect({ asked, content: fetched.content }).toEqual({ asked: ["v1"], content: "the timetable" });
  expect((await again.put({ id: "new", text: "Buses leave at two." })).kind).toBe("kept");
  const listed = await runCli(restored, "memory", "list", "--scope", "harbour", "--tenant", "acme");
  expect(listed.out).toContain("3 entries");
  expect(await memory.get(["ferry"])).toEqual([]);
});
