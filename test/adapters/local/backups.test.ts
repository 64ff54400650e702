/** Backups onto file systems without hard links, such as FAT and exFAT on removable disks. */
import fs, { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { dirname, join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { openStore } from "../../../src/adapters/local/store/database.ts";
import { runCli } from "../../support/processes/cli-in-process.ts";
import { temporaryDir } from "../../process/fixtures/store.ts";

/** The folder of the backup refuses links, as FAT does. A file of the name `raced` is there by then. */
beforeEach(() => {
  const real = fs.linkSync;
  const refusing = vi.spyOn(fs, "linkSync").mockImplementation((from, to) => {
    if (!String(from).includes(".part-")) return real(from, to);
    if (String(to).endsWith("raced")) writeFileSync(to, "mine");
    throw Object.assign(new Error(`EPERM: operation not permitted, link '${String(from)}'`), { code: "EPERM" });
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    refusing.mockRestore();
    syncBuiltinESMExports();
  });
});

function freshStore(): string {
  const dir = join(temporaryDir(), "store");
  openStore({ dir, create: true }).close();
  return dir;
}

test("a backup is written and restored", async () => {
  const file = join(temporaryDir(), "monday.cairn");
  expect(await runCli(freshStore(), "backup", file)).toMatchObject({ exit: 0 });
  expect(readdirSync(dirname(file))).toEqual(["monday.cairn"]);
  expect(await runCli(join(temporaryDir(), "restored"), "restore", file)).toMatchObject({ exit: 0 });
});

test("a file that appears meanwhile is not replaced", async () => {
  const file = join(temporaryDir(), "raced");
  expect((await runCli(freshStore(), "backup", file)).err).toContain("already exists");
  expect(readdirSync(dirname(file))).toEqual(["raced"]);
  expect(readFileSync(file, "utf8")).toBe("mine");
});
