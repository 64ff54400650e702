/** The README in the package: what it leaves out, what it shows instead, and where its links lead. */
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

const PICTURE = [
  "<picture>",
  '  <source media="(prefers-color-scheme: dark)" srcset="docs/dark.png">',
  '  <img src="docs/light.png" alt="The console">',
  "</picture>",
].join("\n");

test("a picture that the package lacks comes from the repository, and is its description if none is named", () => {
  expect(packedReadme(PICTURE, { has })).toBe("The console");
  expect(packedReadme(PICTURE, { has: () => true })).toBe(PICTURE);
  const raw = "https://github.com/someone/cairn/raw/HEAD";
  const packed = packedReadme(PICTURE, { has, repository: "someone/cairn" });
  expect(packed).toContain(`srcset="${raw}/docs/dark.png"`);
  expect(packed).toContain(`src="${raw}/docs/light.png"`);
});

test("what is for the checkout is left out, and what is for users of the package is shown", () => {
  const text = "a\n<!-- checkout:begin -->\nnpm run demo\n<!-- checkout:end -->\n<!-- package\nnpx cairn dev\n-->\nb\n";
  expect(packedReadme(text, { has })).toBe("a\nnpx cairn dev\nb\n");
});

describe("of cairn's own README", () => {
  const readme = readFileSync(join(import.meta.dirname, "..", "..", "README.md"), "utf8");
  const packed = packedReadme(readme, { has: () => false });

  test("no relative link or picture remains without its file", () => {
    const links = (text: string) => [...text.matchAll(/\]\((?!https:|#)([^)]+)\)/g)].map(([, target]) => target);
    expect(links(readme).length).toBeGreaterThan(40);
    expect(links(packed)).toEqual([]);
    expect(packed).not.toMatch(/<(picture|img|source)/);
  });

  test("every link and picture is absolute once the repository has an address", () => {
    const absolute = packedReadme(readme, { has: () => false, repository: "someone/cairn" });
    const targets = [...absolute.matchAll(/\]\(([^)]+)\)|(?:src|srcset)="([^"]+)"/g)].map(
      ([, link, src]) => link ?? src,
    );
    expect(targets.length).toBeGreaterThan(40);
    expect(targets.filter((target) => !target?.startsWith("https://"))).toEqual([]);
  });

  test("no command needs the checkout, and a project is made by the package", () => {
    expect(packed).not.toMatch(/npm run|npm pack|node scripts|\.tgz|<!--/);
    expect(packed).toContain("npx cairn-run init my-agents");
    expect(packed).toContain("npm install cairn-run zod");
  });
});
