/**
 * The source files of a project, and which of them changed. They are polled: that works on every file system, and an
 * editor that replaces a file looks like one that writes it.
 */
import { type Dirent, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** When each source file was changed, and its size. */
export type Sources = ReadonlyMap<string, string>;

/** Code and secrets. Other files are often written by agents themselves. */
const IS_SOURCE = /(\.[cm]?[jt]sx?|^\.env)$/;
const PASSED_OVER = /^(\..*|node_modules|build)$/;
const FILES_MAX = 5_000;

/** The source files below `dir`, without hidden folders, installed packages, and what is built. */
export function sourcesUnder(dir: string): Sources {
  const found = new Map<string, string>();
  const folders = [dir];
  for (let folder = folders.pop(); folder !== undefined && found.size < FILES_MAX; folder = folders.pop()) {
    for (const entry of entriesOf(folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && !PASSED_OVER.test(entry.name)) folders.push(path);
      if (entry.isFile() && IS_SOURCE.test(entry.name)) found.set(path, markOf(path));
    }
  }
  return found;
}

/** A file that was added, changed or removed; null if there is none. */
export function changedIn(before: Sources, now: Sources): string | null {
  for (const [path, mark] of now) if (before.get(path) !== mark) return path;
  for (const path of before.keys()) if (!now.has(path)) return path;
  return null;
}

/** A folder that disappears while it is read is empty. */
function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function markOf(path: string): string {
  try {
    const { mtimeMs, size } = statSync(path);
    return `${mtimeMs} ${size}`;
  } catch {
    return "";
  }
}
