/** Commits that were acknowledged and are gone: real files, changed between processes and below them. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { type OpenOptions, type Store, atomically, openStore } from "../../../src/adapters/local/store/database.ts";
import { isAlive } from "../../../src/adapters/local/process-identity.ts";
import { runCli } from "../../support/processes/cli-in-process.ts";
import { identify, createSupervisorHarness, waitUntil } from "../../process/fixtures/supervisor-harness.ts";
import { open, temporaryDir } from "../../process/fixtures/store.ts";

const fileIn = (dir: string, end = ""): string => join(dir, `cairn.sqlite${end}`);

/** A process that made that many commits and was killed: they are in the write-ahead log only. */
async function killedAfter(commits: number, dir = temporaryDir()): Promise<string> {
  const child = fork(new URL("../../process/fixtures/committing.ts", import.meta.url), [dir, String(commits)], {
    execArgv: [],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  expect(await once(child, "message")).toEqual([commits, undefined]);
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
  return dir;
}

const countIn = ({ rows }: Store): unknown => rows.prepare("SELECT COUNT(*) AS runs FROM executions").get()?.["runs"];

function reopened(dir: string, check?: OpenOptions["check"]): Store {
  const store = openStore({ dir, create: false, ...(check !== undefined && { check }) });
  onTestFinished(() => store.close());
  return store;
}

describe("a store between two processes", () => {
  it("opens with all its data after a kill", async () => {
    expect(countIn(reopened(await killedAfter(20)))).toBe(20);
  });

  it("is refused when its file is gone, and no other one is made in its place until that is accepted", async () => {
    const dir = await killedAfter(20);
    const away = join(temporaryDir(), "away.sqlite");
    renameSync(fileIn(dir), away);
    for (const create of [true, false])
      expect(() => openStore({ dir, create, check: "none" })).toThrow(/cairn.sqlite is missing; .+ delete .+mark and /);
    const { out } = await runCli(dir, "doctor");
    expect(out).toContain("cairn.sqlite is missing");
    renameSync(away, fileIn(dir));
    expect(countIn(reopened(dir))).toBe(20);
    for (const end of ["cairn.mark", "cairn.sqlite-wal", "cairn.sqlite"]) rmSync(join(dir, end), { force: true });
    expect(countIn(open(dir))).toBe(0);
  });

  it.each([
    ["deleted", (dir: string) => rmSync(fileIn(dir, "-wal"))],
    ["cut", (dir: string) => truncateSync(fileIn(dir, "-wal"), Math.floor(statSync(fileIn(dir, "-wal")).size / 2))],
    [
      "cut by one frame",
      (dir: string) => truncateSync(fileIn(dir, "-wal"), statSync(fileIn(dir, "-wal")).size - 4_120),
    ],
  ])("is refused when its write-ahead log was %s, and continues after that is accepted", async (_, harm) => {
    const dir = await killedAfter(20);
    harm(dir);
    expect(() => reopened(dir)).toThrow(expect.objectContaining({ code: "StoreRolledBack" }));
    expect(() => reopened(dir, "worker")).toThrow(/it lacks the last \d+ commits?/);
    expect(countIn(reopened(dir, "none"))).toBeLessThan(20);
    rmSync(join(dir, "cairn.mark"));
    const store = reopened(dir);
    atomically(store, () => store.rows.exec("DELETE FROM executions"));
    expect(countIn(reopened(dir))).toBe(0);
  });

  it("is refused with older bytes of the file, also after a clean close", async () => {
    const dir = await killedAfter(3);
    reopened(dir).close();
    copyFileSync(fileIn(dir), join(dir, "backup"));
    await killedAfter(20, dir);
    const store = open(dir);
    atomically(store, () => store.rows.exec("DELETE FROM executions"));
    store.close();
    writeFileSync(fileIn(dir), readFileSync(join(dir, "backup")));
    expect(() => reopened(dir)).toThrow(/lost commits that were acknowledged/);
  });

  it("says what to type", async () => {
    const dir = await killedAfter(20);
    rmSync(fileIn(dir, "-wal"));
    const refused = await runCli(dir, "send", "local-", "hello");
    expect({ exit: refused.exit, err: refused.err }).toEqual({
      exit: 5,
      err: expect.stringContaining("error StoreRolledBack"),
    });
    expect(refused.err).toContain(`delete ${dir}/cairn.mark`);
    const { exit, err } = await runCli(dir, "list");
    expect({ exit, err }).toEqual({ exit: 0, err: expect.stringContaining("warning: ") });
    expect((await runCli(dir, "doctor")).out).toMatch(/it lacks the last \d+ commits that were acknowledged/);
  });
});

describe("a store under a supervisor", () => {
  async function atWork() {
    const of = createSupervisorHarness();
    await of.start("held-a");
    const outcome = of.supervise().stopped.then(
      () => null,
      (error: unknown) => error,
    );
    await waitUntil("it is held", () => of.noted("held-a").length === 1);
    const worker = identify(of.noted("held-a")[0]?.pid);
    return { of, outcome, worker, log: fileIn(of.dir, "-wal") };
  }

  it("stops the supervisor when the write-ahead log is removed, and loses nothing", async () => {
    const { of, outcome, worker, log } = await atWork();
    renameSync(log, join(of.dir, "elsewhere"));
    expect(await outcome).toMatchObject({
      code: "StoreReplaced",
      message: expect.stringContaining("lost its write-ahead log"),
    });
    expect(isAlive(worker)).toBe(false);
    of.store.close();
    expect(countIn(reopened(of.dir))).toBe(1);
  });

  it.each([0, 5_000])("stops the supervisor when the write-ahead log is cut to %i bytes", async (bytes) => {
    const { outcome, worker, log } = await atWork();
    truncateSync(log, bytes);
    expect(await outcome).toMatchObject({ code: "StoreRolledBack", message: expect.stringContaining("log was cut") });
    expect(isAlive(worker)).toBe(false);
  });

  it("continues when another tool writes all of the log back to the file", async () => {
    const { of, log } = await atWork();
    const tool = new DatabaseSync(fileIn(of.dir));
    expect(tool.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()).toMatchObject({ busy: 0 });
    expect(statSync(log).size).toBe(0);
    tool.close();
    of.go();
    await of.ended("held-a");
  });

  it("stops the supervisor when a worker finds damage first, and stores no more of that task", async () => {
    const of = createSupervisorHarness();
    await of.start("damaged-a");
    await expect(of.supervise().stopped).rejects.toMatchObject({ code: "StoreDamaged" });
    expect(of.noted("damaged-a")).toHaveLength(1);
    expect(of.store.rows.prepare("SELECT stage, retry FROM executions").get()).toEqual({ stage: "trying", retry: 0 });
  });
});
