/** Which environment variables a bundled function reads in cairn's own sources. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Bundle } from "../../../infra/bundle.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
/** Lambda sets the variables that start with `AWS_LAMBDA_`. */
const READING = /(?:process\.env\[|\bnamed\()\s*"(?!AWS_LAMBDA_)([A-Z][A-Z0-9_]*)"/g;

/** The variables that one source names. */
export const environmentReadsIn = (text: string): readonly string[] =>
  [...text.matchAll(READING)].map(([, name]) => String(name));

/**
 * The variables that its sources read and its files still contain: from a shared source, the bundler drops code that
 * this function does not call. Packages read variables that Lambda itself sets.
 */
export function environmentReadsOf({
  folder,
  files,
  sources,
}: Pick<Bundle, "folder" | "files" | "sources">): ReadonlySet<string> {
  const own = sources.filter((path) => /^(src|functions)\//.test(path));
  const read = own.flatMap((path) => environmentReadsIn(readFileSync(join(ROOT, path), "utf8")));
  const bundled = files.map((file) => readFileSync(join(folder, file), "utf8")).join("\n");
  return new Set(read.filter((name) => new RegExp(`\\b${name}\\b`).test(bundled)));
}
