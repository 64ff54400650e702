/** The archive of a run: what is in it, when it is put, and what becomes of the run where it cannot be. */
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import { type Archive, readArchive } from "../../src/codec/archive.ts";
import { sha256 } from "../../src/codec/canonical.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { TIMES } from "../../src/protocol/limits.ts";
import type { Retention } from "../../src/core/policy/retention.ts";
import type { Row } from "../../src/protocol/row.ts";
import { cleanUp } from "../../src/history/clean-up.ts";
import { archiveKey } from "../../src/history/object-keys.ts";
import { ledger, show, timeline, transcript } from "../../src/operations/views.ts";
import { purge } from "../../src/operations/purge.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { drive, runnerOf } from "../support/drive.ts";
import { adopts, born, letters } from "../support/family.ts";
import { OVER, type Part, actor, callsThenOver, rowOf } from "../support/stage.ts";
import { type Room, room, sweep } from "../support/supervise.ts";
import { rewritten } from "../support/rewritten.ts";

const DAY_MS = 24 * 3_600_000;

const keeping = (retention: Retention | null, part: Part = { reply: () => OVER }): Agent => ({
  ...actor(part),
  retention,
});

const WARM: Retention = { hotMs: null, archive: "warm" };

async function ended(on: Room, agent: Agent): Promise<Row> {
  const payload = await born(on, { key: "key", agent });
  const { route } = await drive(runnerOf(on.world, agent), payload);
  expect(["done", "failed"]).toContain(route);
  return rowOf(on, payload.run);
}

const bytesOf = ({ world }: Room, row: Row): Uint8Array =>
  world.store.objects.get(archiveKey(row, "warm")) as Uint8Array;
const archiveIn = (on: Room, row: Row): Archive => readArchive(bytesOf(on, row));

/** Calls whose results are that large, each another one. */
const talkative = (calls: number, characters: number): Part => {
  let count = 0;
  const run = (): string => {
    count += 1;
    return `${count} `.repeat(characters).slice(0, characters);
  };
  return { reply: callsThenOver(calls), run };
};

describe("an archive", () => {
  test("holds how the run ended, its transcript, its history and its ledger, as they are shown", async () => {
    const on = room();
    const row = await ended(on, keeping(WARM, { reply: callsThenOver(3) }));
    const { run, messages, commits, calls, blobs, leftOut } = archiveIn(on, row);
    expect(run).toMatchObject({
      ...{ run: row.run, born: row.born, parent: null, tenant: "local", agent: "actor", agentVersion: "1" },
      ...{ createdAt: row.createdAt, endedAt: row.statusSince, status: "completed", failure: null, spent: row.spent },
      ...{ version: row.version, retention: WARM, result: { kind: "inline", json: "over" } },
    });
    expect(messages).toEqual(await transcript(on.world, row.run));
    const events = commits.flatMap(({ version, epoch, events: each }) =>
      each.map((event) => ({ version, epoch, ...event })),
    );
    expect(events).toEqual(await timeline(on.world, { run: row.run, after: 0 }));
    expect(calls).toEqual(await ledger(on.world, row.run));
    expect([calls.length, blobs.size, leftOut]).toEqual([3, 0, { blobs: [] }]);
  });

  test("is one gzip file of JSON lines for every reader, and a line of it is not missed", async () => {
    const on = room();
    const row = await ended(on, keeping(WARM, talkative(3, 700_000)));
    const lines = gunzipSync(bytesOf(on, row)).toString("utf8").trimEnd().split("\n");
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ kind: "run", format: 1 });
    for (let missing = 0; missing < lines.length; missing += 1) {
      const rest = gzipSync(`${lines.toSpliced(missing, 1).join("\n")}\n`);
      expect(() => readArchive(rest)).toThrow(expect.objectContaining({ name: "Unreadable" }));
    }
    const torn = bytesOf(on, row).subarray(0, -1);
    for (const bytes of [torn, new Uint8Array(), Buffer.from("no archive")]) {
      expect(() => readArchive(bytes)).toThrow(expect.objectContaining({ name: "Unreadable" }));
    }
    const newer = gzipSync(lines.join("\n").replace('"format":1', '"format":2'));
    expect(() => readArchive(newer)).toThrow(/format 2, this cairn reads format 1/);
  });

  test("needs no other object: large values are in it", async () => {
    const on = room();
    const row = await ended(on, keeping(WARM, talkative(3, 50_000)));
    const { blobs, messages } = archiveIn(on, row);
    const named = messages
      .flatMap(({ parts }) => parts)
      .flatMap((part) => (part.kind === "result" ? [part.value] : []));
    expect(named.map(({ kind }) => kind)).toEqual(["blob", "blob", "blob"]);
    for (const value of named) {
      if (value.kind !== "blob") continue;
      const text = blobs.get(value.sha256);
      expect(sha256(JSON.stringify(text))).toBe(value.sha256);
    }
  });

  test("says which large values it left out, where there are more than it may hold", async () => {
    const on = room();
    const [count, characters] = [10, 7_500_000];
    const row = await ended(on, keeping(WARM, talkative(count, characters)));
    const { blobs, leftOut, messages } = archiveIn(on, row);
    const fitting = Math.floor(SIZES.archiveBlobBytesMax / (characters + 2));
    expect([blobs.size, leftOut.blobs.length]).toEqual([fitting, count - fitting]);
    const text = JSON.stringify(messages);
    for (const digest of leftOut.blobs) expect([blobs.has(digest), text.includes(digest)]).toEqual([false, true]);
  });

  test("is the same whoever makes it, and whenever", async () => {
    const on = room();
    const row = await ended(on, keeping(WARM, talkative(4, 20_000)));
    const first = bytesOf(on, row);
    on.world.store.objects.delete(archiveKey(row, "warm"));
    on.world.store.rows.set(row.run, { ...row, endNotified: false, expiresAtSec: null });
    on.clock.moveTo(on.clock.now() + DAY_MS);
    await sweep(on);
    expect(rowOf(on, row.run).endNotified).toBe(true);
    expect(Buffer.compare(bytesOf(on, row), first)).toBe(0);
  });

  test("is of failed and cancelled runs as well, and of children; the parent hears first", async () => {
    const on = room();
    const silent = keeping(WARM, { reply: () => ({}) });
    expect(archiveIn(on, await ended(on, silent)).run).toMatchObject({
      ...{ status: "failed", failure: { code: "EmptyReply" }, result: null },
    });
    const agent = keeping({ hotMs: null, archive: "cold" });
    const boss = await born(on, { key: "boss" });
    const middle = await born(on, { key: "middle", parent: boss, agent });
    const payload = await adopts(on, middle, []);
    await sendRequest(on.world, { run: middle.run, want: "cancel" });
    const heard: number[] = [];
    const put = async (key: string, bytes: Uint8Array) => {
      if (key.startsWith("archive/")) heard.push((await letters(on, boss)).length);
      return on.world.objects.put(key, bytes);
    };
    await drive(runnerOf({ ...on.world, objects: { ...on.world.objects, put } }, agent), payload);
    const bytes = on.world.store.objects.get(archiveKey(middle, "cold")) as Uint8Array;
    const { run } = readArchive(bytes);
    expect([run.status, run.parent, heard]).toEqual(["cancelled", { run: boss.run, born: boss.born }, [1]]);
  });
});

