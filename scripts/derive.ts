/**
 * `npm run derive [-- --check]`: writes the files that are derived from the operations, the document of the API, and the
 * index of error codes. With `--check` it writes none, names those that differ, and exits with 1. A test does the same.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openApiText } from "../src/api/document.ts";
import { derivedFiles } from "./derived.ts";
import { errorIndex } from "./error-index.ts";

const ROOT = join(import.meta.dirname, "..");
const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });

const files = { ...(await derivedFiles()), "docs/openapi.json": openApiText(), "docs/errors.md": errorIndex(ROOT) };
for (const [path, text] of Object.entries(files)) {
  if (existsSync(join(ROOT, path)) && readFileSync(join(ROOT, path), "utf8") === text) continue;
  if (values.check) {
    console.error(`${path} differs from its sources: npm run derive`);
    process.exitCode = 1;
  } else writeFileSync(join(ROOT, path), text);
}
