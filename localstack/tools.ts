/** The tools that must already be on the machine: a Python and a Java that are new enough. */
import { spawnSync } from "node:child_process";
import { existsSync, globSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

type Env = Readonly<Record<string, string | undefined>>;

/** A Python 3.12 or 3.13. LocalStack claims to run on Python 3.10, but its source uses the syntax of 3.12. */
export function python312(env: Env): string {
  const named = ["python3.13", "python3.12", "python3"].flatMap((name) => onPath(env, name));
  const installed = globSync(`${env["HOME"]}/.pyenv/versions/3.1[23]*/bin/python`);
  const test = "import sys, ssl, ctypes, venv; sys.exit(not (3, 12) <= sys.version_info < (3, 14))";
  const found = [env["PYTHON"] ?? "", ...named, ...installed].find((python) => says(python, ["-c", test]) !== null);
  if (found !== undefined) return found;
  throw new Error("LocalStack needs Python 3.12 or 3.13; install one, or set PYTHON to its path");
}

/** The folder of a Java runtime, version 17 or later, that contains `libjvm.so`. */
export function javaHome(env: Env): string {
  const onItsPath = onPath(env, "java").map((java) => dirname(dirname(realpathSync(java))));
  const homes = [env["JAVA_HOME"] ?? "", ...onItsPath, ...globSync("/usr/lib/jvm/*")];
  const found = homes.find((home) => {
    if (!existsSync(join(home, "lib", "server", "libjvm.so"))) return false;
    const version = says(join(home, "bin", "java"), ["-version"]);
    return Number(/version "(\d+)/.exec(version ?? "")?.[1] ?? 0) >= 17;
  });
  if (found !== undefined) return found;
  throw new Error(
    "LocalStack needs a Java runtime from 17 on; install openjdk-17-jre-headless, or set JAVA_HOME to its folder",
  );
}

const onPath = (env: Env, name: string): string[] =>
  (env["PATH"] ?? "").split(delimiter).flatMap((dir) => (existsSync(join(dir, name)) ? [join(dir, name)] : []));

/** Everything that a command printed; null if it failed or does not exist. */
function says(command: string, words: readonly string[]): string | null {
  if (command === "") return null;
  const { status, stdout, stderr } = spawnSync(command, words, { encoding: "utf8" });
  return status === 0 ? stdout + stderr : null;
}
