/**
 * Installs LocalStack 4.14.0, the last open version, to run without Docker: Python packages from PyPI, and our own plugin,
 * which runs Lambda functions as processes and puts an open-source DynamoDB in the place of DynamoDB Local. Every version
 * is pinned, and every download is compared with a digest beside this file. It installs only if something changed since
 * the last time.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, cpSync, existsSync, mkdirSync, openSync, readFileSync, readdirSync } from "node:fs";
import { realpathSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { isPython313, python313 } from "./tools.ts";

/** The folders of the installation, and the Python that runs it. */
export interface Installation {
  readonly dir: string;
  readonly python: string;
}

const HERE = import.meta.dirname;
const VERSION = "4.14.0";

/** The folder of the installation: `LS_DIR`, or one in the user's cache. */
export const defaultDir = (env: Readonly<Record<string, string | undefined>>): string =>
  env["LS_DIR"] || join(env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "cairn", `localstack-${VERSION}`);

/** No wheels are pinned for other systems. */
export const IS_INSTALLABLE: boolean = process.platform === "linux" && process.arch === "x64";

/**
 * Installs into `dir` and returns where everything is. `say` gets lines of progress. Throws if a download has a wrong
 * digest.
 */
export function install(dir: string, say: (line: string) => void): Installation {
  if (!IS_INSTALLABLE) {
    throw new Error(
      "LocalStack's packages are pinned for 64-bit Intel Linux only. Start a Docker engine: then it runs in a container",
    );
  }
  mkdirSync(dir, { recursive: true });
  const whole = realpathSync(dir);
  const installed = { dir: whole, python: join(whole, "venv", "bin", "python") };
  const stamp = stampOf(readdirSync(HERE, { recursive: true, encoding: "utf8" }));
  const mark = join(whole, "installed");
  if (existsSync(mark) && readFileSync(mark, "utf8") === stamp) return installed;
  rmSync(mark, { force: true });
  installPython(installed, say);
  writeFileSync(mark, stamp);
  return installed;
}

/** The digest of every file that decides what is installed. */
function stampOf(files: readonly string[]): string {
  const deciding = files.filter((file) =>
    /^(install\.ts|requirements\.txt)$|^process_executor\/.*\.(py|ts|toml)$/.test(file),
  );
  const hash = createHash("sha256");
  for (const file of deciding.toSorted()) hash.update(file).update(readFileSync(join(HERE, file)));
  return hash.digest("hex");
}

function installPython({ dir, python }: Installation, say: (line: string) => void): void {
  if (!isPython313(python)) run(dir, [python313(process.env), "-m", "venv", "--clear", join(dir, "venv")]);
  say(`installing LocalStack ${VERSION} from PyPI into ${dir} (about 110 MB) ...`);
  const pip = (...words: readonly string[]): void =>
    run(dir, [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile", "--no-deps", ...words]);
  // Three packages come as source, and one of the pinned packages builds them. So it is installed first.
  const builder = join(dir, "builder.txt");
  writeFileSync(builder, requirement("setuptools"));
  pip("--require-hashes", "-r", builder);
  pip("--require-hashes", "--no-build-isolation", "-r", join(HERE, "requirements.txt"));
  // Built from a copy, since the build leaves folders behind.
  const copy = join(dir, "process_executor");
  rmSync(copy, { recursive: true, force: true });
  cpSync(join(HERE, "process_executor"), copy, { recursive: true });
  pip("--no-build-isolation", "--force-reinstall", copy);
  rmSync(copy, { recursive: true });
}

/** The pinned version of one package, with its digests. */
function requirement(name: string): string {
  const text = readFileSync(join(HERE, "requirements.txt"), "utf8");
  const found = new RegExp(`^${name}==.*(\\n +--hash=.*)+`, "m").exec(text);
  if (found === null) throw new Error(`requirements.txt does not name ${name}`);
  return `${found[0]}\n`;
}

/** Runs a command. Its output goes to a file, and is shown only if the command fails. */
function run(dir: string, [command = "", ...words]: readonly string[]): void {
  const log = join(dir, "install.txt");
  const output = openSync(log, "a");
  const { status, error } = spawnSync(command, words, { stdio: ["ignore", output, output] });
  closeSync(output);
  if (error !== undefined) throw new Error(`${command} cannot be run: ${error.message}`);
  if (status === 0) return;
  const said = readFileSync(log, "utf8").trimEnd().split("\n").slice(-15).join("\n");
  throw new Error(`${command} failed; the end of ${log}:\n${said}`);
}
