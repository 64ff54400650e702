/**
 * Installs LocalStack 4.14.0, the last open version, to run without Docker: Python packages from PyPI, DynamoDB Local
 * from Maven Central, and our own executor that runs Lambda functions as processes. Every version is pinned, and every
 * download is compared with a digest beside this file. It installs only if something changed since the last time.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, cpSync, existsSync, mkdirSync, openSync, readFileSync, readdirSync } from "node:fs";
import { realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { javaHome, python312 } from "./tools.ts";

/** The folders of the installation, and the Python that runs it. */
export interface Installation {
  readonly dir: string;
  readonly python: string;
  /** The folder that LocalStack uses for downloaded packages. */
  readonly lib: string;
}

const HERE = import.meta.dirname;
const VERSION = "4.14.0";

/** The folder of the installation: `LS_DIR`, or one in the user's cache. */
export const defaultDir = (env: Readonly<Record<string, string | undefined>>): string =>
  env["LS_DIR"] || join(env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "cairn", `localstack-${VERSION}`);

/**
 * Installs into `dir` and returns where everything is. `say` gets lines of progress. Throws if a download has a wrong
 * digest.
 */
export function install(dir: string, say: (line: string) => void): Installation {
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new Error(
      "without Docker, LocalStack runs on 64-bit Intel Linux only: DynamoDB Local contains no other library",
    );
  }
  mkdirSync(dir, { recursive: true });
  const whole = realpathSync(dir);
  const installed = { dir: whole, python: join(whole, "venv", "bin", "python"), lib: join(whole, "lib") };
  const stamp = stampOf(readdirSync(HERE, { recursive: true, encoding: "utf8" }));
  const mark = join(whole, "installed");
  if (existsSync(mark) && readFileSync(mark, "utf8") === stamp) return installed;
  rmSync(mark, { force: true });
  installPython(installed, say);
  installJars(installed, say);
  writeFileSync(mark, stamp);
  return installed;
}

/** The digest of every file that decides what is installed. */
function stampOf(files: readonly string[]): string {
  const deciding = files.filter((file) =>
    /^(install\.ts|requirements\.txt|pom\.xml|jars\.sha256)$|\.(py|mjs|toml)$/.test(file),
  );
  const hash = createHash("sha256");
  for (const file of deciding.toSorted()) hash.update(file).update(readFileSync(join(HERE, file)));
  return hash.digest("hex");
}

function installPython({ dir, python }: Installation, say: (line: string) => void): void {
  if (!existsSync(python)) run(dir, [python312(process.env), "-m", "venv", join(dir, "venv")]);
  say(`installing LocalStack ${VERSION} from PyPI into ${dir} (about 110 MB) ...`);
  const pip = (...words: readonly string[]): void =>
    run(dir, [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps", ...words]);
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

/** Puts DynamoDB Local where LocalStack would put it, and the Java that runs it. */
function installJars({ dir, lib, python }: Installation, say: (line: string) => void): void {
  const java = join(lib, "java", "21");
  rmSync(java, { force: true });
  mkdirSync(join(lib, "java"), { recursive: true });
  symlinkSync(javaHome(process.env), java);
  const target = join(lib, "dynamodb-local", "2");
  if (wrongJar(target) !== null) {
    say("fetching DynamoDB Local 3.0.0 from Maven Central (about 60 MB) ...");
    rmSync(target, { recursive: true, force: true });
    const goals = ["dependency:copy-dependencies", "dependency:copy"];
    run(dir, ["mvn", "-B", "-q", "-C", "-f", join(HERE, "pom.xml"), `-Dlib=${target}`, ...goals]);
  }
  const wrong = wrongJar(target);
  if (wrong !== null) throw new Error(`${join(target, wrong)} does not have the digest in jars.sha256`);
  run(dir, [python, join(HERE, "wrap_jars.py"), target]);
}

/** The first file that is missing or has another digest, or null. */
function wrongJar(target: string): string | null {
  for (const line of readFileSync(join(HERE, "jars.sha256"), "utf8").trim().split("\n")) {
    const [sha256, file = ""] = line.split(/ +/);
    const path = join(target, file);
    if (!existsSync(path) || createHash("sha256").update(readFileSync(path)).digest("hex") !== sha256) return file;
  }
  return null;
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
