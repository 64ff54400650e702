/**
 * Projects as people write them. Each has an agent in `agent.ts`, or in its `entry`, whose instructions are `ready`: they are
 * computed by the code that the shape is about. More than 400 lines: one table, read as a whole.
 */

export interface Shape {
  readonly files: Readonly<Record<string, string>>;
  readonly entry?: string;
  /** Node runs it without esbuild. */
  readonly isPlain?: boolean;
  /** What it says without esbuild, if it cannot run then. */
  readonly missing?: RegExp;
}

const MODULE = { "package.json": '{ "type": "module" }' };

const AGENT = (instructions: string): string => `
  export const agent = defineAgent({
    name: "shaped", version: "1", instructions: ${instructions}, task: z.object({}), tools: {},
    model: scriptedModel({ name: "script", reply: () => ({ text: "done" }) }),
  });`;

const HEAD = 'import { defineAgent, scriptedModel } from "cairn-run"; import { z } from "zod";\n';

/** An agent file: its own lines, and what its instructions are. */
export const agentFile = (lines: string, instructions = "word"): string => `${HEAD}${lines}${AGENT(instructions)}`;

const alone = (lines: string, instructions?: string): Shape["files"] => ({
  ...MODULE,
  "agent.ts": agentFile(lines, instructions),
});

const beside = (lines: string, files: Readonly<Record<string, string>>): Shape["files"] => ({
  ...alone(lines),
  ...files,
});

const WORD = 'export const word: string = "ready";';

const tsconfig = (options: object, rest: object = {}): string => JSON.stringify({ compilerOptions: options, ...rest });

const MARKS = `
  const seen: string[] = [];`;

