/** Waits for the disk that several transactions share. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { atomically, durably } from "../../../src/adapters/local/store/database.ts";
import { logSync } from "../../../src/adapters/local/store/log-sync.ts";
import { temporaryDir, temporaryStore } from "../../process/fixtures/store.ts";

function logOf(): { readonly file: string } {
  const file = join(temporaryDir(), "log");
  writeFileSync(file, "frames");
  return { file };
}

test("transactions of one moment share a wait; one that ends later waits for the next", async () => {
  const log = logSync(logOf().file);
  const [first, second] = [log.done(), log.done()];
  expect(second).toBe(first);
  await Promise.resolve();
  const third = log.done();
  expect(third).not.toBe(first);
  await Promise.all([first, third]);
  log.close();
});

test("a run that is alone waits inside its transaction", async () => {
  const log = logSync(logOf().file);
  expect(log.isShared("a")).toBe(true);
  expect(log.isShared("a")).toBe(false);
  expect(log.isShared("b")).toBe(true);
  const wait = log.done();
  expect(log.isShared("b")).toBe(true);
  await wait;
  expect(log.isShared("b")).toBe(false);
  log.close();
});

test("after a failure of the disk nothing is written any more", async () => {
  const { file } = logOf();
  rmSync(file);
  const log = logSync(file);
  const waits = [log.done()];
  await Promise.resolve();
  waits.push(log.done());
  for (const wait of waits) await expect(wait).rejects.toThrow("ENOENT");
  expect(() => log.assert()).toThrow("ENOENT");
});

test("a transaction whose wait fails is answered with an error, and so is every later one", async () => {
  const store = temporaryStore();
  Object.assign(store, { log: logSync("/nowhere/log") });
  await expect(durably(store, "local-a", () => 1)).rejects.toThrow("ENOENT");
  expect(() => atomically(store, () => 1)).toThrow("ENOENT");
});
