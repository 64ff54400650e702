/** Creates the directory and the file of a new store. */
import { randomBytes } from "node:crypto";
import { closeSync, linkSync, mkdirSync, openSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sentenceOf } from "../../../codec/value.ts";
import { StoreInvalid } from "../../../ports/store-errors.ts";
import { makeFolder } from "../make-folder.ts";
import { STORE_SCHEMA, recordSchema } from "./schema.ts";
import { fileCode } from "./store-errors.ts";

/**
 * Creates the whole file under another name and then links it into place, which fails if the store exists. Two
 * processes that open a fresh store at once get the same one, and a process that dies half-way leaves no partial store.
 */
export function createFile(dir: string, file: string): void {
  makeDir(dir);
  const fresh = `${file}.${randomBytes(8).toString("hex")}.new`;
  try {
    // Only its owner may read it. SQLite gives the files beside it the same mode.
    closeSync(openSync(fresh, "wx", 0o600));
    const db = new DatabaseSync(fresh);
    try {
      db.exec(STORE_SCHEMA);
      recordSchema(db);
      db.prepare("INSERT INTO meta (name, value) VALUES ('store', ?)").run(randomBytes(16).toString("hex"));
    } finally {
      db.close();
    }
    linkSync(fresh, file);
  } catch (error) {
    if (fileCode(error) !== "EEXIST") throw error;
  } finally {
    for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(fresh + suffix, { force: true });
  }
}

/** Creates the directory so that only its owner may read it and git ignores its content. */
function makeDir(dir: string): void {
  try {
    makeFolder(dirname(resolve(dir)));
    mkdirSync(dir, { mode: 0o700 });
    writeFileSync(join(dir, ".gitignore"), "*\n");
  } catch (error) {
    const code = fileCode(error);
    // It existed before, or another process has just created it.
    const found = code === "EEXIST" ? statSync(dir, { throwIfNoEntry: false }) : undefined;
    if (found?.isDirectory() === true) return;
    if (code === "EEXIST" && found === undefined) {
      throw new StoreInvalid(`${dir} is a link to a directory that is not there; make it, or name another directory`);
    }
    if (code === "ENOTDIR" || code === "EEXIST")
      throw new StoreInvalid(`${dir} is below a path that is not a directory; name another directory`);
    if (code !== "ENOENT") throw error;
    throw new StoreInvalid(`${dir} cannot be made: ${sentenceOf(error)}; name another directory`);
  }
}
