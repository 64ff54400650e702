/** The links of the README in the package. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { packedReadme } from "../../scripts/packed-readme.ts";

const has = (path: string): boolean => path === "LICENSE";
const TEXT = [
  "See [the license](LICENSE), [the first\nsteps](docs/start.md#first), [below](#more) and [Node](https://nodejs.org).",
  "![A picture](docs/picture.svg)",
  "```",
  "[code](docs/start.md)",
  "```",
].join("\n");

test("a link to a file that the package lacks is plain text, if no repository is named", () => {
  expect(packedReadme(TEXT, { has })).toBe(
    [
      "See [the license](LICENSE), the first\nsteps, [below](#more) and [Node](https://nodejs.org).",
      "A picture",
      "```",
      "[code](docs/start.md)",
      "```",
    ].join("\n"),
  );
});

describe.each([
  "github:someone/cairn",
  "someone/cairn",
  "https://github.com/someone/cairn",
  { type: "git", url: "git+https://github.com/someone/cairn.git" },
])("with the repository %j", (repository) => {
  test("such a link leads there", () => {
    const text = packedReadme(TEXT, { has, repository });
    expect(text).toContain("[the first\nsteps](https://github.com/someone/cairn/blob/HEAD/docs/start.md#first)");
    expect(text).toContain("![A picture](https://github.com/someone/cairn/raw/HEAD/docs/picture.svg)");
    expect(text).toContain("[the license](LICENSE)");
    expect(text).toContain("[code](docs/start.md)");
  });
});

test("no relative link of cairn's own README remains without its file", () => {
  const readme = readFileSync(join(import.meta.dirname, "..", "..", "README.md"), "utf8");
  const links = (text: string) => [...text.matchAll(/\]\((?!https:|#)([^)]+)\)/g)].map(([, target]) => target);
  expect(links(readme).length).toBeGreaterThan(40);
  expect(links(packedReadme(readme, { has: () => false }))).toEqual([]);
});
