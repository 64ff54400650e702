/**
 * `npm run console`: builds the console, the pages that `cairn dev` and `cairn serve` show at `/`, in `build/console`.
 * `npm run console -- DIR` builds in another folder; what is in it is replaced. A server of a checkout runs this when a
 * browser first asks for a page. The package that users install has the pages built.
 */
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { build } from "vite";

const ROOT = join(import.meta.dirname, "..");
const OUT = resolve(process.argv[2] ?? join(ROOT, "build", "console"));

mkdirSync(dirname(OUT), { recursive: true });
// Two servers may build at the same time, and a third may read: a folder appears whole or not at all.
const folder = `${OUT}-${process.pid}`;
await build({
  root: join(ROOT, "src", "console"),
  // Below the path at which the user's own server mounts it.
  base: "./",
  configFile: false,
  logLevel: "error",
  publicDir: false,
  // The lines of the timeline are those of the command line, which colours them. Here they are plain.
  resolve: { alias: { "node:util": join(ROOT, "src", "console", "model", "plain-text.ts") } },
  build: {
    outDir: folder,
    assetsDir: "console",
    target: "esnext",
    // Its script would be inline, which the content security policy refuses. Browsers of today preload themselves.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
const old = `${folder}-old`;
try {
  renameSync(OUT, old);
} catch (error) {
  // There is none the first time, or while another build puts its own there.
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}
renameSync(folder, OUT);
rmSync(old, { recursive: true, force: true });

const files = readdirSync(OUT, { recursive: true, encoding: "utf8" }).filter((file) =>
  statSync(join(OUT, file)).isFile(),
);
console.log(`${relative(ROOT, OUT)}: ${files.length} files`);
