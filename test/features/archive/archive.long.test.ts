/** The archive of a run: what is in it, when it is put, and what becomes of the run where it cannot be. */
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { Agent } from "../../../src/ports/agent.ts";
import { type Archive, readArchive } from "../../../src/codec/archive.ts";
import { sha256 } from "../../../src/codec/canonical.ts";
import { SIZES } from "../../../src/codec/limits.ts";
import { TIMES } from "../../../src/protocol/limits.ts";
import type { RunRetention } from "../../../src/core/policy/retention.ts";
import type { Row } from "../../../src/protocol/row.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { cleanUp } from "../../../src/history/clean-up.ts";
import { archiveKey } from "../../../src/history/object-keys.ts";
import { ledger, show, timeline, transcript } from "../../../src/operations/views.ts";
import { purge } from "../../../src/operations/purge.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { type DecisionCalls, withCalls } from "../../../src/testing/decisions.ts";
import { drive, runnerOf } from "../../support/harness/drive.ts";
import { recordChildren, createIdleRun, inboxOf } from "../../support/runs/parent-and-children.ts";
import {
  type ScriptedAgentOptions,
  FINAL_REPLY,
  callsThenFinal,
  scriptedAgent,
  type Harness,
  createSupervisedHarness,
} from "../../support/harness/harness.ts";
import { rewriteRow } from "../../support/runs/rewrite-row.ts";

const DAY_MS = 24 * 3_600_000;

const keeping = (retention: RunRetention | null, part: ScriptedAgentOptions = { reply: () => FINAL_REPLY }): Agent => ({
  ...scriptedAgent(part),
  retention,
});

const WARM: RunRetention = { hotMs: null, archive: "warm" };

async function ended(harness: Harness, agent: Agent): Promise<Row> {
  const payload = await createIdleRun(harness, { key: "key", agent });
  const { route } = await drive(runnerOf(harness.world, agent), payload);
  expect(["done", "failed"]).toContain(route);
  return harness.row(payload.run);
}

const bytesOf = ({ world }: Harness, row: Row): Uint8Array =>
  world.store.objects.get(archiveKey(row, "warm")) as Uint8Array;
const archiveIn = (harness: Harness, row: Row): Archive => readArchive(bytesOf(harness, row));

/** Calls whose results are that large, each another one. */
const talkative = (calls: number, characters: number): ScriptedAgentOptions => {
  let count = 0;
  const run = (): string => {
    count += 1;
    return `${count} `.repeat(characters).slice(0, characters);
  };
  return { reply: callsThenFinal(calls), run };
};

