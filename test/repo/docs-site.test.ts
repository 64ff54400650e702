/** The site of the pages: every page is in it once, every link leads to a page of it, and it names its release. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, test } from "vitest";
import { anchorOf } from "../../scripts/docs/anchor.ts";
import { USER_PAGES, filesOf, groupsOf, pagesOfSite, placeOf, sitePage, titleOf } from "../../scripts/docs/pages.ts";
import { entryPointsOf } from "../../scripts/docs/reference.ts";
import { newestFirst, releasesPage } from "../../scripts/docs/releases.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");
const FILES = filesOf(ROOT);
const listed = groupsOf(ROOT).flatMap(({ pages }) => pages);
const pages = pagesOfSite(ROOT, { files: FILES, repository: null });

test("every page of the checkout is in one group, under an address of its own", () => {
  const docs = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".md"),
  );
  expect(listed.toSorted()).toEqual([...new Set(listed)].toSorted());
  expect(docs.map((name) => `docs/${name}`).filter((page) => !listed.includes(page))).toEqual([]);
  expect(pages.size).toBe(listed.length);
});

test.each(["docs/races.md", "docs/mutation.md", "docs/benchmarks.md", "docs/adr/0001-dependencies.md"])(
  "%s is for contributors",
  (page) => {
    expect(placeOf(page)).toMatch(/^contributing\//);
    expect(USER_PAGES).not.toContain(page);
  },
);

test("every page for users has a title that fits beside it", () => {
  const titles = ["README.md", ...USER_PAGES].map((page) => titleOf(read(page), page));
  expect(titles.filter((title) => title === "" || title.length > 45)).toEqual([]);
});

test("every link of a page leads to a page or file of the site, or to another site", () => {
  const broken = [...pages].flatMap(([place, text]) =>
    [...text.replaceAll(/^```[^]*?^```$/gm, "").matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
      .map(([, target = ""]) => target)
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) =>
        target.startsWith("/")
          ? !existsSync(join(ROOT, "docs", target))
          : !pages.has(posix.join(posix.dirname(place), target)),
      )
      .map((target) => `${place}: ${target}`),
  );
  expect([...pages.values()].join("").match(/\]\(\.{1,2}\//g)?.length).toBeGreaterThan(500);
  expect(broken).toEqual([]);
});

describe("a page", () => {
  const has = (path: string): boolean =>
    ["README.md", "docs/a2a.md", "docs/adr/README.md", "docs/x.png"].includes(path);
  const text = (source: string, repository: string | null = null) =>
    sitePage(source, "docs/page.md", { has, repository });

  test("leads to pages at their places, and to nothing that the site lacks", () => {
    expect(text("[a](a2a.md#x) [b](adr/README.md) [c](../README.md) [d](#y) [e](https://e.example)")).toBe(
      "[a](./a2a.md#x) [b](./contributing/adr/index.md) [c](./index.md) [d](#y) [e](https://e.example)",
    );
    expect(text("[a test](../test/x.test.ts)")).toBe("a test");
    expect(text("[a test](../test/x.test.ts)", "https://code.example")).toBe(
      "[a test](https://code.example/blob/HEAD/test/x.test.ts)",
    );
  });

  test("shows a picture that is a link, and one that has a dark form", () => {
    expect(text("[![alt](x.png)](a2a.md) ![](x.png)")).toBe("[![alt](/x.png)](./a2a.md) ![](/x.png)");
    const picture = '<picture>\n  <source srcset="docs/dark.png">\n  <img src="x.png" alt="What it shows">\n</picture>';
    expect(text(picture)).toBe("![What it shows](/x.png)");
  });

  test("computes nothing, and leaves code as it is", () => {
    const code = "```\n{{ 1 + 1 }} <!-- kept --> [a](gone.ts)\n```";
    expect(text(`{{ 1 + 1 }}<!-- begin -->\n${code}`)).toBe(`&#123;&#123; 1 + 1 }}${code}`);
    expect(text("a\n<!-- package\n```\nnpx cairn\n```\n-->\nb")).toBe("a\nb");
  });
});

test("a heading has the anchor that it has in the checkout", () => {
  expect(anchorOf("What `cairn` may do: a & b")).toBe("what-cairn-may-do-a--b");
});

test("the reference has a page for each entry point that users import", () => {
  const manifest = JSON.parse(read("package.json")) as Parameters<typeof entryPointsOf>[0];
  const imported = entryPointsOf(manifest).map((each) => each.imported);
  expect(imported).toEqual(
    Object.keys(manifest.exports)
      .filter((path) => !["./sst", "./package.json"].includes(path))
      .map((path) => path.replace(".", "cairn-run")),
  );
  for (const { source } of entryPointsOf(manifest)) expect(existsSync(join(ROOT, source))).toBe(true);
});

test("the site leads to the newest release, and lists all of them", () => {
  expect(newestFirst(["0.9.0", "0.10.0", "1.0.0-rc.1", "1.0.0", "0.1.0"])).toEqual([
    ...["1.0.0", "1.0.0-rc.1", "0.10.0", "0.9.0", "0.1.0"],
  ]);
  const { index, list } = releasesPage(["0.1.0", "0.2.0"]);
  expect(index).toContain("url=./0.2.0/");
  expect([...list.matchAll(/href="\.\/([^"]+)\/"/g)].map(([, version]) => version)).toEqual(["0.2.0", "0.1.0"]);
});

test("the generator is pinned, and its lock names no registry", () => {
  const { devDependencies } = JSON.parse(read("site/package.json")) as { devDependencies: Record<string, string> };
  expect(Object.values(devDependencies).filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  expect(read("site/package-lock.json")).not.toContain('"resolved"');
});