describe("a run", () => {
  test.each([
    { says: "nothing", retention: null, keptMs: DAY_MS },
    { says: "no days", retention: WARM, keptMs: DAY_MS },
    { says: "a week", retention: { hotMs: 7 * DAY_MS, archive: null }, keptMs: 7 * DAY_MS },
    { says: "a month and an archive", retention: { hotMs: 30 * DAY_MS, archive: "warm" }, keptMs: 30 * DAY_MS },
  ] as const)("whose agent says $says about it stays for as long", async ({ retention, keptMs }) => {
    const on = room();
    const row = await ended(on, keeping(retention));
    const keptUntil = on.clock.now() + keptMs;
    expect(await show(on.world, row.run)).toMatchObject({
      keptUntil,
      archive: retention?.archive === "warm" ? { tier: "warm", key: archiveKey(row, "warm") } : null,
    });
    expect(await on.world.table.read(row.run, keptUntil - 1)).not.toBeNull();
    expect(await on.world.table.read(row.run, keptUntil)).toBeNull();
    expect(on.world.store.objects.has(archiveKey(row, "warm"))).toBe(retention?.archive === "warm");
  });

  test("stays for longer than an invocation lives, whatever its agent says", async () => {
    const on = room({ settleMs: 2 * 3_600_000, retentionMs: DAY_MS });
    const row = await ended(on, keeping({ hotMs: TIMES.hotMsMin, archive: null }));
    expect((row.expiresAtSec ?? 0) * 1_000).toBeGreaterThan(on.clock.now() + on.world.limits.settleMs);
  });

  test("keeps what its agent said when it was started", async () => {
    const on = room();
    const payload = await born(on, { key: "key", agent: keeping(WARM) });
    await drive(runnerOf(on.world, keeping(null)), payload);
    expect(bytesOf(on, rowOf(on, payload.run))).toBeDefined();
  });

  test("that ends without its agent, beyond help, is archived by whoever ends it", async () => {
    const on = room();
    const { run } = await born(on, { key: "key", agent: keeping(WARM) });
    on.clock.moveTo(rowOf(on, run).deadline + 1);
    await sweep(on);
    expect(rowOf(on, run)).toMatchObject({ status: "failed", endNotified: true });
    expect(archiveIn(on, rowOf(on, run)).run.failure).toMatchObject({ code: "Expired" });
  });

  test("whose history cannot be read stays untold, with an alarm, until it can be", async () => {
    const on = room();
    const agent = keeping(WARM, talkative(3, 50_000));
    const { objects } = on.world.store;
    const payload = await born(on, { key: "key", agent });
    const lost = new Map<string, Uint8Array>();
    const commit: Room["world"]["table"]["commit"] = async (of) => {
      const outcome = await on.world.table.commit(of);
      for (const [key, bytes] of of.unlessWoken ? objects : []) {
        if (!key.includes("/blobs/")) continue;
        lost.set(key, bytes);
        objects.delete(key);
      }
      return outcome;
    };
    await drive(runnerOf({ ...on.world, table: { ...on.world.table, commit } }, agent), payload);
    await sweep(on);
    const { run } = payload;
    expect(rowOf(on, run)).toMatchObject({ status: "completed", endNotified: false, expiresAtSec: null });
    expect([lost.size, on.alarms.map(({ what }) => what)]).toEqual([3, ["Unreadable", "Unreadable"]]);
    expect(objects.has(archiveKey(payload, "warm"))).toBe(false);
    expect(await purge(on.world, run)).toMatchObject({ kind: "live" });
    for (const [key, bytes] of lost) objects.set(key, bytes);
    await sweep(on);
    expect(rowOf(on, run).endNotified).toBe(true);
    expect(archiveIn(on, rowOf(on, run)).blobs.size).toBe(3);
  });
});

