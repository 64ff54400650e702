/** The README tells the truth: its agent runs as it stands, and every file that it points to is there. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { anchorOf } from "../../scripts/docs/anchor.ts";
import { MAIN } from "../support/processes/program.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const LINES_MAX = 150;
/** A reader who stays for a minute has seen code by then. */
const CODE_BY_LINE = 25;
const readme = readFileSync(join(ROOT, "README.md"), "utf8");

test("the README shows code early, and its agent has at most 30 lines and does what the README claims", () => {
  const [, agent = ""] = /```ts\n([^]*?)```/.exec(readme) ?? [];
  expect(readme.slice(0, readme.indexOf("```ts")).split("\n").length).toBeLessThanOrEqual(CODE_BY_LINE);
  expect(agent.trim().split("\n").length).toBeLessThanOrEqual(30);
  const dir = mkdtempSync(join(tmpdir(), "cairn-readme-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, "cashier.ts"), agent);
  const [, input = ""] = /start \.\/cashier\.ts --input '([^']*)'/.exec(readme) ?? [];
  const words = ["start", join(dir, "cashier.ts"), "--input", input, "--wait", "--json", "--store", join(dir, "store")];
  const out = execFileSync(process.execPath, [MAIN, ...words], {
    cwd: ROOT,
    encoding: "utf8",
  });
  expect(JSON.parse(out)).toMatchObject({ status: "completed", result: "The money is on its way." });
});

test("the README fits on a few pages, and every command in it and on the page of commands exists", () => {
  expect(readme.trimEnd().split("\n").length).toBeLessThanOrEqual(LINES_MAX);
  const help = execFileSync(process.execPath, [MAIN, "--help"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const known = new Set([...help.matchAll(/^  ([a-z]+) .*/gm)].map(([, name]) => name));
  const commands = /^## Commands$[^]*?^## /m.exec(read("docs/operations.md"))?.[0] ?? "";
  const shown = [...`${readme}${commands}`.matchAll(/npx cairn ([a-z]+)/g)].map(([, name]) => name);
  expect(shown.length).toBeGreaterThan(15);
  expect(shown.filter((name) => !known.has(name))).toEqual([]);
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  const scripted = [...readme.matchAll(/npm run (?:--silent )?([a-z:]+)/g)].map(([, name = ""]) => name);
  expect(scripted.filter((name) => scripts[name] === undefined)).toEqual([]);
});

const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");

/** The pages that a page links to, as paths in the checkout. */
const linksIn = (file: string): readonly string[] =>
  [...read(file).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, link = ""]) => join(file, "..", link));

const docs = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md"))
  .map((name) => join("docs", name));
const PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "localstack/README.md", ...docs];

test("every linked file exists", () => {
  for (const file of PAGES) {
    const missing = linksIn(file).filter((link) => !existsSync(join(ROOT, link)));
    expect({ file, missing }).toEqual({ file, missing: [] });
  }
  expect(readme).toContain("](docs/failure-modes.md)");
});

test("every path in code font exists, unless it is a pattern", () => {
  // The paths of design records are of their moment: `docs/adr/moved.md` leads from them to today's.
  for (const file of PAGES.filter((page) => !page.startsWith("docs/adr/"))) {
    const named = [...read(file).matchAll(/`((?:src|test|infra|functions|scripts|bench|agents)\/[\w./-]+)`/g)];
    const paths = named.map(([, path = ""]) => path).filter((path) => !/NAME/.test(path));
    expect({ file, missing: paths.filter((path) => !existsSync(join(ROOT, path))) }).toEqual({ file, missing: [] });
  }
});

test("every linked heading exists", () => {
  for (const file of PAGES) {
    const missing = [...read(file).matchAll(/\]\(([^)#:]*)#([^)]+)\)/g)].filter(([, page = "", heading = ""]) => {
      const target = page === "" ? file : join(file, "..", page);
      return target.endsWith(".md") && !headingsIn(target).includes(heading);
    });
    expect({ file, missing: missing.map(([link]) => link) }).toEqual({ file, missing: [] });
  }
});

test("the README leads to every page, directly or through other pages", () => {
  const reached = new Set(["README.md"]);
  for (const file of reached) {
    for (const link of linksIn(file)) if (link.endsWith(".md") && existsSync(join(ROOT, link))) reached.add(link);
  }
  expect(PAGES.filter((file) => !reached.has(file))).toEqual([]);
});

/** The anchors that GitHub makes of the headings of a page. */
function headingsIn(file: string): readonly string[] {
  return [...read(file).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));
}
