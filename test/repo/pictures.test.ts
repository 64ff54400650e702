/** The pictures in `docs/console`: each is shown by a page, and each that a page shows is there. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");

test("every picture of the console is shown by README.md or a page of docs, and no other is kept", () => {
  const pages = ["README.md", ...readdirSync(join(ROOT, "docs")).map((name) => join("docs", name))];
  const texts = pages.filter((page) => page.endsWith(".md")).map((page) => readFileSync(join(ROOT, page), "utf8"));
  const shown = texts.flatMap((text) => [...text.matchAll(/console\/([\w-]+\.png)/g)].map(([, name = ""]) => name));
  expect(readdirSync(join(ROOT, "docs", "console")).toSorted()).toEqual([...new Set<string>(shown)].toSorted());
});
