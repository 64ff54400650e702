/** Projects as people write them load, with Node's own loader in a process, as the command line and the workers use it. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SHAPES } from "./shapes.ts";

interface Said {
  readonly said: string;
  /** How often it looked for the transformer. */
  readonly transformers: number;
}

let dir = "";
let first: Readonly<Record<string, Said>> = {};
let again: Readonly<Record<string, Said>> = {};
let without: Readonly<Record<string, Said>> = {};

const names = Object.keys(SHAPES);
const fileOf = (name: string, root = dir): string =>
  join(root, String(names.indexOf(name)), SHAPES[name]?.entry ?? "agent.ts");

function writeShapes(): string {
  const root = mkdtempSync(join(tmpdir(), "cairn-shapes-"));
  for (const [name, { files }] of Object.entries(SHAPES)) {
    for (const [path, content] of Object.entries(files)) {
      const file = join(root, String(names.indexOf(name)), path);
      mkdirSync(dirname(file), { recursive: true });
      if (content.startsWith("-> ")) symlinkSync(content.slice(3), file);
      else writeFileSync(file, content);
    }
    mkdirSync(join(root, String(names.indexOf(name)), "node_modules"), { recursive: true });
  }
  return root;
}

function load(root: string, ...words: readonly string[]): Readonly<Record<string, Said>> {
  const files = names.map((name) => fileOf(name, root));
  const args = ["--disable-warning=ExperimentalWarning", join(import.meta.dirname, "run-shapes.ts"), ...words];
  const out = execFileSync(process.execPath, args, { input: JSON.stringify(files), encoding: "utf8" });
  return JSON.parse(out) as Readonly<Record<string, Said>>;
}

let bare = "";

beforeAll(() => {
  [dir, bare] = [writeShapes(), writeShapes()];
  first = load(dir);
  again = load(dir);
  without = load(bare, "without");
});
afterAll(() => {
  for (const root of [dir, bare]) rmSync(root, { recursive: true });
});

describe("with esbuild", () => {
  test.for(names)("loads %s", (name) => {
    expect(first[fileOf(name)]?.said).toBe("ready");
  });

  test.for(names)("loads %s again from what it kept, without esbuild", (name) => {
    expect(again[fileOf(name)]).toStrictEqual({ said: "ready", transformers: 0 });
  });
});

describe("without esbuild", () => {
  const plain = names.filter((name) => SHAPES[name]?.isPlain === true);
  test.for(plain)("loads %s, and never looks for it", (name) => {
    expect(without[fileOf(name, bare)]).toStrictEqual({ said: "ready", transformers: 0 });
  });

  const others = names.filter((name) => SHAPES[name]?.isPlain !== true);
  test.for(others)("says of %s which line needs it, and what to type", (name) => {
    const { said = "" } = without[fileOf(name, bare)] ?? {};
    expect(said).toMatch(SHAPES[name]?.missing ?? / has .+, which Node cannot run as it is/);
    expect(said).toContain("(npm install --save-dev esbuild)");
  });
});
