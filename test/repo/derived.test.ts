/** The files that are derived from the operations are what the operations give: `npm run derive` writes them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { derivedFiles } from "../../scripts/derived.ts";

const ROOT = join(import.meta.dirname, "..", "..");

test.each(Object.entries(await derivedFiles()))(
  "%s is what the operations give, and imports no value",
  (path, text) => {
    expect(readFileSync(join(ROOT, path), "utf8")).toBe(text);
    expect(text).not.toMatch(/^import (?!type )/m);
  },
);