describe("an archive", () => {
  test("contains the end of the run, its transcript, its history and its ledger, as they are shown", async () => {
    const harness = createSupervisedHarness();
    const row = await ended(harness, keeping(WARM, { reply: callsThenFinal(3) }));
    const { run, messages, commits, calls, blobs, leftOut } = archiveIn(harness, row);
    expect(run).toMatchObject({
      ...{ run: row.run, born: row.born, parent: null, tenant: "local", agent: "actor", agentVersion: "1" },
      ...{ createdAt: row.createdAt, endedAt: row.statusSince, status: "completed", failure: null, spent: row.spent },
      ...{ version: row.version, retention: WARM, result: { kind: "inline", json: "over" } },
    });
    expect(messages).toEqual(await transcript(harness.world, row.run));
    const events = commits.flatMap(({ version, epoch, events: each }) =>
      each.map((event) => ({ version, epoch, ...event })),
    );
    expect(events).toEqual(await timeline(harness.world, { run: row.run, after: 0 }));
    expect(calls).toEqual(await ledger(harness.world, row.run));
    expect({ calls: calls.length, blobs: blobs.size, leftOut }).toEqual({ calls: 3, blobs: 0, leftOut: { blobs: [] } });
  });

  test("is one gzip file of JSON lines for every reader, and a missing line is detected", async () => {
    const harness = createSupervisedHarness();
    const row = await ended(harness, keeping(WARM, talkative(3, 700_000)));
    const lines = gunzipSync(bytesOf(harness, row)).toString("utf8").trimEnd().split("\n");
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ kind: "run", format: 2 });
    for (let missing = 0; missing < lines.length; missing += 1) {
      const rest = gzipSync(`${lines.toSpliced(missing, 1).join("\n")}\n`);
      expect(() => readArchive(rest)).toThrow(expect.objectContaining({ name: "Unreadable" }));
    }
    const torn = bytesOf(harness, row).subarray(0, -1);
    for (const bytes of [torn, new Uint8Array(), Buffer.from("no archive")]) {
      expect(() => readArchive(bytes)).toThrow(expect.objectContaining({ name: "Unreadable" }));
    }
    const newer = gzipSync(lines.join("\n").replace('"format":2', '"format":3'));
    expect(() => readArchive(newer)).toThrow(/format 3, this cairn reads format 2/);
  });

  test("needs no other object, because it contains large values", async () => {
    const harness = createSupervisedHarness();
    const row = await ended(harness, keeping(WARM, talkative(3, 50_000)));
    const { blobs, messages } = archiveIn(harness, row);
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

  test("names the large values that it omits when they exceed its limit", async () => {
    const harness = createSupervisedHarness();
    const [count, characters] = [10, 7_500_000];
    const row = await ended(harness, keeping(WARM, talkative(count, characters)));
    const { blobs, leftOut, messages } = archiveIn(harness, row);
    const fitting = Math.floor(SIZES.archiveBlobBytesMax / (characters + 2));
    expect({ blobs: blobs.size, leftOut: leftOut.blobs.length }).toEqual({ blobs: fitting, leftOut: count - fitting });
    const text = JSON.stringify(messages);
    for (const digest of leftOut.blobs)
      expect({ isBlob: blobs.has(digest), isInText: text.includes(digest) }).toEqual({ isBlob: false, isInText: true });
  });

  test("has the same bytes whichever process makes it, and whenever", async () => {
    const harness = createSupervisedHarness();
    const row = await ended(harness, keeping(WARM, talkative(4, 20_000)));
    const first = bytesOf(harness, row);
    harness.world.store.objects.delete(archiveKey(row, "warm"));
    harness.world.store.rows.set(row.run, { ...row, endNotified: false, expiresAtSec: null });
    harness.clock.moveTo(harness.clock.now() + DAY_MS);
    await harness.sweep();
    expect(harness.row(row.run).endNotified).toBe(true);
    expect(Buffer.compare(bytesOf(harness, row), first)).toBe(0);
  });

  test("is also made of failed and cancelled runs, and of children; the parent is notified first", async () => {
    const harness = createSupervisedHarness();
    const silent = keeping(WARM, { reply: () => ({}) });
    expect(archiveIn(harness, await ended(harness, silent)).run).toMatchObject({
      ...{ status: "failed", failure: { code: "EmptyReply" }, result: null },
    });
    const agent = keeping({ hotMs: null, archive: "cold" });
    const boss = await createIdleRun(harness, { key: "boss" });
    const middle = await createIdleRun(harness, { key: "middle", parent: boss, agent });
    const payload = await recordChildren(harness, middle, []);
    await sendRequest(harness.world, { run: middle.run, want: "cancel" });
    const heard: number[] = [];
    const put = async (key: string, bytes: Uint8Array) => {
      if (key.startsWith("archive/")) heard.push((await inboxOf(harness, boss)).length);
      return harness.world.objects.put(key, bytes);
    };
    await drive(runnerOf({ ...harness.world, objects: { ...harness.world.objects, put } }, agent), payload);
    const bytes = harness.world.store.objects.get(archiveKey(middle, "cold")) as Uint8Array;
    const { run } = readArchive(bytes);
    expect({ status: run.status, parent: run.parent, heard }).toEqual({
      status: "cancelled",
      parent: { run: boss.run, born: boss.born },
      heard: [1],
    });
  });
});

