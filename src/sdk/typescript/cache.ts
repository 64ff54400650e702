/**
 * What the loader found out about a file, and what became of it, in `node_modules/.cache/cairn-run` of its project. There is
 * one entry for each source file, which counts as long as all that it was made from is unchanged. A folder that cannot be
 * written leaves everything as slow as the first time.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** What becomes of a file: Node runs it as it is, or this code in its place. */
export interface Prepared {
  readonly code: string | null;
  readonly format: "module" | "commonjs";
  /** Whether the code has a map to the places of its source. */
  readonly isMapped: boolean;
  /** The names that it exports from other files, as JSON of `Reexport`: what they are stands in those files. */
  readonly reexports: readonly { readonly name: string; readonly from: string }[];
}

const VERSION = "1";

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The key of all that an entry is made from. */
export const cacheKeyOf = (...parts: readonly string[]): string =>
  digest(JSON.stringify([VERSION, process.version, ...parts]));

export function cached(file: string, key: string): Prepared | null {
  const entry = entryFor(file);
  if (entry === null) return null;
  try {
    const read = JSON.parse(readFileSync(entry, "utf8")) as Prepared & { readonly key: string };
    return read.key === key ? read : null;
  } catch {
    return null;
  }
}

export function keep(file: string, key: string, prepared: Prepared): void {
  const entry = entryFor(file);
  if (entry === null) return;
  try {
    mkdirSync(dirname(entry), { recursive: true });
    const part = `${entry}.${process.pid}`;
    writeFileSync(part, JSON.stringify({ key, ...prepared }));
    renameSync(part, entry);
  } catch {
    // The next process prepares the file again.
  }
}

function entryFor(file: string): string | null {
  for (let at = dirname(file); ; at = dirname(at)) {
    const modules = join(at, "node_modules");
    if (statSync(modules, { throwIfNoEntry: false })?.isDirectory() === true) {
      return join(modules, ".cache", "cairn-run", `${digest(file).slice(0, 32)}.json`);
    }
    if (dirname(at) === at) return null;
  }
}
