/** Where the files of the console are. The package has them built; a checkout builds them when they are asked for. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** `dist/console` of the package; `build/console` of a checkout. */
export const consoleFolder = (): string => fileURLToPath(new URL(".", import.meta.resolve("#console/index.html")));

let building: Promise<void> | null = null;

/** The same folder. In a checkout, builds the console if it is older than its source; the package has no source of it. */
export async function builtConsole(): Promise<string> {
  building ??= buildIfOlder().finally(() => (building = null));
  await building;
  return consoleFolder();
}

async function buildIfOlder(): Promise<void> {
  const root = fileURLToPath(new URL(".", import.meta.resolve("#package")));
  const source = join(root, "src", "console");
  if (!existsSync(source)) return;
  const index = join(consoleFolder(), "index.html");
  if (existsSync(index) && newestIn(source) <= statSync(index).mtimeMs) return;
  await promisify(execFile)(process.execPath, [join(root, "scripts", "console.ts")], { cwd: root });
}

const newestIn = (folder: string): number =>
  Math.max(
    ...readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) => statSync(join(folder, file)).mtimeMs),
  );
