/** `node run-shapes.ts [without]`: loads the agent of each file that stdin lists, and prints what each came to, as JSON. */
import { registerHooks } from "node:module";
import { readFileSync } from "node:fs";

let transformers = 0;
registerHooks({
  resolve: (specifier, context, next) => {
    if (specifier !== "esbuild") return next(specifier, context);
    transformers += 1;
    if (process.argv[2] !== "without") return next(specifier, context);
    throw Object.assign(new Error("Cannot find module 'esbuild'"), { code: "MODULE_NOT_FOUND" });
  },
});
const { registerResolution } = await import("../../../src/sdk/resolution.ts");
const { loadAgentFile } = await import("../../../src/sdk/load.ts");
registerResolution();
const said: Record<string, { said: string; transformers: number }> = {};
for (const file of JSON.parse(readFileSync(0, "utf8")) as readonly string[]) {
  const before = transformers;
  try {
    const [agent] = await loadAgentFile(file);
    said[file] = { said: String(agent?.instructions), transformers: transformers - before };
  } catch (error) {
    said[file] = { said: error instanceof Error ? error.message : String(error), transformers: transformers - before };
  }
}
process.stdout.write(JSON.stringify(said));
