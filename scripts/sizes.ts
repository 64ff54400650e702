/**
 * `npm run sizes`: builds the package that users install and compares its sizes with their bounds: what npm downloads,
 * what it unpacks, and what a browser loads of the client and of the
 * console. Exits 1 if one is above its bound. `npm run sizes --
 * --installed` also installs the tarball in an empty folder and prints how much disk that takes; it needs the network.
 *
 * A bound is about a tenth above the size of today. Raise it on purpose, in the commit that needs it.
 */
import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { builtPackages } from "./built.ts";

/** Kilobytes (1,000 bytes). */
const BOUNDS = { packed: 2_440, unpacked: 8_660, client: 3.5, console: 80 } as const;

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
}

/** Packs the folder `from` into the folder `to`. */
function pack(from: string, to: string): Packed {
  const [packed] = JSON.parse(
    execFileSync("npm", ["pack", from, "--json", "--pack-destination", to], { encoding: "utf8", stdio: "pipe" }),
  ) as readonly Packed[];
  if (packed === undefined) throw new Error(`npm packed nothing of ${from}`);
  return packed;
}

/** The gzipped bytes of the chunks that a page loads when it imports the client and connects to an API. */
async function clientBytes(folder: string): Promise<number> {
  const input = join(folder, "dist", "client", "browser.js");
  const build = await rolldown({ input, platform: "browser" });
  const { output } = await build.generate({ format: "esm", minify: true });
  await build.close();
  return output.reduce((sum, each) => sum + (each.type === "chunk" ? gzipSync(each.code).length : 0), 0);
}

/** The gzipped bytes of everything that a browser loads of the console. */
function consoleBytes(folder: string): number {
  const files = readdirSync(join(folder, "dist", "console"), { recursive: true, withFileTypes: true });
  const loaded = files.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return loaded.reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0);
}

/** What an installation of the tarball takes on disk, in bytes, without optional peers. */
function installedBytes(tarball: string, folder: string): number {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  execFileSync("npm", ["install", tarball, "zod", "--no-audit", "--no-fund"], { cwd: folder, stdio: "pipe" });
  const entries = readdirSync(join(folder, "node_modules"), { recursive: true, withFileTypes: true });
  return entries.reduce((sum, entry) => {
    return entry.isFile() ? sum + lstatSync(join(entry.parentPath, entry.name)).size : sum;
  }, 0);
}

const folder = mkdtempSync(join(tmpdir(), "cairn-sizes-"));
try {
  const built = join(builtPackages(), "cairn-run");
  const { filename, size, unpackedSize } = pack(built, folder);
  const sizes = {
    packed: size,
    unpacked: unpackedSize,
    client: await clientBytes(built),
    console: consoleBytes(built),
  };
  for (const name of ["packed", "unpacked", "client", "console"] as const) {
    const kilobytes = sizes[name] / 1_000;
    const isTooMuch = kilobytes > BOUNDS[name];
    if (isTooMuch) process.exitCode = 1;
    console.log(`${name.padEnd(9)} ${kilobytes.toFixed(1)} of ${BOUNDS[name]} KB${isTooMuch ? "  TOO MUCH" : ""}`);
  }
  if (process.argv.includes("--installed")) {
    const bytes = installedBytes(join(folder, filename), join(folder, "project"));
    console.log(`installed ${(bytes / 1_000_000).toFixed(1)} MB`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