describe("a run", () => {
  test.each([
    { says: "nothing", retention: null, keptMs: DAY_MS },
    { says: "no days", retention: WARM, keptMs: DAY_MS },
    { says: "a week", retention: { hotMs: 7 * DAY_MS, archive: null }, keptMs: 7 * DAY_MS },
    { says: "a month and an archive", retention: { hotMs: 30 * DAY_MS, archive: "warm" }, keptMs: 30 * DAY_MS },
  ] as const)("whose agent declares $says stays for that long", async ({ retention, keptMs }) => {
    const harness = createSupervisedHarness();
    const row = await ended(harness, keeping(retention));
    const keptUntil = harness.clock.now() + keptMs;
    expect(await show(harness.world, row.run)).toMatchObject({
      keptUntil,
      archive: retention?.archive === "warm" ? { tier: "warm", key: archiveKey(row, "warm") } : null,
    });
    expect(await harness.world.table.read(row.run, keptUntil - 1)).not.toBeNull();
    expect(await harness.world.table.read(row.run, keptUntil)).toBeNull();
    expect(harness.world.store.objects.has(archiveKey(row, "warm"))).toBe(retention?.archive === "warm");
  });

  test("stays longer than an invocation lives, whatever its agent declares", async () => {
    const harness = createSupervisedHarness({ settleMs: 2 * 3_600_000, retentionMs: DAY_MS });
    const row = await ended(harness, keeping({ hotMs: TIMES.hotMsMin, archive: null }));
    expect((row.expiresAtSec ?? 0) * 1_000).toBeGreaterThan(harness.clock.now() + harness.world.limits.settleMs);
  });

  test("keeps the declaration of its agent at its start", async () => {
    const harness = createSupervisedHarness();
    const payload = await createIdleRun(harness, { key: "key", agent: keeping(WARM) });
    await drive(runnerOf(harness.world, keeping(null)), payload);
    expect(bytesOf(harness, harness.row(payload.run))).toBeDefined();
  });

  test("that ends without its agent is archived by the process that ends it", async () => {
    const harness = createSupervisedHarness();
    const { run } = await createIdleRun(harness, { key: "key", agent: keeping(WARM) });
    harness.clock.moveTo(harness.row(run).deadline + harness.world.limits.idleRunMs / 10);
    await harness.sweep();
    expect(harness.row(run)).toMatchObject({ status: "failed", endNotified: true });
    expect(archiveIn(harness, harness.row(run)).run.failure).toMatchObject({ code: "Expired" });
  });

  test("whose history cannot be read stays unnotified, with an alarm, until it can be", async () => {
    const harness = createSupervisedHarness();
    const agent = keeping(WARM, talkative(3, 50_000));
    const { objects } = harness.world.store;
    const payload = await createIdleRun(harness, { key: "key", agent });
    const lost = new Map<string, Uint8Array>();
    const commit: DecisionCalls["commit"] = async (of) => {
      const outcome = await harness.world.table.decide(of, COMMIT);
      for (const [key, bytes] of of.unlessWoken ? objects : []) {
        if (!key.includes("/blobs/")) continue;
        lost.set(key, bytes);
        objects.delete(key);
      }
      return outcome;
    };
    await drive(runnerOf({ ...harness.world, table: withCalls(harness.world.table, { commit }) }, agent), payload);
    await harness.sweep();
    const { run } = payload;
    expect(harness.row(run)).toMatchObject({ status: "completed", endNotified: false, expiresAtSec: null });
    expect({ lost: lost.size, alarms: harness.alarms.map(({ what }) => what) }).toEqual({
      lost: 3,
      alarms: ["Unreadable", "Unreadable"],
    });
    expect(objects.has(archiveKey(payload, "warm"))).toBe(false);
    expect(await purge(harness.world, run)).toMatchObject({ kind: "live" });
    for (const [key, bytes] of lost) objects.set(key, bytes);
    await harness.sweep();
    expect(harness.row(run).endNotified).toBe(true);
    expect(archiveIn(harness, harness.row(run)).blobs.size).toBe(3);
  });
});

