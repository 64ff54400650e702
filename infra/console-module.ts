/** The console as a module of text, which the function of the API answers with. */
import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import type { Plugin } from "esbuild";
import { builtConsole } from "../src/server/built-console.ts";

/** What the module `cairn-console` exports. Without the console it has no files. */
export async function consoleModule(isShown: boolean): Promise<string> {
  return `export const files = ${JSON.stringify(isShown ? filesIn(await builtConsole()) : {})};\n`;
}

const filesIn = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .toSorted()
      .map((file) => [relative(folder, file), readFileSync(file, "utf8")]),
  );

export const consolePlugin = (contents: string): Plugin => ({
  name: "console",
  setup: (esbuild) => {
    esbuild.onResolve({ filter: /^cairn-console$/ }, ({ path }) => ({ path, namespace: "console" }));
    esbuild.onLoad({ filter: /.*/, namespace: "console" }, () => ({ contents, loader: "js" }));
  },
});
