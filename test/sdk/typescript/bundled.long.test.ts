/** A deployment bundles a project in the way in which the loader runs it. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentFile } from "./shapes.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");

const FILES: Readonly<Record<string, string>> = {
  "package.json": '{ "type": "module" }',
  "cairn.config.mjs": 'export const config = { agents: ["./src/agent.tsx"] };',
  "tsconfig.json": JSON.stringify({
    compilerOptions: { jsx: "react", jsxFactory: "h" },
    files: [],
    references: [{ path: "./tsconfig.app.json" }],
  }),
  "tsconfig.app.json": JSON.stringify({ compilerOptions: { paths: { "@/*": ["./src/*"] } } }),
  "src/agent.tsx": agentFile(`
    import { Part, join } from "@/lib";
    import words from "./words.json";
    import { word as linked } from "@org/words";
    import { unbuilt } from "@org/unbuilt";
    enum State { Ready = "enum" }
    const h = (_: string, __: object | null, text: string) => text;
    const parts: Part[] = [State.Ready, words.word, linked, unbuilt, <p>jsx</p>];
    const word = join(parts);`),
  "src/words.json": '{ "word": "json" }',
  "src/lib/index.ts": 'export { Part, join } from "./parts.js";',
  "src/lib/parts.ts":
    'export type Part = string;\nclass Joiner { constructor(private sign: string) {} join(parts: Part[]) { return parts.join(this.sign); } }\nexport const join = (parts: Part[]) => new Joiner("+").join(parts);',
  "packages/words/package.json": '{ "name": "@org/words", "main": "src/index" }',
  "packages/words/src/index.ts": 'export const word: string = "linked";',
  "packages/unbuilt/package.json": '{ "name": "@org/unbuilt", "type": "module", "exports": "./index.js" }',
  "packages/unbuilt/index.ts": 'export const unbuilt: string = "unbuilt";',
};

let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "cairn-bundled-"));
  for (const [name, content] of Object.entries(FILES)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), content);
  }
  mkdirSync(join(dir, "node_modules", "@org"), { recursive: true });
  for (const name of ["words", "unbuilt"]) {
    symlinkSync(`../../packages/${name}`, join(dir, "node_modules", "@org", name));
  }
  symlinkSync(join(ROOT, "node_modules", "esbuild"), join(dir, "node_modules", "esbuild"));
});
afterAll(() => rmSync(dir, { recursive: true }));

test("bundles aliases, JSX, enums, JSON, types that are not marked, and packages of a workspace", () => {
  const args = ["--disable-warning=ExperimentalWarning", join(ROOT, "infra", "plan-process.ts"), "out", "none"];
  execFileSync(process.execPath, args, { cwd: dir, stdio: ["ignore", "ignore", "inherit"] });
  const beat = join(dir, "out", "beat");
  const chunk = readdirSync(beat).find((name) => /name:"shaped"/.test(readFileSync(join(beat, name), "utf8")));
  expect(chunk).toBeDefined();
  const program = `const all = await import(${JSON.stringify(join(beat, chunk ?? ""))});
    console.log(Object.values(all).find((each) => each?.name === "shaped").instructions);`;
  const out = execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
  expect(out.trim()).toBe("enum+json+linked+unbuilt+jsx");
});
