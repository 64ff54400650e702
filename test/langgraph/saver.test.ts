/** What the checkpointer guarantees beyond LangGraph's own suite: writers side by side, retention, names and damage. */
import { type Checkpoint, INTERRUPT, emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { expect, test } from "vitest";
import { CairnError, loadSaver, openCheckpointer } from "../../src/langgraph/index.ts";
import { OBJECT_BYTES_MAX } from "../../src/langgraph/record.ts";
import type { CairnSaver } from "../../src/langgraph/saver.ts";
import { DAY_MS, localSaver, memorySaver, saverOver } from "./savers.ts";

const METADATA = { source: "loop", step: 0, parents: {} } as const;

const configFor = (thread: string, id?: string, namespace = "") => ({
  configurable: { thread_id: thread, checkpoint_ns: namespace, ...(id !== undefined && { checkpoint_id: id }) },
});

let made = 0;

function checkpointWith(value: unknown): Checkpoint {
  made += 1;
  return { ...emptyCheckpoint(), id: uuid6(made), channel_values: { value }, channel_versions: { value: 1 } };
}

async function put(saver: CairnSaver, thread: string, value: unknown, parent?: string): Promise<string> {
  const checkpoint = checkpointWith(value);
  await saver.put(configFor(thread, parent), checkpoint, METADATA, {});
  return checkpoint.id;
}

const newestIn = async (saver: CairnSaver, thread: string) => (await saver.getTuple(configFor(thread)))?.checkpoint;

async function idsIn(saver: CairnSaver, config: object): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { checkpoint } of saver.list(config)) ids.push(checkpoint.id);
  return ids;
}

const codeOf = (failing: Promise<unknown>): Promise<unknown> =>
  failing.then(
    () => "no error",
    (error: unknown) => (error instanceof CairnError ? error.code : error),
  );

test("keeps the checkpoints of two writers of one thread, and the newest of them is current", async () => {
  const { objects } = memorySaver();
  const savers = [saverOver(objects), saverOver(objects)];
  const ids = await Promise.all(savers.flatMap((saver) => [1, 2, 3, 4].map((value) => put(saver, "shared", value))));
  const newestFirst = ids.toSorted().toReversed();
  expect(await idsIn(saverOver(objects), configFor("shared"))).toEqual(newestFirst);
  expect((await newestIn(saverOver(objects), "shared"))?.id).toBe(newestFirst[0]);
});

test("keeps the writes of many tasks that store at once, the first of each index, and the last interrupt", async () => {
  const { saver, objects } = memorySaver();
  const id = await put(saver, "t", 0);
  const config = configFor("t", id);
  const tasks = Array.from({ length: 20 }, (_, index) => `task-${String(index).padStart(2, "0")}`);
  await Promise.all(tasks.map((task) => saverOver(objects).putWrites(config, [["out", task]], task)));
  await saver.putWrites(config, [["out", "too late"]], "task-00");
  await saver.putWrites(config, [[INTERRUPT, "first question"]], "task-00");
  await saver.putWrites(config, [[INTERRUPT, "second question"]], "task-00");
  const tuple = await saver.getTuple(config);
  expect(tuple?.pendingWrites).toEqual([
    ["task-00", INTERRUPT, "second question"],
    ...tasks.map((task) => [task, "out", task]),
  ]);
});

test("stores the same checkpoint once, and takes the last revision of another one under its ID", async () => {
  const { saver, objects } = memorySaver();
  const checkpoint = checkpointWith("first");
  const store = (value: unknown) =>
    saver.put(configFor("t"), { ...checkpoint, channel_values: { value } }, METADATA, {});
  await store("first");
  await store("first");
  expect(await objects.keysAfter("", 10)).toHaveLength(1);
  await store("second");
  expect((await newestIn(saver, "t"))?.channel_values).toEqual({ value: "second" });
  expect(await idsIn(saver, configFor("t"))).toEqual([checkpoint.id]);
});

test("shows no checkpoint of which only writes have arrived", async () => {
  const { saver } = memorySaver();
  const id = await put(saver, "t", "whole");
  await saver.putWrites(configFor("t", uuid6(9)), [["out", 1]], "task");
  expect((await newestIn(saver, "t"))?.id).toBe(id);
  expect(await idsIn(saver, configFor("t"))).toEqual([id]);
});

test("keeps the newest checkpoints of each namespace, with their writes, and reads a parent that is gone", async () => {
  const { saver, objects } = memorySaver({ checkpointsMax: 3 });
  const ids: string[] = [];
  for (let step = 0; step < 8; step += 1) {
    const id = await put(saver, "t", step, ids.at(-1));
    await saver.putWrites(configFor("t", id), [["out", step]], "task");
    ids.push(id);
  }
  await saver.put(configFor("t", undefined, "child"), checkpointWith("child"), METADATA, {});
  expect(await idsIn(saver, configFor("t"))).toEqual(ids.slice(-3).toReversed());
  // Of the fourth one, everything is gone, too.
  expect(await objects.keysAfter("", 100)).toHaveLength(3 * 2 + 1);
  const oldest = await saver.getTuple(configFor("t", ids.at(-3)));
  expect(oldest?.parentConfig?.configurable?.["checkpoint_id"]).toBe(ids.at(-4));
  expect(await saver.getTuple(configFor("t", ids.at(-4)))).toBeUndefined();
});