export const SHAPES: Readonly<Record<string, Shape>> = {
  "plain types": {
    isPlain: true,
    files: alone('interface A { readonly b: string }\nconst word = ({ b: "ready" } satisfies A).b;'),
  },
  "an enum": {
    files: alone('enum State { Ready = "ready" }\nconst word = State.Ready;'),
    missing: /agent\.ts:2 has an enum/,
  },
  "a numeric enum": {
    files: alone("enum State { Other, Ready }\nconst word = State[1].toLowerCase();"),
    missing: /an enum/,
  },
  "a const enum": {
    files: alone('const enum State { Ready = "ready" }\nconst word = State.Ready;'),
    missing: /an enum/,
  },
  "an exported enum of another file": {
    files: beside('import { State } from "./state";\nconst word = State.Ready;', {
      "state.ts": 'export enum State { Ready = "ready" }',
    }),
    missing: /state\.ts:1 has an enum/,
  },
  "a parameter property": {
    files: alone(
      'class A { constructor(private readonly said: string) {} get word() { return this.said; } }\nconst { word } = new A("ready");',
    ),
    missing: /agent\.ts:2 has a parameter property/,
  },
  "a namespace": {
    files: alone('namespace Words { export const ready = "ready"; }\nconst word = Words.ready;'),
    missing: /a namespace/,
  },
  "a type assertion in angle brackets": {
    files: alone('const word = <string>"ready";'),
    missing: /a type assertion <T>value/,
  },
  "decorators of the standard": {
    files: alone(`${MARKS}
      function mark<T>(value: T, { name }: ClassMethodDecoratorContext): T { seen.push(String(name)); return value; }
      class A { @mark ready() {} }
      const word = seen.join();`),
    missing: /agent\.ts:5 has a decorator/,
  },
  "decorators of TypeScript": {
    files: {
      ...alone(
        `${MARKS}
      function mark(target: object, name: string, { value }: PropertyDescriptor) { seen.push(name, typeof value); }
      class A { @mark ready() {} }`,
        'seen.join() === "ready,function" ? "ready" : seen.join()',
      ),
      "tsconfig.json": tsconfig({ experimentalDecorators: true }),
    },
  },
  "decorators of parameters, by an extended tsconfig": {
    files: {
      ...alone(
        `${MARKS}
      const mark = (target: object, name: string | undefined, index: number) => { seen.push(index === 1 ? "ready" : "not"); };
      class A { run(a: string, @mark b: string) {} }`,
        "seen.join()",
      ),
      "base/base.json": '{ /* the base */ "compilerOptions": { "experimentalDecorators": true, }, }',
      "tsconfig.json": '{ "extends": "./base/base" }',
    },
  },
  "an accessor field": {
    files: alone('class A { accessor word = "ready"; }\nconst { word } = new A();'),
    missing: /an accessor field/,
  },
  "an import without an ending": { isPlain: true, files: beside('import { word } from "./lib";', { "lib.ts": WORD }) },
  "an import of the compiled name": {
    isPlain: true,
    files: beside('import { word } from "./lib.js";', { "lib.ts": WORD }),
  },
  "an import of the compiled name of a module": {
    isPlain: true,
    files: beside('import { word } from "./lib.mjs";', { "lib.mts": WORD }),
  },
  "an import of a folder": { isPlain: true, files: beside('import { word } from "./lib";', { "lib/index.ts": WORD }) },
  "an import of the folder above": {
    isPlain: true,
    entry: "agents/agent.ts",
    files: { ...MODULE, "index.ts": WORD, "agents/agent.ts": agentFile('import { word } from "..";') },
  },
  "an import of a folder with a package.json": {
    isPlain: true,
    files: beside('import { word } from "./lib";', {
      "lib/package.json": '{ "main": "./src/words" }',
      "lib/src/words.ts": WORD,
    }),
  },
  "a dynamic import without an ending": {
    isPlain: true,
    files: beside('const { word } = await import("./lib");', { "lib.ts": WORD }),
  },
  "an alias": {
    isPlain: true,
    entry: "src/agents/agent.ts",
    files: {
      ...MODULE,
      "tsconfig.json": '{ // aliases\n "compilerOptions": { "paths": { "@/*": ["./src/*"], } } }',
      "src/lib/words.ts": WORD,
      "src/agents/agent.ts": agentFile('import { word } from "@/lib/words";'),
    },
  },
  "an alias of a single module": {
    isPlain: true,
    files: beside('import { word } from "words";', {
      "tsconfig.json": tsconfig({ paths: { words: ["./none.ts", "./lib/words.ts"] } }),
      "lib/words.ts": WORD,
    }),
  },
  "an alias with a longer match": {
    isPlain: true,
    files: beside('import { word } from "~/deep/words";', {
      "tsconfig.json": tsconfig({ paths: { "~/*": ["./a/*"], "~/deep/*": ["./b/*"] } }),
      "a/deep/words.ts": 'export const word = "the wrong one";',
      "b/words.ts": WORD,
    }),
  },
  "an alias of an extended tsconfig": {
    isPlain: true,
    entry: "app/agent.ts",
    files: {
      ...MODULE,
      "tsconfig.base.json": tsconfig({ baseUrl: "./shared", paths: { "#shared/*": ["*"], $lib: ["words"] } }),
      "app/tsconfig.json": '{ "extends": "../tsconfig.base.json" }',
      "shared/words.ts": WORD,
      "app/agent.ts": agentFile('import { word } from "$lib";'),
    },
  },
  "an alias of a tsconfig that references others": {
    isPlain: true,
    files: beside('import { word } from "@/words";', {
      "tsconfig.json": JSON.stringify({ files: [], references: [{ path: "./tsconfig.app.json" }] }),
      "tsconfig.app.json": tsconfig({ paths: { "@/*": ["./src/*"] } }),
      "src/words.ts": WORD,
    }),
  },
  "a base URL": {
    isPlain: true,
    files: beside('import { word } from "lib/words";', {
      "tsconfig.json": tsconfig({ baseUrl: "src" }),
      "src/lib/words.ts": WORD,
    }),
  },
  "JSON without an attribute": {
    isPlain: true,
    files: beside('import words from "./words.json";\nconst { word } = words;', {
      "words.json": '{ "word": "ready" }',
    }),
  },
  "a name of JSON": {
    isPlain: true,
    files: beside('import { word } from "./words.json";', {
      "words.json": '{ "word": "ready", "a-b": 1, "json": 2, "class": 3 }',
    }),
  },
  "JSON with an attribute": {
    isPlain: true,
    files: beside('import words from "./words.json" with { type: "json" };\nconst { word } = words;', {
      "words.json": '{ "word": "ready" }',
    }),
  },
  "a type import that is not marked": {
    isPlain: true,
    files: beside('import { Word } from "./lib.ts";\n// A Word is a text.\nconst word: Word = "ready";', {
      "lib.ts": "export type Word = string;",
    }),
  },
  "an interface beside a value, not marked": {
    isPlain: true,
    files: beside(
      'import { word as said, Words } from "./lib";\nconst words: Words = { word: said };\nconst { word } = words;',
      {
        "lib.ts": `export interface Words { word: string }\n${WORD}`,
      },
    ),
  },
  "a default type import that is not marked": {
    isPlain: true,
    files: beside('import Words from "./lib";\nconst { word }: Words = { word: "ready" };', {
      "lib.ts": "interface Words { word: string }\nexport default Words;",
    }),
  },
  "a namespace of types": {
    isPlain: true,
    files: beside('import * as lib from "./lib";\nconst word: lib.Word = "ready";', {
      "lib.d.ts": "export type Word = string;",
    }),
  },
  "types of a package of declarations only": {
    isPlain: true,
    files: beside('import { Word } from "only-types";\nconst word: Word = "ready";', {
      "node_modules/only-types/package.json": '{ "name": "only-types", "types": "index.d.ts" }',
      "node_modules/only-types/index.d.ts": "export type Word = string;",
    }),
  },
  "an index that passes types on": {
    isPlain: true,
    files: beside('import { word, Word } from "./lib";\nconst said: Word = word;', {
      "lib/index.ts": 'export { Word, word } from "./word";\nexport * from "./other";',
      "lib/word.ts": `export type Word = string;\n${WORD}`,
      "lib/other.ts": "export interface Other { a: 1 }",
    }),
  },
  "an imported type that is exported again": {
    isPlain: true,
    files: beside('import { word } from "./lib";', {
      "lib.ts": `import { Word } from "./word";\nexport { Word };\nexport const word: Word = "ready";`,
      "word.ts": "export interface Inner {}\ntype Word = string;\nexport { Word };",
    }),
  },
  "an import that is kept for what it does": {
    isPlain: true,
    files: beside('import "./effect";\nconst word = (globalThis as { shapedBy?: string }).shapedBy ?? "nothing";', {
      "effect.ts": '(globalThis as { shapedBy?: string }).shapedBy = "ready";',
    }),
  },
  "a .tsx file without JSX": {
    isPlain: true,
    entry: "agent.tsx",
    files: { ...MODULE, "agent.tsx": agentFile('const word: string = "ready";') },
  },
  "a .tsx file with JSX": {
    entry: "agent.tsx",
    files: {
      ...MODULE,
      "tsconfig.json": tsconfig({ jsx: "react", jsxFactory: "h" }),
      "agent.tsx": agentFile(
        "const h = (name: string, props: object | null, ...rest: string[]) => rest.join();\nconst word = <prompt>ready</prompt>;",
      ),
    },
    missing: /agent\.tsx:\d+ has JSX/,
  },
  "JSX that is preserved, with an import source": {
    entry: "agent.tsx",
    files: {
      ...MODULE,
      "tsconfig.json": tsconfig({ jsx: "preserve", jsxImportSource: "prompts" }),
      "node_modules/prompts/package.json":
        '{ "name": "prompts", "type": "module", "exports": { "./jsx-runtime": "./jsx.js" } }',
      "node_modules/prompts/jsx.js": "export const jsx = (name, { children }) => children;",
      "agent.tsx": agentFile("const word = <prompt>ready</prompt>;"),
    },
  },
  "JSX of a file that has React, without a word about it": {
    entry: "agent.tsx",
    files: {
      ...MODULE,
      "react.ts": "export default { createElement: (name: string, props: object | null, text: string) => text };",
      "agent.tsx": agentFile('import React from "./react";\nconst word = <p>ready</p>;'),
    },
  },
  "a .jsx file": {
    entry: "agent.jsx",
    files: {
      ...MODULE,
      "agent.jsx": agentFile(
        "/** @jsxRuntime classic @jsx h */\nconst h = (name, props, text) => text;\nconst word = <p>ready</p>;",
      ),
    },
  },
  "TypeScript of a linked workspace package": {
    isPlain: true,
    entry: "apps/one/agent.ts",
    files: {
      ...MODULE,
      "packages/words/package.json": '{ "name": "@org/words", "type": "module", "exports": { ".": "./src/index.ts" } }',
      "packages/words/src/index.ts": 'export * from "./word";',
      "packages/words/src/word.ts": WORD,
      "apps/one/package.json": '{ "type": "module" }',
      "apps/one/node_modules/@org/words": "-> ../../../../packages/words",
      "apps/one/agent.ts": agentFile('import { word } from "@org/words";'),
    },
  },
  "TypeScript of a workspace package whose main has no ending": {
    isPlain: true,
    files: beside('import { word } from "@org/words";\nimport { word as again } from "@org/words/again";', {
      "packages/words/package.json": '{ "name": "@org/words", "main": "src/index" }',
      "packages/words/src/index.ts": WORD,
      "packages/words/again.ts": WORD,
      "node_modules/@org/words": "-> ../../packages/words",
    }),
  },
  "a workspace package that names what is not built yet": {
    isPlain: true,
    files: beside('import { word } from "@org/words";', {
      "packages/words/package.json": '{ "name": "@org/words", "type": "module", "exports": { ".": "./src/index.js" } }',
      "packages/words/src/index.ts": WORD,
      "node_modules/@org/words": "-> ../../packages/words",
    }),
  },
  "TypeScript of a copied package": {
    isPlain: true,
    files: beside('import { word } from "words";', {
      "node_modules/words/package.json": '{ "name": "words", "type": "module", "exports": "./index.ts" }',
      "node_modules/words/index.ts": 'import { Word } from "./types";\nexport const word: Word = "ready";',
      "node_modules/words/types.ts": "export type Word = string;",
    }),
  },
  "an enum of a copied package": {
    files: beside('import { Word } from "words";\nconst word = Word.Ready;', {
      "node_modules/words/package.json": '{ "name": "words", "type": "module", "exports": "./index.ts" }',
      "node_modules/words/index.ts": 'export enum Word { Ready = "ready" }',
    }),
    missing: /index\.ts:1 has an enum/,
  },
  "a .mts file": {
    isPlain: true,
    entry: "agent.mts",
    files: { "agent.mts": agentFile('import { word } from "./lib.mjs";'), "lib.mts": WORD },
  },
  "a .cts file with require": {
    isPlain: true,
    files: beside('import lib from "./lib.cjs";\nconst { word } = lib;', {
      "lib.cts": 'const other: { word: string } = require("./other.cts");\nmodule.exports = { word: other.word };',
      "other.cts": 'exports.word = "ready" as string;',
    }),
  },
  "a .cts file with import and export": {
    files: beside('import { word } from "./lib.cjs";', {
      "lib.cts": 'import { other } from "./other";\nexport const word = other;',
      "other.cts": 'export const other: string = "ready";',
    }),
    missing: /(lib|other)\.cts:1 has import or export in a CommonJS file/,
  },
  "import x = require()": {
    files: beside('import path = require("node:path");\nconst word = path.basename("/a/ready");', {}),
    missing: /an? import equals declaration/,
  },
  "export = and import = of it": {
    files: beside('import lib from "./lib.cjs";\nconst { word } = lib;', {
      "lib.cts": 'import path = require("node:path");\nconst word = path.basename("/a/ready");\nexport = { word };',
    }),
    missing: /lib\.cts:1 has an? import equals declaration/,
  },
  "a commonjs project with import and export": {
    isPlain: true,
    files: {
      "package.json": '{ "type": "commonjs" }',
      "agent.ts": agentFile(
        'import { word } from "./lib";\nimport { basename } from "path";\nif (basename(__filename) !== "agent.ts" || !__dirname) throw new Error("no names");',
      ),
      "lib.ts": 'const { word } = require("./words");\nexport { word };',
      "words.js": 'exports.word = "ready";',
    },
  },
  "a project without a type": {
    isPlain: true,
    files: {
      "package.json": "{}",
      "agent.mts": agentFile('import { word } from "./lib";'),
      "lib.ts": 'exports.word = "ready";',
    },
    entry: "agent.mts",
  },
  "require of TypeScript": {
    isPlain: true,
    files: beside(
      'import { createRequire } from "node:module";\nconst { word } = createRequire(import.meta.url)("./lib");',
      { "lib.ts": WORD },
    ),
  },
  "JavaScript that imports TypeScript": {
    isPlain: true,
    entry: "agent.js",
    files: { ...MODULE, "agent.js": agentFile('import { word } from "./lib";'), "lib.ts": WORD },
  },
  "const assertions, generics, overloads, abstract classes and this types": {
    isPlain: true,
    files: alone(`
      function say(a: string): string; function say(a: number): string; function say(a: unknown) { return String(a); }
      abstract class A<const T> { declare x: T; abstract run(this: A<T>): T; protected static override?: never }
      const words = ["ready"] as const;
      const first = <T,>(all: readonly T[]): T => all[0]!;
      const word: (typeof words)[number] = say(first(words)) as "ready";`),
  },
  "strings, templates and expressions that look like other syntax": {
    isPlain: true,
    files: beside(
      'import { word } from "./lib";\nconst odd = [/["\'`@{]\\/[/"]/g, "@mark enum", `${"}" + `@${"{"}`} import`, 4 / 2 / 1];\nif (odd.length !== 4) throw new Error();',
      {
        "lib.ts": WORD,
      },
    ),
  },
  "a BOM and a hashbang": {
    isPlain: true,
    files: {
      ...MODULE,
      "agent.ts": `\uFEFF${agentFile('import { word } from "./lib";')}`,
      "lib.ts": `#!/usr/bin/env node\n${WORD}`,
    },
  },
  "a config of types beside": {
    files: { ...alone('enum A { Ready = "ready" }\nconst word = A.Ready;'), "tsconfig.json": "{ this is no JSON" },
  },
};