describe("when the run is removed, its archive", () => {
  async function keptFor(on: Room): Promise<Row> {
    const row = await ended(on, keeping(WARM));
    on.clock.moveTo(on.clock.now() + TIMES.invocationMsMax + on.world.limits.skewMs + 1_000);
    return row;
  }

  test("stays after its expiry", async () => {
    const on = room();
    const row = await keptFor(on);
    on.clock.moveTo(on.clock.now() + DAY_MS);
    on.world.store.expire(on.clock.now());
    await cleanUp(on.world, row);
    expect([...on.world.store.objects.keys()]).toEqual([archiveKey(row, "warm")]);
    expect(archiveIn(on, row).run.status).toBe("completed");
  });

  test("goes with a purge, and no other one does", async () => {
    const on = room();
    const row = await keptFor(on);
    const other = archiveKey({ run: row.run, born: "zzzzzzzzzz" }, "warm");
    on.world.store.objects.set(other, new Uint8Array());
    expect(await purge(on.world, row.run)).toMatchObject({ kind: "purged" });
    expect([...on.world.store.objects.keys()]).toEqual([other]);
  });

  test("goes with a purge also where it cannot be read any more what the run asked for", async () => {
    const on = room();
    const row = await keptFor(on);
    on.world.store.objects.delete(row.snapshot.key);
    expect(await purge(on.world, row.run)).toMatchObject({ kind: "purged" });
    expect(on.world.store.objects.size).toBe(0);
  });

  test("stays with a run that another version wrote", async () => {
    const on = room();
    const row = await keptFor(on);
    on.world.store.rows.set(row.run, rewritten(row, { format: 9 }));
    await expect(purge(on.world, row.run)).rejects.toMatchObject({ code: "RowNewer" });
    expect(on.world.store.objects.has(archiveKey(row, "warm"))).toBe(true);
  });

  test("is not looked for where there is none, and nothing is waited for", async () => {
    const on = room();
    const row = await ended(on, keeping({ hotMs: null, archive: null }));
    const prefixes: string[] = [];
    const removeUnder = async (prefix: string): Promise<void> => {
      prefixes.push(prefix);
      await on.world.objects.removeUnder(prefix);
    };
    const world = { ...on.world, objects: { ...on.world.objects, removeUnder } };
    expect(await purge(world, row.run)).toMatchObject({ kind: "purged" });
    expect(prefixes).toEqual([expect.stringMatching(/^runs\//)]);
  });

  test("stays if whoever purges says so, and then there is nothing to wait for", async () => {
    const on = room();
    const row = await ended(on, keeping(WARM));
    expect(await purge(on.world, row.run)).toMatchObject({ kind: "tooEarly" });
    expect(rowOf(on, row.run).endNotified).toBe(true);
    expect(await purge(on.world, row.run, { keepArchive: true })).toMatchObject({ kind: "purged" });
    expect([...on.world.store.objects.keys()]).toEqual([archiveKey(row, "warm")]);
  });

  test("goes before its row: a purge that dies in between can be repeated", async () => {
    const on = room();
    const row = await keptFor(on);
    const died = async (): Promise<never> => {
      throw new Error("it dies");
    };
    await expect(purge({ ...on.world, table: { ...on.world.table, purge: died } }, row.run)).rejects.toThrow("dies");
    expect(on.world.store.objects.has(archiveKey(row, "warm"))).toBe(false);
    expect(await purge(on.world, row.run)).toMatchObject({ kind: "purged" });
    expect(on.world.store.objects.size).toBe(0);
  });
});