test("removes only threads that were not written for the days of the retention", async () => {
  const { saver, objects, time } = memorySaver({ days: 30 });
  await put(saver, "idle", 1);
  await put(saver, "in use", 1);
  time.now += 20 * DAY_MS;
  await put(saver, "in use", 2);
  time.now += 11 * DAY_MS;
  expect(await saver.removeExpired()).toBe(1);
  expect(await newestIn(saver, "idle")).toBeUndefined();
  expect(await idsIn(saver, configFor("in use"))).toHaveLength(2);
  expect(await saverOver(objects, { time: { now: time.now + 99 * DAY_MS } }).removeExpired()).toBe(0);
});

test("tells names apart that look alike, and lists a thread with many checkpoints in order", async () => {
  const { saver } = memorySaver();
  const names = ["a", "a/b", "a%2fb", "A", "ä", "..", "n-a", "x".repeat(500), `${"x".repeat(499)}y`, "🦆"];
  for (const name of names) await put(saver, name, name);
  for (const name of names) expect((await newestIn(saver, name))?.channel_values).toEqual({ value: name });
  await saver.deleteThread("a");
  expect(await newestIn(saver, "a")).toBeUndefined();
  expect((await newestIn(saver, "a/b"))?.channel_values).toEqual({ value: "a/b" });
  const many: string[] = [];
  for (let step = 0; step < 1_203; step += 1) many.unshift(await put(saver, "long", step));
  expect(await idsIn(saver, configFor("long"))).toEqual(many);
});

test("sorts an ID after a longer one that begins with it", async () => {
  const { saver } = memorySaver();
  for (const id of ["ab", "a", "b"]) await saver.put(configFor("t"), { ...checkpointWith(id), id }, METADATA, {});
  expect(await idsIn(saver, configFor("t"))).toEqual(["b", "ab", "a"]);
});

test("refuses names that it cannot store, values that are too large, and impossible retentions", async () => {
  const { saver } = memorySaver();
  const store = (config: object, checkpoint = checkpointWith(1)) => saver.put(config, checkpoint, METADATA, {});
  expect(await codeOf(store({}))).toBe("CheckpointNameMissing");
  expect(await codeOf(store(configFor("")))).toBe("CheckpointNameInvalid");
  expect(await codeOf(store(configFor("\ud800")))).toBe("CheckpointNameInvalid");
  expect(await codeOf(store(configFor("x".repeat(5_000))))).toBe("CheckpointNameInvalid");
  expect(await codeOf(store({ configurable: { thread_id: 7 } }))).toBe("CheckpointNameInvalid");
  expect(await codeOf(store(configFor("t"), { ...checkpointWith(1), id: "x".repeat(200) }))).toBe(
    "CheckpointNameInvalid",
  );
  expect(await codeOf(saver.putWrites(configFor("t"), [["out", 1]], "task"))).toBe("CheckpointNameMissing");
  expect(await codeOf(put(saver, "t", "x".repeat(OBJECT_BYTES_MAX)))).toBe("CheckpointTooLarge");
  expect(await codeOf(openCheckpointer({ retention: { checkpointsMax: 1 } }))).toBe("RetentionInvalid");
  expect(await codeOf(openCheckpointer({ retention: { days: 0 } }))).toBe("RetentionInvalid");
});

test("names an object with any flipped bit, instead of returning another value", async () => {
  const { saver, objects } = memorySaver();
  await put(saver, "t", "a value");
  const [first] = await objects.keysAfter("", 1);
  const key = first?.key ?? "";
  const bytes = (await objects.get(key)) ?? new Uint8Array();
  const told: string[] = [];
  for (let at = 0; at < bytes.length; at += 1) {
    const flipped = Uint8Array.from(bytes, (byte, index) => (index === at ? byte ^ 1 : byte));
    const damaged = saverOver({ ...objects, get: async () => flipped });
    const code = await codeOf(damaged.getTuple(configFor("t")));
    told.push(String(code));
  }
  expect(new Set(told)).toEqual(new Set(["CheckpointDamaged"]));
});

test("finds its threads again when the embedded store is opened anew, and says how to install a missing peer", async () => {
  const { dir, saver, remove } = await localSaver();
  const id = await put(saver, "t", { secret: "sk-kept-as-it-is" });
  const other = await openCheckpointer({ store: dir });
  expect(await newestIn(other, "t")).toMatchObject({ id, channel_values: { value: { secret: "sk-kept-as-it-is" } } });
  await other.close();
  await remove();
  const missing = Object.assign(new Error("Cannot find package '@langchain/langgraph-checkpoint' imported from x"), {
    code: "ERR_MODULE_NOT_FOUND",
  });
  await expect(loadSaver(() => Promise.reject(missing))).rejects.toThrow(
    "needs the package @langchain/langgraph-checkpoint, which is not installed; type: npm install",
  );
  await expect(loadSaver(() => Promise.reject(new Error("another one")))).rejects.toThrow("another one");
});
