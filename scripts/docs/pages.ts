/**
 * The pages of the site: where each page of the checkout is, in which group, and where its links lead. A page that users
 * read has its name as its address; what only contributors read is below `contributing/`.
 */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { withLinks } from "../packed-readme.ts";

export interface Group {
  readonly title: string;
  /** Paths in the checkout, in the order in which they are shown. */
  readonly pages: readonly string[];
}

const docs = (...names: readonly string[]): readonly string[] => names.map((name) => `docs/${name}.md`);

/** For whom a page is. A test refuses a page that is in no group, or in two. */
const USERS: readonly Group[] = [
  {
    title: "Start",
    pages: ["README.md", ...docs("getting-started", "tutorial", "recipes", "guarantees", "choosing", "glossary")],
  },
  {
    title: "Agents",
    pages: docs(
      "agents",
      "models",
      "topologies",
      "effects",
      "memory",
      "sagas",
      "files",
      "secrets",
      "triggers",
      "mcp-tools",
    ),
  },
  {
    title: "Test",
    pages: docs("testing", "chaos", "recordings", "recovery"),
  },
  {
    title: "Surfaces",
    pages: docs("console", "client", "http-api", "chat", "webhooks", "json", "embedding", "mcp", "a2a", "langgraph"),
  },
  {
    title: "Operate",
    pages: [
      ...docs("operations", "production", "deploy", "upgrades", "backups", "retention", "integrity", "threat-model"),
      ...docs("cost", "scale"),
      "SECURITY.md",
    ],
  },
  { title: "Understand", pages: docs("protocol", "failure-modes", "errors", "persistence", "literature-review") },
];

/** Pages of `docs` that only contributors read. */
const FOR_CONTRIBUTORS = docs("races", "mutation", "benchmarks");

/** The pages below `folder`, in the order of their names. */
const pagesBelow = (root: string, folder: string): readonly string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md"))
    .toSorted()
    .map((name) => `${folder}/${name}`);

export function groupsOf(root: string): readonly Group[] {
  const records = pagesBelow(root, "docs/adr");
  const index = "docs/adr/README.md";
  return [
    ...USERS,
    {
      title: "Examples",
      pages: readdirSync(join(root, "agents"))
        .toSorted()
        .map((name) => `agents/${name}/README.md`)
        .filter((page) => existsSync(join(root, page))),
    },
    {
      title: "Contributing",
      pages: [
        ...["CONTRIBUTING.md", "ARCHITECTURE.md"],
        ...FOR_CONTRIBUTORS,
        ...pagesBelow(root, "docs/contributing"),
        "localstack/README.md",
      ],
    },
    { title: "Design records", pages: [index, ...records.filter((page) => page !== index)] },
  ];
}

/** What pages show or link to, besides each other. */
export const filesOf = (root: string): readonly string[] => [
  ...["docs/openapi.json", "docs/json-schemas.json", "docs/demo.svg"],
  ...readdirSync(join(root, "docs/console")).map((name) => `docs/console/${name}`),
];

/** What users of the package read: the package has these pages, and no other. */
export const USER_PAGES: readonly string[] = USERS.flatMap(({ pages }) => pages).filter((page) =>
  page.startsWith("docs/"),
);

const PLACES: Readonly<Record<string, string>> = {
  "README.md": "index.md",
  "CONTRIBUTING.md": "contributing/index.md",
  "ARCHITECTURE.md": "contributing/architecture.md",
  "SECURITY.md": "security.md",
  "localstack/README.md": "contributing/localstack.md",
  "docs/adr/README.md": "contributing/adr/index.md",
};

/** Where a page of the checkout is in the site. */
export function placeOf(page: string): string {
  const [, example] = /^agents\/(.+)\/README\.md$/.exec(page) ?? [];
  if (example !== undefined) return `examples/${example}.md`;
  const isInternal = FOR_CONTRIBUTORS.includes(page) || page.startsWith("docs/adr/");
  return PLACES[page] ?? page.replace("docs/", isInternal ? "contributing/" : "");
}

const TITLES: Readonly<Record<string, string>> = {
  "README.md": "What cairn is",
  "docs/chat.md": "Conversations and chat pages",
  "docs/benchmarks.md": "Benchmarks",
};

/** The heading of a page, up to the colon behind which it explains itself. */
export function titleOf(text: string, page: string): string {
  const [, heading = page] = /^# (.+)$/m.exec(text) ?? [];
  return TITLES[page] ?? heading.replaceAll("`", "").replace(/: .*$/, "");
}

interface Site {
  /** Whether the site has this file of the checkout: a page, or a file that is copied. */
  readonly has: (path: string) => boolean;
  readonly repository?: string | null;
}

const FENCE = /(^```[^]*?^```$)/m;
/** What the README says to users of the package. It holds code, so it goes before code is set apart. */
const OF_PACKAGE = /<!-- package\n[^]*?-->\n/g;
const COMMENT = /<!--[^]*?-->\n?/g;
const PICTURE = /<picture>[^]*?<img src="([^"]+)" alt="([^"]*)">\s*<\/picture>/g;

/** A page as the generator reads it. What it shows as HTML or computes would be more than a page of the checkout can. */
export function sitePage(text: string, page: string, { has, repository = null }: Site): string {
  const from = dirname(placeOf(page));
  const lead = (target: string): string | null => {
    const [path = "", anchor] = target.split("#");
    const end = anchor === undefined ? "" : `#${anchor}`;
    if (path === "" || /^[a-z]+:/.test(path)) return target;
    const file = posix.join(posix.dirname(page), path);
    if (!has(file)) return repository === null ? null : `${repository}/blob/HEAD/${file}${end}`;
    if (!file.endsWith(".md")) return `/${file.replace("docs/", "")}`;
    const to = posix.relative(from, placeOf(file));
    return `${to.startsWith(".") ? to : `./${to}`}${end}`;
  };
  return text
    .replaceAll(OF_PACKAGE, "")
    .split(FENCE)
    .map((part) => {
      if (part.startsWith("```")) return part;
      const plain = part.replaceAll(COMMENT, "").replaceAll(PICTURE, "![$2]($1)");
      return withLinks(plain, lead).replaceAll("{{", "&#123;&#123;");
    })
    .join("");
}

/** Each page of the site by its place. `files`: what is copied as it is, such as pictures. */
export function pagesOfSite(
  root: string,
  { files, repository }: { readonly files: readonly string[]; readonly repository: string | null },
): ReadonlyMap<string, string> {
  const pages = groupsOf(root).flatMap((group) => group.pages);
  const known = new Set([...pages, ...files]);
  return new Map(
    pages.map((page) => {
      const text = readFileSync(join(root, page), "utf8");
      return [placeOf(page), sitePage(text, page, { has: (path) => known.has(path), repository })];
    }),
  );
}
