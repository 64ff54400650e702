// `scripts/docs.ts` writes what differs from build to build into `build/site.json`, and the pages beside it.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { anchorOf } from "../../scripts/docs/anchor.ts";

const below = (path) => fileURLToPath(new URL(`../build/${path}`, import.meta.url));
const { version, base, folder, sidebar } = JSON.parse(readFileSync(below("site.json"), "utf8"));

export default {
  title: "cairn",
  description: "LLM agents that survive crashes",
  base,
  srcDir: below("pages"),
  outDir: below(`site/${folder}`),
  cacheDir: below("cache"),
  // A browser would ask for an icon that is not there.
  head: [["link", { rel: "icon", href: "data:," }]],
  markdown: {
    // A page is Markdown and nothing else: what stands in angle brackets is text.
    html: false,
    anchor: { slugify: anchorOf },
    // Diagrams are drawn in the browser, from their text.
    languages: [{ name: "mermaid", scopeName: "source.mermaid", patterns: [] }],
  },
  themeConfig: {
    version,
    sidebar,
    outline: { level: [2, 3], label: "On this page" },
    search: { provider: "local", options: { detailedView: false } },
    nav: [
      { text: "Getting started", link: "/getting-started" },
      { text: "Reference", link: "/reference/" },
      { text: "Contributing", link: "/contributing/" },
      // Outside of this release, so no page of it.
      { text: version, items: [{ text: "All releases", link: "/../releases.html", target: "_self" }] },
    ],
  },
};
