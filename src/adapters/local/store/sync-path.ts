/**
 * Waits until the disk has a file, or the names in a folder. Node's `fsync` empties the drive's cache on macOS too
 * (`F_FULLFSYNC`).
 */
import { closeSync, fsyncSync, openSync } from "node:fs";
import { fileCode } from "./store-errors.ts";

export function syncFile(path: string, sync: (fd: number) => void = fsyncSync): void {
  const fd = openSync(path, "r");
  try {
    sync(fd);
  } finally {
    closeSync(fd);
  }
}

/** What file systems without a sync of folders say, such as shares of another machine on macOS. */
const WITHOUT_FOLDER_SYNC: ReadonlySet<string> = new Set(["EINVAL", "ENOTSUP", "EOPNOTSUPP", "ENOTTY", "ENOSYS"]);

/** Where a file system does not sync folders, the name of a file may be lost in a power loss, and never its content. */
export function syncFolder(path: string, sync: (fd: number) => void = fsyncSync): void {
  try {
    syncFile(path, sync);
  } catch (error) {
    if (!WITHOUT_FOLDER_SYNC.has(fileCode(error) ?? "")) throw error;
  }
}
