/** The source files in a bundle of a function. */
import { join } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { pureSources } from "../../infra/bundle.ts";

const ROOT = join(import.meta.dirname, "..", "..");

/** What of those files is in the bundle of a file of `folder` that imports one, unused. */
async function bundledOf(folder: string): Promise<readonly string[]> {
  const contents = `import { decodeRow } from "../src/codec/row.ts"; export const handler = 1;`;
  const { metafile } = await build({
    stdin: { contents, resolveDir: join(ROOT, folder), sourcefile: join(ROOT, folder, "entry.ts"), loader: "js" },
    ...{ bundle: true, write: false, format: "esm", platform: "node", logLevel: "error", absWorkingDir: ROOT },
    ...{ metafile: true, plugins: [pureSources] },
  });
  return Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs));
}

test("are those that it uses, wherever the import of one is", async () => {
  expect(await bundledOf("src")).toEqual(["src/entry.ts"]);
  expect(await bundledOf("functions")).toEqual(["functions/entry.ts"]);
});
