/** Which variables of its environment a bundled function reads, as far as our own sources read them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Bundle } from "../../infra/bundle.ts";

const ROOT = join(import.meta.dirname, "..", "..");
/** What begins with `AWS_LAMBDA_` is set by Lambda. */
const READING = /(?:process\.env\[|\bnamed\()\s*"(?!AWS_LAMBDA_)([A-Z][A-Z0-9_]*)"/g;

/** Of one source, in its own words. */
export const readsIn = (text: string): readonly string[] => [...text.matchAll(READING)].map(([, name]) => String(name));

/**
 * What its sources read and its files still hold: of a source that several functions share, the bundler leaves out what
 * this one does not call. Packages read variables that Lambda itself sets.
 */
export function readsOf({ folder, files, sources }: Pick<Bundle, "folder" | "files" | "sources">): ReadonlySet<string> {
  const own = sources.filter((path) => /^(src|functions)\//.test(path));
  const read = own.flatMap((path) => readsIn(readFileSync(join(ROOT, path), "utf8")));
  const bundled = files.map((file) => readFileSync(join(folder, file), "utf8")).join("\n");
  return new Set(read.filter((name) => new RegExp(`\\b${name}\\b`).test(bundled)));
}
