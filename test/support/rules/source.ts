/** Source files as the rules see them: path, text, syntax tree with parents, and imports. */
import { readFileSync, readdirSync } from "node:fs";
import { join, posix, relative } from "node:path";
import { parseSync } from "rolldown/utils";

export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  /** Set by `walk` before it visits the node; null for the root. */
  parent: Node | null;
  readonly [field: string]: unknown;
}

export interface Import {
  /** A path from the root for cairn's files (`src/core/ids.ts`), otherwise a package name (`@ai-sdk/provider`). */
  readonly from: string;
  readonly ours: boolean;
  /** A type-only import, which loads nothing at run time. */
  readonly erased: boolean;
  /** An `import()`: it loads when the code gets there. */
  readonly deferred: boolean;
  readonly line: number;
}

/** What rules about several files need of each. */
export interface Module {
  /** The path from the root, with slashes. */
  readonly path: string;
  readonly imports: readonly Import[];
}

export interface Source extends Module {
  readonly text: string;
  /** Where each line begins. */
  readonly starts: readonly number[];
}

/**
 * Parses the text and visits each node once, outermost first. The imports are complete when this returns; text and tree
 * are for the caller to drop.
 */
export function readSource(path: string, text: string, visit: (node: Node, source: Source) => void): Source {
  const { program, errors } = parseSync(path, text, { lang: path.endsWith("x") ? "tsx" : "ts" });
  if (errors[0] !== undefined) throw new Error(`${path} cannot be parsed: ${errors[0].message}`);
  const imports: Import[] = [];
  const source: Source = { path, text, starts: lineStarts(text), imports };
  walk(program as unknown as Node, null, (node) => {
    const found = importIn(source, node);
    if (found !== null) imports.push(found);
    visit(node, source);
  });
  return source;
}

function walk(node: Node, parent: Node | null, visit: (node: Node) => void): void {
  // Before the parent is set, so that it is none of the children.
  const fields = Object.values(node);
  node.parent = parent;
  visit(node);
  for (const field of fields) {
    if (Array.isArray(field)) {
      for (const each of field) if (isNode(each)) walk(each, node, visit);
    } else if (isNode(field)) walk(field, node, visit);
  }
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as Partial<Node>).type === "string";

/** Whether one of the nodes around this one is like that. */
export function isWithin(node: Node, isLike: (around: Node) => boolean): boolean {
  for (let around = node.parent; around !== null; around = around.parent) if (isLike(around)) return true;
  return false;
}

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

function lineStarts(text: string): readonly number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** The number of the line, from 1. */
export function lineOf({ starts }: Source, offset: number): number {
  let [low, high] = [0, starts.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle;
  }
  return low + 1;
}

const IMPORTING = /^(Import|ExportNamed|ExportAll)Declaration$|^(ImportExpression|TSImportType)$/;

function importIn(source: Source, node: Node): Import | null {
  const specifier = IMPORTING.test(node.type) ? nameOf(node["source"]) : "";
  if (specifier === "") return null;
  const erased = node["importKind"] === "type" || node["exportKind"] === "type" || node.type === "TSImportType";
  const ours = specifier.startsWith(".");
  const from = ours ? posix.join(posix.dirname(source.path), specifier) : packageOf(specifier);
  return { from, ours, erased, deferred: node.type === "ImportExpression", line: lineOf(source, node.start) };
}

const packageOf = (specifier: string): string =>
  specifier.startsWith("@") ? specifier.split("/").slice(0, 2).join("/") : (specifier.split("/")[0] ?? "");

/** Every file of the checkout that git would keep, by its path from the root. */
export function filesBelow(root: string): string[] {
  const ignored = readFileSync(join(root, ".gitignore"), "utf8").split("\n").filter(Boolean).map(patternOf);
  const isKept = (name: string): boolean => name !== ".git" && !ignored.some((pattern) => pattern.test(name));
  const walkFolder = (dir: string): string[] =>
    readdirSync(dir, { withFileTypes: true })
      .filter(({ name }) => isKept(name))
      .flatMap((entry) => (entry.isDirectory() ? walkFolder(join(dir, entry.name)) : [join(dir, entry.name)]));
  return walkFolder(root).map((path) => relative(root, path).replaceAll("\\", "/"));
}

const patternOf = (line: string): RegExp =>
  new RegExp(`^${line.replace(/\/$/, "").replaceAll(".", "\\.").replaceAll("*", ".*")}$`);
