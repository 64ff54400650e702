/** The store of the embedded world: how it is opened and refused, its objects, and concurrent processes. */
import { execFile, fork } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { type Store, atomically, openStore, reaching } from "../../../src/adapters/local/store/database.ts";
import { sqliteObjectStore } from "../../../src/adapters/local/store/object-store.ts";
import { identityOf, isAlive, killIfAlive } from "../../../src/adapters/local/process-identity.ts";
import { StoreReplaced } from "../../../src/adapters/local/store/store-errors.ts";
import { StoreInvalid, StoreTooNew } from "../../../src/ports/store-errors.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { localWorld } from "../../../src/adapters/local/world.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import { StoreUnreachable } from "../../../src/ports/world.ts";
import { BORN, NOW, claim, creation, open, temporaryDir, temporaryStore } from "../../process/fixtures/store.ts";
import { sha256 } from "../../../src/codec/canonical.ts";

function failureOf(act: () => unknown): Error {
  try {
    act();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("nothing was thrown");
}

const fileOf = (dir: string): string => join(dir, "cairn.sqlite");

describe("a store that is in use", () => {
  const write = (store: Store) => atomically(store, () => store.rows.exec("DELETE FROM executions"));

  it("is not written any more after its directory is removed or replaced by another store", () => {
    const dir = join(temporaryDir(), "store");
    const store = open(dir);
    write(store);
    rmSync(dir, { recursive: true });
    expect(failureOf(() => write(store)).message).toContain(`the store at ${dir} was removed while it was in use`);
    const other = open(dir);
    expect(failureOf(() => write(store))).toBeInstanceOf(StoreReplaced);
    expect(failureOf(() => reaching(store, () => 0)).message).toContain("was replaced by another one");
    write(other);
  });

  it("continues after a commit that the disk refused", () => {
    const store = open(temporaryDir());
    const insert = () => atomically(store, () => store.rows.exec("INSERT INTO removed VALUES ('run', 'born', 0, 0)"));
    const exec = store.rows.exec.bind(store.rows);
    store.rows.exec = (sql) => {
      if (sql === "COMMIT") throw Object.assign(new Error("database or disk is full"), { errcode: 13 });
      exec(sql);
    };
    expect(failureOf(insert)).toBeInstanceOf(StoreUnreachable);
    store.rows.exec = exec;
    insert();
    expect(store.rows.prepare("SELECT count FROM commits").get()).toEqual({ count: 1 });
  });

  it("is readable only by its owner, and ignored by git", () => {
    const dir = join(temporaryDir(), "store");
    open(dir);
    const modes = ["", "cairn.sqlite", "cairn.sqlite-wal"].map((name) => statSync(join(dir, name)).mode & 0o777);
    expect(modes).toEqual([0o700, 0o600, 0o600]);
    expect(readFileSync(join(dir, ".gitignore"), "utf8")).toBe("*\n");
    // The permissions of a directory that existed before are left unchanged.
    const own = temporaryDir();
    open(own);
    expect(existsSync(join(own, ".gitignore"))).toBe(false);
  });
});

describe("openStore", () => {
  it("creates a store with its directory, and opens the same store again", () => {
    const dir = join(temporaryDir(), "deep", "er");
    const first = open(dir);
    expect(first.id).toMatch(/^[0-9a-f]{32}$/);
    expect(open(dir, false).id).toBe(first.id);
    expect(temporaryStore().id).not.toBe(first.id);
    expect(readdirSync(dir).filter((name) => name.endsWith(".new"))).toEqual([]);
  });

  it("waits for the disk, also after a transaction that did not, and uses a write-ahead log", async () => {
    const store = temporaryStore();
    const { rows } = store;
    const synchronous = (): unknown => rows.prepare("PRAGMA synchronous").get()?.["synchronous"];
    const seen: unknown[] = [synchronous()];
    atomically(store, () => seen.push(synchronous()), "later");
    await sqliteObjectStore(store).put("key", Buffer.from("value"));
    atomically(store, () => seen.push(synchronous()));
    expect(() => atomically(store, () => rows.exec("no SQL"), "later")).toThrow("syntax error");
    reaching(store, () => seen.push(synchronous()));
    expect(seen, "1: NORMAL, 2: FULL").toEqual([2, 1, 2, 2]);
    expect(rows.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
  });

  it("creates nothing without `create`", () => {
    const dir = temporaryDir();
    for (const place of [dir, join(dir, "absent")]) {
      const failure = failureOf(() => openStore({ dir: place, create: false }));
      expect(failure).toBeInstanceOf(StoreInvalid);
      expect(failure.message).toBe(`no store at ${place}; start a run first`);
    }
    expect(readdirSync(dir)).toEqual([]);
  });

  it("lets several processes open a fresh store at once", async () => {
    const dir = join(temporaryDir(), "fresh");
    const fixture = new URL("../../process/fixtures/claim.ts", import.meta.url);
    const children = Array.from({ length: 4 }, () =>
      fork(fixture, [dir, JSON.stringify(claim()), "2"], { execArgv: [] }),
    );
    await Promise.all(children.map((child) => once(child, "message")));
    const answers = children.map((child) => once(child, "message"));
    for (const child of children) child.send("go");
    // All processes see the same empty store.
    for (const [answer] of await Promise.all(answers)) expect(answer).toEqual(["missing", "missing"]);
    expect(readdirSync(dir).filter((name) => name.endsWith(".new"))).toEqual([]);
  });

  it.each([
    ["garbage", Buffer.from("no database ".repeat(1_000))],
    ["a single byte", Buffer.from("x")],
    ["an empty file", Buffer.alloc(0)],
  ])("refuses a file that is %s and leaves it unchanged", (_, bytes) => {
    const dir = temporaryDir();
    writeFileSync(fileOf(dir), bytes);
    for (const create of [true, false]) {
      const failure = failureOf(() => openStore({ dir, create }));
      expect(failure).toBeInstanceOf(StoreInvalid);
      expect(failure.message).toMatch(/not a cairn store.*use another directory/);
    }
    expect(readFileSync(fileOf(dir))).toEqual(bytes);
    expect(readdirSync(dir)).toEqual(["cairn.sqlite"]);
  });

  it("refuses the database of another program and leaves it unchanged", () => {
    const dir = temporaryDir();
    const other = new DatabaseSync(fileOf(dir));
    other.exec("PRAGMA application_id = 7; PRAGMA user_version = 1; CREATE TABLE theirs (a)");
    other.close();
    const before = readFileSync(fileOf(dir));
    expect(failureOf(() => openStore({ dir, create: true }))).toBeInstanceOf(StoreInvalid);
    expect(readFileSync(fileOf(dir))).toEqual(before);
  });

  it("refuses a store of a newer format, names both formats, and leaves every byte unchanged", () => {
    const dir = temporaryDir();
    openStore({ dir, create: true }).close();
    const newer = new DatabaseSync(fileOf(dir));
    newer.exec("PRAGMA user_version = 9");
    newer.close();
    const before = readFileSync(fileOf(dir));
    const failure = failureOf(() => openStore({ dir, create: true }));
    expect(failure).toBeInstanceOf(StoreTooNew);
    expect(failure.message).toMatch(/store format 9, and this cairn knows formats up to 3/);
    expect(readFileSync(fileOf(dir))).toEqual(before);
  });

  it.each([
    [
      "before the first release",
      "PRAGMA user_version = 2",
      "BeforeFirstRelease",
      /before its first release; finish its/,
    ],
    ["of other stored forms", "UPDATE meta SET value = 'f' WHERE name = 'forms'", "OtherSchemas", /other stored forms/],
    ["of stored forms that it does not name", "DELETE FROM meta WHERE name = 'forms'", "OtherSchemas", /other stored/],
  ])("refuses a store %s by name, and leaves every file unchanged", (_, sql, code, why) => {
    const dir = temporaryDir();
    openStore({ dir, create: true }).close();
    const other = new DatabaseSync(fileOf(dir));
    other.exec(sql);
    other.close();
    // SQLite makes empty files beside a store that it only reads.
    const files = (): readonly string[] => readdirSync(dir).filter((name) => !/-(wal|shm)$/.test(name));
    const read = () => files().map((name) => [name, sha256(readFileSync(join(dir, name)))]);
    const before = read();
    for (const check of ["bounded", "none", "worker", "supervisor"] as const) {
      const failure = failureOf(() => openStore({ dir, create: true, check }));
      expect(failure).toMatchObject({ name: "StoreForeign", code });
      expect(failure.message).toMatch(why);
      expect(read()).toEqual(before);
    }
  });

  it("detects a newer format that is only in the write-ahead log, and leaves both files unchanged", () => {
    const dir = temporaryDir();
    openStore({ dir, create: true }).close();
    const newer = new DatabaseSync(fileOf(dir));
    newer.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA user_version = 9");
    const read = (): readonly Buffer[] => [fileOf(dir), `${fileOf(dir)}-wal`].map((file) => readFileSync(file));
    const before = read();
    expect(failureOf(() => openStore({ dir, create: false }))).toBeInstanceOf(StoreTooNew);
    expect(read()).toEqual(before);
    newer.close();
  });

  it("refuses a file in the place of the directory, and a directory in the place of the file", () => {
    const dir = temporaryDir();
    const file = join(dir, "file");
    writeFileSync(file, "x");
    for (const place of [file, join(file, "below")]) {
      const failure = failureOf(() => openStore({ dir: place, create: true }));
      expect(failure).toBeInstanceOf(StoreInvalid);
      expect(failure.message).toMatch(/not a directory.*name another/);
    }
    mkdirSync(fileOf(join(dir, "sub")), { recursive: true });
    expect(failureOf(() => openStore({ dir: join(dir, "sub"), create: true }))).toBeInstanceOf(StoreInvalid);
  });

  it.each(["empty", "with a store"])("refuses a directory that the user may not write: %s", async (which) => {
    const dir = temporaryDir();
    if (which === "with a store") {
      openStore({ dir, create: true }).close();
      chmodSync(fileOf(dir), 0o444);
    }
    chmodSync(dir, 0o555);
    const fixture = fileURLToPath(new URL("../../process/fixtures/open.ts", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [fixture, dir, JSON.stringify(creation())]);
    chmodSync(dir, 0o755);
    expect(JSON.parse(stdout)).toMatchObject({ name: "StoreUnreachable", message: expect.stringMatching(/try again/) });
    expect(existsSync(fileOf(dir))).toBe(which === "with a store");
  });

  it("does not wait forever for another writer", async () => {
    const dir = temporaryDir();
    const [busy, store] = [open(dir), open(dir)];
    store.rows.exec("PRAGMA busy_timeout = 20");
    busy.rows.exec("BEGIN IMMEDIATE");
    const world = withKernel(localWorld({ store, limits: limitsFor(3_000), telemetry: { record: () => {} } }));
    const failure = await world.table.create(creation()).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreUnreachable);
    expect((failure as Error).message).toMatch(/another process kept it busy/);
    busy.rows.exec("ROLLBACK");
    expect((await world.table.create(creation())).kind).toBe("created");
  });
});

describe("objects", () => {
  it("are put once and never replaced", async () => {
    const dir = temporaryDir();
    const objects = sqliteObjectStore(open(dir));
    expect(await objects.get("key")).toBeNull();
    expect(await objects.put("key", Uint8Array.of(1, 2))).toEqual({ kind: "stored" });
    expect(await objects.put("key", Uint8Array.of(3))).toEqual({ kind: "exists" });
    expect(await objects.put("key", Uint8Array.of(1, 2))).toEqual({ kind: "exists" });
    // Another process sees the same bytes.
    expect(await sqliteObjectStore(open(dir)).get("key")).toEqual(Uint8Array.of(1, 2));
  });

  it("are stored once when fifty writers put one key", async () => {
    const dir = temporaryDir();
    const stores = Array.from({ length: 10 }, () => sqliteObjectStore(open(dir)));
    const puts = [...stores, ...stores, ...stores, ...stores, ...stores].map((objects, index) =>
      objects.put("key", Uint8Array.of(index)),
    );
    const kinds = (await Promise.all(puts)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "stored")).toHaveLength(1);
  });

  it("may be empty or large, and have hostile keys", async () => {
    const objects = sqliteObjectStore(temporaryStore());
    const large = new Uint8Array(8 * 1024 * 1024).fill(7);
    await objects.put("empty", new Uint8Array());
    await objects.put("large", large);
    expect(await objects.get("empty")).toEqual(new Uint8Array());
    expect(Buffer.compare((await objects.get("large")) ?? Buffer.alloc(0), large)).toBe(0);
    for (const key of ["'; --", "日本語 🪨", "a\u0000b", "a", "x".repeat(50_000), "../../etc"]) {
      expect(await objects.put(key, Buffer.from(key))).toEqual({ kind: "stored" });
      expect(Buffer.from((await objects.get(key)) ?? []).toString()).toBe(key);
    }
  });

  it("reject with StoreUnreachable on a full disk", async () => {
    const store = temporaryStore();
    store.rows.exec("PRAGMA max_page_count = 1");
    const objects = sqliteObjectStore(store);
    const failure = await objects.put("key", new Uint8Array(100_000)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreUnreachable);
    expect(await objects.get("key")).toBeNull();
  });
});

it("the world uses the clock, the random numbers and the hash of this machine", async () => {
  const world = withKernel(
    localWorld({ store: temporaryStore(), limits: limitsFor(3_000), telemetry: { record: () => {} } }),
  );
  const times = [Date.now(), world.clock.now(), Date.now()];
  expect(times.toSorted((one, other) => one - other)).toEqual(times);
  expect(world.random.hex()).toMatch(/^[0-9a-f]{64}$/);
  expect(world.random.hex()).not.toBe(world.random.hex());
  expect(world.hash("é")).toBe("4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c");
  const order: string[] = [];
  await new Promise((resolve) => {
    world.clock.after(1, () => order.push("taken back"))();
    world.clock.after(1, () => resolve(order.push("called")));
  });
  expect(order).toEqual(["called"]);
  expect((await world.table.create(creation())).kind).toBe("created");
  expect(await world.table.read(creation().run, NOW)).toMatchObject({ born: BORN });
});

describe("identity of a process", () => {
  it("identifies this process while it lives, and no other process with the same pid", async () => {
    const child = fork(new URL("../../process/fixtures/claim.ts", import.meta.url), [temporaryDir(), "{}", "0"], {
      execArgv: [],
      detached: true,
    });
    const identity = identityOf(child.pid ?? 0);
    if (identity === null) throw new Error("the child has no identity");
    expect(identityOf(identity.pid)).toEqual(identity);
    expect(isAlive(identity)).toBe(true);

    const stranger = { pid: identity.pid, startedAt: "another time" };
    expect(isAlive(stranger)).toBe(false);
    killIfAlive(stranger);
    expect(isAlive(identity)).toBe(true);

    const exit = once(child, "exit");
    killIfAlive(identity);
    expect(await exit).toEqual([null, "SIGKILL"]);
    expect(isAlive(identity)).toBe(false);
    killIfAlive(identity);
    expect(identityOf(2 ** 22 + 1)).toBeNull();
  });
});
