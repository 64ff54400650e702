/**
 * The figures of the structure of `src` stay at or below their ceilings, the page of rooms tells the rules, and each
 * figure rises where its fault is planted.
 */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { partOf } from "../../scripts/marks.ts";
import { OPERATIONS } from "../../src/operations/table.ts";
import { isPureInFeature } from "../support/rules/doors.ts";
import { closure, figuresOf, floors, houseFile, readHouse, roomCycles } from "../support/rules/house.ts";
import { tableOfRooms } from "../support/rules/rooms.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const read = (...path: readonly string[]): string => readFileSync(join(ROOT, ...path), "utf8");

test("no figure is above its ceiling: lower it with `npm run house -- --lower`, or raise it by hand with the reason", () => {
  const ceilings = JSON.parse(read("docs", "contributing", "house.json")) as Record<string, number>;
  const figures = Object.fromEntries(figuresOf(readHouse(ROOT)).map(({ name, value }) => [name, value]));
  expect(Object.keys(ceilings)).toEqual(Object.keys(figures));
  const above = Object.entries(figures).filter(([name, value]) => value > (ceilings[name] ?? 0));
  expect(above).toEqual([]);
});

test("the page of the architecture has the table of rooms that is checked: `npm run house -- --write`", () => {
  expect(partOf(read("ARCHITECTURE.md"), "rooms")).toBe(tableOfRooms());
});

test("the page of the architecture lists each feature, its pure part, where to start, and operations that exist", () => {
  const folder = (feature: string): string => join("src", "features", feature);
  const filesOf = (feature: string): readonly string[] =>
    readdirSync(join(ROOT, folder(feature)), { recursive: true, encoding: "utf8" });
  const namesIn = (cell = ""): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? "");
  const part = /^## Features$([^]*?)^## /m.exec(read("ARCHITECTURE.md"))?.[1] ?? "";
  const rows = [...part.matchAll(/^\| ([a-z-]+) \| [^|]+ \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)].filter(
    ([, feature]) => feature !== "feature",
  );
  const folders = readdirSync(join(ROOT, "src", "features"), { withFileTypes: true }).filter((each) =>
    each.isDirectory(),
  );
  expect(rows.map(([, feature]) => feature)).toEqual(folders.map(({ name }) => name).toSorted());
  for (const [, feature = "", pure = "", start = "", operations = ""] of rows) {
    const cores = filesOf(feature).filter((file) => isPureInFeature(`src/features/${feature}/${file}`));
    // Of the topologies the page names two for all.
    const pureParts = pure.includes("…") ? cores.filter((file) => namesIn(pure).includes(file)) : cores;
    expect({ feature, pure: namesIn(pure).toSorted() }).toEqual({ feature, pure: pureParts.toSorted() });
    const gone = namesIn(start).filter((file) => !existsSync(join(ROOT, folder(feature), file)));
    expect({ feature, starts: namesIn(start).length > 0, gone }).toEqual({ feature, starts: true, gone: [] });
    const unknown = namesIn(operations).filter((name) => !Object.hasOwn(OPERATIONS, name));
    expect({ feature, unknown }).toEqual({ feature, unknown: [] });
  }
});

const house = (files: Readonly<Record<string, string>>) =>
  Object.entries(files).map(([path, text]) => houseFile(path, text));
const valueOf = (name: string, files: Readonly<Record<string, string>>): number =>
  figuresOf(house(files)).find((each) => each.name === name)?.value ?? Number.NaN;

test.each([
  ["parameters called of", "export const f = (of: number, { a }: { a: number }) => of + a;", 1],
  ["parameters called of", "export function f(of = 1) { for (const each of [of]) return each; }", 1],
  ["spread groups in literals", "const [a, b] = [1, 2];\nexport const all = { ...{ a, b }, ...more };", 1],
  ["kernel files that name waits", "export type Held = WaitKind;", 1],
  ["lines of src", "/** One. */\nexport const one = 1;\n", 2],
] as const)("%s: %s", (name, text, value) => {
  expect(valueOf(name, { "src/core/one.ts": text })).toBe(value);
});

test("names of several things are counted once for each name: types anywhere, functions in another room", () => {
  const files = {
    "src/core/one.ts": "export interface Seen { readonly a: 1 }\nexport const find = () => 1;\ninterface Local {}",
    "src/core/two.ts": "export type Seen = 2;\nexport function find() {}\ninterface Local {}",
    "src/api/three.ts": "export const find = () => 3;\nexport const notAFunction = 4;",
    "src/cli/four.ts": "export const notAFunction = 4;",
  };
  expect(valueOf("exported types with a name of others", files)).toBe(1);
  expect(valueOf("exported functions with a name of another room", files)).toBe(1);
});

test("a file with one importer is one, types included", () => {
  const files = {
    "src/core/one.ts": 'import type { Two } from "./two.ts";\nimport "./three.ts";',
    "src/core/two.ts": 'import "./three.ts";\nexport type Two = 2;',
    "src/core/three.ts": "",
  };
  expect(valueOf("files with one importer", files)).toBe(1);
});

test("code lines are those that are neither blank nor a comment", () => {
  expect(houseFile("src/a/b.ts", "/**\n * Says.\n */\n\n// Why.\nconst a = 1; // Behind.\n/* x */\n").codeLines).toBe(
    1,
  );
});

test("a closure follows types and import(), or only what is loaded at once", () => {
  const files = house({
    "src/a/one.ts":
      'import "./two.ts";\nimport type { T } from "./three.ts";\nexport const later = () => import("./four.ts");',
    "src/a/two.ts": 'import "zod";',
    "src/a/three.ts": "export type T = 1;",
    "src/a/four.ts": 'import "./one.ts";',
  });
  expect(closure(files, "src/a/one.ts")).toHaveLength(4);
  const loaded = closure(files, "src/a/one.ts", ({ erased, deferred }) => !erased && !deferred);
  expect(loaded.map(({ path }) => path)).toEqual(["src/a/one.ts", "src/a/two.ts"]);
});

test("rooms that import each other are a circle and share a floor", () => {
  const files = house({
    "src/core/a.ts": "",
    "src/engine/b.ts": 'import "../core/a.ts";\nimport type { C } from "../cli/c.ts";',
    "src/cli/c.ts": 'import "../engine/b.ts";\nexport type C = 1;',
    "src/adapters/aws/d.ts": 'import "../../core/a.ts";',
    "src/adapters/local/e.ts": 'import "../aws/d.ts";\nimport "../../cli/c.ts";',
  });
  expect(roomCycles(files)).toEqual([["src/cli", "src/engine"]]);
  expect(floors(files)).toBe(3);
});
