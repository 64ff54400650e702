/** Source files for the tidy test: path, text, syntax tree and imports. */
import { readFileSync, readdirSync } from "node:fs";
import { join, posix, relative } from "node:path";
import { parseAst } from "vitest/node";

export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export interface Import {
  /** A path from the root for cairn's files (`src/core/ids.ts`), otherwise a package name (`@ai-sdk/provider`). */
  readonly from: string;
  readonly ours: boolean;
  /** A type-only import, which loads nothing at run time. */
  readonly erased: boolean;
}

export interface Source {
  /** The path from the root, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly nodes: readonly Place[];
  readonly imports: readonly Import[];
}

/** A node and its ancestors, innermost first. */
export interface Place {
  readonly node: Node;
  readonly within: readonly Node[];
}

export function sourceOf(path: string, text: string): Source {
  const nodes: Place[] = [];
  // oxlint-disable-next-line typescript/no-deprecated -- its successor is in no package that we depend on
  collect(parseAst(text, { lang: path.endsWith("x") ? "tsx" : "ts" }) as unknown as Node, [], nodes);
  return { path, text, nodes, imports: nodes.flatMap(({ node }) => importOf(path, node)) };
}

function collect(node: Node, within: readonly Node[], into: Place[]): void {
  into.push({ node, within });
  for (const child of Object.values(node).flat()) if (isNode(child)) collect(child, [node, ...within], into);
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as Partial<Node>).type === "string";

/** The name of an identifier or the text of a literal; otherwise undefined. */
export function nameOf(node: unknown): string {
  if (!isNode(node)) return "";
  return typeof node["name"] === "string" ? node["name"] : typeof node["value"] === "string" ? node["value"] : "";
}

/** `a.b` of a member expression between plain names, also within longer ones. */
export const memberOf = (node: Node): string =>
  node.type === "MemberExpression" ? `${nameOf(node["object"])}.${nameOf(node["property"])}` : "";

/** The first name in `a`, `a.b.c` or `a.b(c)(d)`. */
export function rootOf(node: unknown): string {
  if (!isNode(node)) return "";
  return node.type === "Identifier" ? nameOf(node) : rootOf(node["object"] ?? node["callee"] ?? node["tag"]);
}

export const lineOf = ({ text }: Source, offset: number): number => text.slice(0, offset).split("\n").length;

const IMPORTING = /^(Import|ExportNamed|ExportAll)Declaration$|^(ImportExpression|TSImportType)$/;

function importOf(path: string, node: Node): Import[] {
  const specifier = IMPORTING.test(node.type) ? nameOf(node["source"]) : "";
  if (specifier === "") return [];
  const erased = node["importKind"] === "type" || node["exportKind"] === "type" || node.type === "TSImportType";
  const ours = specifier.startsWith(".");
  return [
    {
      from: ours ? posix.join(posix.dirname(path), specifier) : packageOf(specifier),
      ours,
      erased,
    },
  ];
}

const packageOf = (specifier: string): string =>
  specifier.startsWith("@") ? specifier.split("/").slice(0, 2).join("/") : (specifier.split("/")[0] ?? "");

/** Every file of the checkout that git would keep, by its path from the root. */
export function filesBelow(root: string): string[] {
  const ignored = readFileSync(join(root, ".gitignore"), "utf8").split("\n").filter(Boolean).map(patternOf);
  const isKept = (name: string): boolean => name !== ".git" && !ignored.some((pattern) => pattern.test(name));
  const walk = (dir: string): string[] =>
    readdirSync(dir, { withFileTypes: true })
      .filter(({ name }) => isKept(name))
      .flatMap((entry) => (entry.isDirectory() ? walk(join(dir, entry.name)) : [join(dir, entry.name)]));
  return walk(root).map((path) => relative(root, path).replaceAll("\\", "/"));
}

const patternOf = (line: string): RegExp =>
  new RegExp(`^${line.replace(/\/$/, "").replaceAll(".", "\\.").replaceAll("*", ".*")}$`);
