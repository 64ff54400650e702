/**
 * Every block of TypeScript on the pages compiles, against the sources, with what `code-blocks.ts` says that it leaves
 * out. The programs of the tutorial and of the recipes are files of `test/testing`, which `npm run types` compiles.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { BLOCKS, type Block, FILES } from "./code-blocks.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const PROGRAMS_ELSEWHERE = new Set(["docs/tutorial.md", "docs/recipes.md"]);
const FENCE = /^ *```(\w+)[^\n]*\n([^]*?)^ *```$/gm;
const TYPESCRIPT = /^(tsx?|typescript|m?js|jsx|javascript)$/;

const pages = ["", "docs", "docs/adr", "docs/contributing", "localstack"].flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name)),
);

/** The blocks of a page that are code. */
const blocksOf = (page: string): readonly string[] =>
  [...readFileSync(join(ROOT, page), "utf8").matchAll(FENCE)]
    .filter(([, language = ""]) => TYPESCRIPT.test(language))
    .map(([, , code = ""]) => code);

const AGENT_FIELDS = `import { defineAgent as define } from "cairn-run";
import { z as zod } from "zod";
const others = {
  ...{ name: "fields", version: "1", model: "openai:gpt-5", instructions: "", tools: {}, budget: { beats: 1 } },
  task: zod.object({ order: zod.string().default("") , from: zod.string().optional(), to: zod.string().optional() }),
};`;

/** What stands around a block of fields. */
const AROUND: Readonly<Record<Exclude<Block["as"], "module">, readonly [before: string, open: string, close: string]>> =
  {
    agent: [AGENT_FIELDS, "define({ ...others,", "});"],
    tools: [AGENT_FIELDS, "define({ ...others, tools: {", "} });"],
    tool: [
      'import { tool as make } from "cairn-run";\nimport { z as zod } from "zod";',
      'make({ description: "", input: zod.object({ url: zod.string() }), effect: "none",',
      "});",
    ],
    config: ['import type { Config as OfConfig } from "cairn-run";', "const fields: Partial<OfConfig> = {", "};"],
    argument: ["", "void [", "];"],
  };

/** The block as a module. */
function moduleOf(code: string, { as, before = "" }: Block): string {
  const whole = code.replaceAll(/^ *\/\/ (?:\.\.\.|…)$/gm, "...rest,").replaceAll(/\/\* \.\.\. \*\//g, "...rest");
  if (as === "module") return `${before}\n${whole}\nexport {};\n`;
  const isConfig = /^export const config = \{\n?([^]*)\n?\};\s*$/.exec(whole);
  const imports = whole.match(/^import .*$/gm) ?? [];
  const [own, open, close] = AROUND[as];
  const fields = (isConfig?.[1] ?? whole).replaceAll(/^import .*$/gm, "");
  return [...imports, before, own, open, fields.replace(/([\])}])\s*$/, "$1,"), close, "export {};"].join("\n");
}

test("each block is known, and compiles", () => {
  const coded = pages.filter((page) => blocksOf(page).length > 0 && !PROGRAMS_ELSEWHERE.has(page));
  expect(coded.map((page) => [page, blocksOf(page).length])).toEqual(
    Object.entries(BLOCKS).map(([page, blocks]) => [page, blocks.length]),
  );
  mkdirSync(join(ROOT, "coverage"), { recursive: true });
  const dir = mkdtempSync(join(ROOT, "coverage", "code-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  // What does not compile, so that a compiler that reads nothing is seen.
  const files: Record<string, string> = { ...FILES, "wrong.ts": 'export const wrong: number = "one";\n' };
  for (const page of coded)
    for (const [index, code] of blocksOf(page).entries()) {
      const name = page.replaceAll(/\W/g, "-");
      files[`${name}-${index + 1}.ts`] = moduleOf(code, BLOCKS[page]?.[index] ?? { as: "module" });
    }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  // `strict`, as projects are; and a block shows one thing, so it uses not all that it names.
  const compilerOptions = {
    ...{ noUnusedLocals: false, noUnusedParameters: false, exactOptionalPropertyTypes: false },
    ...{ lib: ["esnext", "dom"], types: ["node"] },
  };
  const config = { extends: join(ROOT, "tsconfig.json"), compilerOptions, include: ["*.ts"], exclude: [] };
  writeFileSync(join(dir, "tsconfig.json"), JSON.stringify(config));
  const tsc = join(ROOT, "node_modules", ".bin", "tsc");
  const { stdout } = spawnSync(tsc, ["-p", dir, "--pretty", "false"], { cwd: ROOT, encoding: "utf8" });
  const ofBlocks = stdout.split("\n").filter((line) => line.startsWith(relative(ROOT, dir)));
  expect(ofBlocks).toEqual([expect.stringMatching(/wrong\.ts\(1,14\): error TS2322/)]);
});