describe("the archive of a removed run", () => {
  async function keptFor(harness: Harness): Promise<Row> {
    const row = await ended(harness, keeping(WARM));
    harness.clock.moveTo(harness.clock.now() + TIMES.invocationMsMax + harness.world.limits.skewMs + 1_000);
    return row;
  }

  test("stays after its expiry", async () => {
    const harness = createSupervisedHarness();
    const row = await keptFor(harness);
    harness.clock.moveTo(harness.clock.now() + DAY_MS);
    harness.world.store.expire(harness.clock.now());
    await cleanUp(harness.world, row);
    expect([...harness.world.store.objects.keys()]).toEqual([archiveKey(row, "warm")]);
    expect(archiveIn(harness, row).run.status).toBe("completed");
  });

  test("is removed by a purge, which removes no other archive", async () => {
    const harness = createSupervisedHarness();
    const row = await keptFor(harness);
    const other = archiveKey({ run: row.run, born: "zzzzzzzzzz" }, "warm");
    harness.world.store.objects.set(other, new Uint8Array());
    expect(await purge(harness.world, row.run)).toMatchObject({ kind: "purged" });
    expect([...harness.world.store.objects.keys()]).toEqual([other]);
  });

  test("is removed by a purge also when the run's declaration cannot be read any more", async () => {
    const harness = createSupervisedHarness();
    const row = await keptFor(harness);
    harness.world.store.objects.delete(row.snapshot.key);
    expect(await purge(harness.world, row.run)).toMatchObject({ kind: "purged" });
    expect(harness.world.store.objects.size).toBe(0);
  });

  test("stays with a run that another version wrote", async () => {
    const harness = createSupervisedHarness();
    const row = await keptFor(harness);
    harness.world.store.rows.set(row.run, rewriteRow(row, { format: 9 }));
    await expect(purge(harness.world, row.run)).rejects.toMatchObject({ code: "RowNewer" });
    expect(harness.world.store.objects.has(archiveKey(row, "warm"))).toBe(true);
  });

  test("is not searched for when there is none, and the purge does not wait", async () => {
    const harness = createSupervisedHarness();
    const row = await ended(harness, keeping({ hotMs: null, archive: null }));
    const prefixes: string[] = [];
    const removeUnder = async (prefix: string): Promise<void> => {
      prefixes.push(prefix);
      await harness.world.objects.removeUnder(prefix);
    };
    const world = { ...harness.world, objects: { ...harness.world.objects, removeUnder } };
    expect(await purge(world, row.run)).toMatchObject({ kind: "purged" });
    expect(prefixes).toEqual([expect.stringMatching(/^runs\//)]);
  });

  test("stays if the operator wants that, and then the purge does not wait", async () => {
    const harness = createSupervisedHarness();
    const row = await ended(harness, keeping(WARM));
    expect(await purge(harness.world, row.run)).toMatchObject({ kind: "tooEarly" });
    expect(harness.row(row.run).endNotified).toBe(true);
    expect(await purge(harness.world, row.run, { keepArchive: true })).toMatchObject({ kind: "purged" });
    expect([...harness.world.store.objects.keys()]).toEqual([archiveKey(row, "warm")]);
  });

  test("is removed before its row: an interrupted purge can be repeated", async () => {
    const harness = createSupervisedHarness();
    const row = await keptFor(harness);
    const died = async (): Promise<never> => {
      throw new Error("it dies");
    };
    await expect(
      purge({ ...harness.world, table: withCalls(harness.world.table, { purge: died }) }, row.run),
    ).rejects.toThrow("dies");
    expect(harness.world.store.objects.has(archiveKey(row, "warm"))).toBe(false);
    expect(await purge(harness.world, row.run)).toMatchObject({ kind: "purged" });
    expect(harness.world.store.objects.size).toBe(0);
  });
});
