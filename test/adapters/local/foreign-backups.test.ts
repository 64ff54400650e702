/** Backups that another cairn wrote: refused by name, and nothing is restored. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { temporaryDir, temporaryStore } from "../../process/fixtures/store.ts";
import { runCli } from "../../support/processes/cli-in-process.ts";

test.each([
  ["before the first release", "PRAGMA user_version = 2", "BeforeFirstRelease"],
  ["with other stored forms", "UPDATE meta SET value = 'ffffffff' WHERE name = 'forms'", "OtherSchemas"],
])("a backup that was written %s is refused by that name, and nothing is restored", async (_, sql, code) => {
  const file = join(temporaryDir(), "backup");
  expect(await runCli(temporaryStore().dir, "backup", file)).toMatchObject({ exit: 0 });
  const changed = new DatabaseSync(file);
  changed.exec(sql);
  changed.close();
  const bytes = readFileSync(file);
  const restored = join(temporaryDir(), "restored");
  const refused = { exit: 4, err: expect.stringContaining(`error ${code}: `) as string };
  expect(await runCli(restored, "restore", file)).toMatchObject(refused);
  expect({ isRestored: existsSync(restored), isUnchanged: readFileSync(file).equals(bytes) }).toEqual({
    isRestored: false,
    isUnchanged: true,
  });
});
