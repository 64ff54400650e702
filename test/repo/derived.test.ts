/** The files that are derived from the operations are what the operations give: `npm run derive` writes them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { derivedFiles } from "../../scripts/derived.ts";
import { errorIndex } from "../../scripts/error-index.ts";

const ROOT = join(import.meta.dirname, "..", "..");

test.each(Object.entries(await derivedFiles()))(
  "%s is what the operations give, and imports no value",
  (path, text) => {
    expect(readFileSync(join(ROOT, path), "utf8")).toBe(text);
    expect(text).not.toMatch(/^import (?!type )/m);
  },
);

test("docs/errors.md is what the sources give, and names codes of each surface", () => {
  const text = readFileSync(join(ROOT, "docs", "errors.md"), "utf8");
  expect(text).toBe(errorIndex(ROOT));
  for (const code of ["Usage", "RestoreRefused", "OriginRefused", "ModelTimedOut", "NotConfirmed"])
    expect(text).toContain(`\n| \`${code}\` | `);
});
