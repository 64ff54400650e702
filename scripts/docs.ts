/**
 * `npm run docs [-- --port 4880]`: builds the pages of this checkout into a static site and serves it on 127.0.0.1. With
 * `--build` it only builds, and the site is in `site/build/site`: a folder for each release that was built there, such as
 * `0.1.0`, and a page that lists them. A release that was built before stays. `--base /cairn/`: the path at which the site
 * will be served.
 *
 * The generator is not among the packages of the checkout: 150 MB, which only this command needs. It is installed in
 * `site/node_modules` on first use, and when its lock changes; `--install` does nothing else.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { preview } from "vite";
import { filesOf, groupsOf, pagesOfSite, placeOf, titleOf } from "./docs/pages.ts";
import { entryPointsOf, writeReference } from "./docs/reference.ts";
import { releasesPage } from "./docs/releases.ts";
import { addressOf } from "./packed-readme.ts";

const ROOT = join(import.meta.dirname, "..");
const PROGRAM = join(ROOT, "site");
const BUILD = join(PROGRAM, "build");
const PAGES = join(BUILD, "pages");
const SITE = join(BUILD, "site");

const { values } = parseArgs({
  options: {
    build: { type: "boolean", default: false },
    install: { type: "boolean", default: false },
    port: { type: "string", default: "4880" },
    base: { type: "string", default: "/" },
  },
});
const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Parameters<typeof entryPointsOf>[0] & {
  readonly version: string;
  readonly repository?: unknown;
};

const FILES = filesOf(ROOT);

function install(): void {
  const digest = createHash("sha256")
    .update(readFileSync(join(PROGRAM, "package-lock.json")))
    .digest("hex");
  const mark = join(PROGRAM, "node_modules", ".installed");
  if (existsSync(mark) && readFileSync(mark, "utf8") === digest) return;
  console.log("installs the generator in site/node_modules (150 MB)");
  execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: PROGRAM, stdio: "inherit" });
  writeFileSync(mark, digest);
}

function writePages(): void {
  rmSync(PAGES, { recursive: true, force: true });
  const pages = pagesOfSite(ROOT, { files: FILES, repository: addressOf(manifest.repository) });
  for (const [place, text] of pages) {
    const file = join(PAGES, place);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  // As it is: what draws diagrams is one minified file, which only pages with a diagram load.
  cpSync(join(PROGRAM, "node_modules/@mermaid-js/tiny/dist/mermaid.tiny.js"), join(PAGES, "public/mermaid.js"));
  for (const file of FILES) cpSync(join(ROOT, file), join(PAGES, "public", file.replace("docs/", "")));
}

/** The sidebars, by the beginning of the addresses of their pages. Each page has one, so it holds what is near. */
function sidebars() {
  const linked = (place: string): string => `/${place.replace(/\.md$/, "").replace(/(^|\/)index$/, "$1")}`;
  const groups = groupsOf(ROOT).map(({ title, pages }) => ({
    text: title,
    items: pages.map((page) => ({
      text: titleOf(readFileSync(join(ROOT, page), "utf8"), page),
      link: linked(placeOf(page)),
    })),
  }));
  const entryPoints = entryPointsOf(manifest).map(({ imported, page }) => ({
    text: imported,
    link: `/reference/${page}`,
  }));
  return {
    "/contributing/": groups.slice(-2),
    "/reference/": [{ text: "API reference", items: entryPoints }],
    "/": groups.slice(0, -2),
  };
}

function build(): void {
  const { version } = manifest;
  writePages();
  const out = join(PAGES, "reference");
  writeReference(entryPointsOf(manifest), { root: ROOT, program: PROGRAM, out, work: join(BUILD, "work") });
  const base = `${values.base.replace(/\/$/, "")}/${version}/`;
  writeFileSync(join(BUILD, "site.json"), JSON.stringify({ version, base, folder: version, sidebar: sidebars() }));
  execFileSync(process.execPath, [join(PROGRAM, "node_modules/vitepress/bin/vitepress.js"), "build", PROGRAM], {
    cwd: PROGRAM,
    stdio: "inherit",
  });
  const releases = readdirSync(SITE, { withFileTypes: true }).flatMap((each) =>
    each.isDirectory() ? [each.name] : [],
  );
  const { index, list } = releasesPage(releases);
  writeFileSync(join(SITE, "index.html"), index);
  writeFileSync(join(SITE, "releases.html"), list);
}

async function serve(): Promise<void> {
  const server = await preview({
    configFile: false,
    root: BUILD,
    appType: "mpa",
    logLevel: "warn",
    build: { outDir: SITE },
    preview: { host: "127.0.0.1", port: Number(values.port), strictPort: true },
  });
  console.log(`the site: http://127.0.0.1:${values.port}/${manifest.version}/`);
  process.once("SIGINT", () => void server.close());
}

install();
if (!values.install) build();
if (values.build) console.log(`the site: ${SITE}`);
else if (!values.install) await serve();
