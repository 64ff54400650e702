/**
 * Bundles the benchmark's runs of cairn as the package is bundled, into `build/bench`. Users run a bundle, and so do the
 * peers. From the sources a process needs 30 MB more, for the text of TypeScript and of what it became.
 */
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundle } from "../scripts/bundle.ts";

const OUT = join(import.meta.dirname, "../build/bench");

/** Returns the folder of the bundle. */
export async function bundleBench(): Promise<string> {
  rmSync(OUT, { recursive: true, force: true });
  mkdirSync(OUT, { recursive: true });
  const names = ["drive", "drive-many", "many-agent", "fresh-load"];
  const input = Object.fromEntries(names.map((name) => [name, `bench/${name}.ts`]));
  const processes = { worker: "src/compose/workers/worker.ts" };
  await bundle({
    ...{ input: { ...input, ...processes }, dir: OUT },
    groups: [
      { name: "drive", of: [["bench/drive.ts"]] },
      { name: "worker", of: [Object.values(processes)] },
    ],
  });
  // Processes are started by the import map of their package.
  const imports = { "#compose/workers/worker": "./worker.js", "#package": "./package.json" };
  writeFileSync(join(OUT, "package.json"), JSON.stringify({ type: "module", imports }));
  // The texts of the replies are sentences from there.
  cpSync(join(OUT, "../../docs"), join(OUT, "docs"), { recursive: true });
  return OUT;
}
