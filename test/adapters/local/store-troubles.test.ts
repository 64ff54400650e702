/** What is said of a store that cannot be opened: the rights of the user, locks, and the length of its name. */
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { localProvider } from "../../../src/compose/worlds/local.ts";
import { openStore } from "../../../src/adapters/local/store/database.ts";
import { allowsExclusive, orNeverExclusive } from "../../../src/adapters/local/store/exclusive-access.ts";
import { asStoreError } from "../../../src/adapters/local/store/store-errors.ts";
import { StoreInvalid } from "../../../src/ports/store-errors.ts";
import { StoreUnreachable } from "../../../src/ports/world.ts";
import { temporaryDir } from "../../process/fixtures/store.ts";

const worldAt = (dir: string) => {
  const configured = localProvider.configure({ env: {}, cwd: "/", options: { store: dir }, config: {} });
  if (configured.kind !== "configured") throw new Error("the store is not configured");
  return configured.world;
};

const sqliteError = (errcode: number): Error => Object.assign(new Error("as SQLite says it"), { errcode });
const systemError = (code: string): Error => Object.assign(new Error(`${code}: as the system says it`), { code });
const saidOf = (error: unknown): string => String(asStoreError(error, "/store"));

describe("a store whose path is too long", () => {
  test.each([
    ["a name of 256 characters", "a".repeat(256)],
    ["a name of 128 characters of two bytes", "é".repeat(128)],
    ["a path that SQLite does not take", Array.from({ length: 5 }, () => "b".repeat(100)).join("/")],
  ])("is refused as invalid, and not reported as missing: %s", (_, name) => {
    const dir = join(temporaryDir(), name);
    expect(worldAt(dir).isThere()).toBe(true);
    for (const create of [true, false]) {
      expect(() => openStore({ dir, create })).toThrow(StoreInvalid);
      expect(() => openStore({ dir, create })).toThrow("its path is too long");
    }
  });

  test("may have the longest name that the system allows", () => {
    const dir = join(temporaryDir(), "a".repeat(255));
    expect(worldAt(dir).isThere()).toBe(false);
    openStore({ dir, create: true }).close();
    expect(worldAt(dir).isThere()).toBe(true);
  });
});

describe("a store in a folder that this user may not search", () => {
  test.each(["EACCES", "EPERM"])("is not missing: the rights are named for %s", (code) => {
    const said = saidOf(systemError(code));
    expect(asStoreError(systemError(code), "/store")).toBeInstanceOf(StoreUnreachable);
    expect(said).toContain("this user may not search, read or write its folder");
    expect(said).toContain("chmod u+rwx");
  });

  test("counts as a store, so that opening it says why", () => {
    const folder = join(temporaryDir(), "closed");
    mkdirSync(join(folder, "store"), { recursive: true });
    chmodSync(folder, 0o000);
    // The superuser may look everywhere, and finds an empty folder.
    expect(worldAt(join(folder, "store")).isThere()).toBe(process.getuid?.() !== 0);
    chmodSync(folder, 0o700);
    expect(worldAt(join(folder, "store")).isThere()).toBe(false);
  });
});

describe("a file system without locks", () => {
  const refused = (): never => {
    throw sqliteError(5);
  };

  test("is told from a lock that another process holds, by a file that no other process knows", () => {
    const dir = temporaryDir();
    expect(allowsExclusive(dir)).toBe(true);
    expect(allowsExclusive(dir, refused)).toBe(false);
    const busy = sqliteError(5);
    expect(orNeverExclusive(busy, dir)).toBe(busy);
    expect(String(orNeverExclusive(busy, dir, (at) => allowsExclusive(at, refused)))).toContain(
      "its file system has no locks",
    );
  });

  test("is not guessed from a folder that cannot be written", () => {
    expect(
      allowsExclusive(temporaryDir(), () => {
        throw sqliteError(14);
      }),
    ).toBe(true);
  });

  test.each([2_058, 2_314, 3_594, 3_850, 5_130])("is what SQLite means by its code %i", (errcode) => {
    expect(saidOf(sqliteError(errcode))).toContain("its file system has no locks");
  });

  test.each([
    [5, "another process kept it busy"],
    [261, "another process kept it busy"],
    [778, "the disk reports an error"],
    [13, "the disk is full"],
  ])("is not what SQLite means by %i", (errcode, words) => {
    expect(saidOf(sqliteError(errcode))).toContain(words);
  });
});
