/** The tool that must already be on the machine: a Python that is new enough. */
import { spawnSync } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { delimiter, join } from "node:path";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * A Python 3.13. LocalStack claims to run on Python 3.10, but its source uses the syntax of 3.12, and with 3.12 each call
 * to S3 is answered by an internal error (`warnings.deprecated` came with 3.13).
 */
export function python313(env: Env): string {
  const named = ["python3.13", "python3"].flatMap((name) => onPath(env, name));
  const installed = globSync(`${env["HOME"]}/.pyenv/versions/3.13*/bin/python`);
  const found = [env["PYTHON"] ?? "", ...named, ...installed].find(isPython313);
  if (found !== undefined) return found;
  throw new Error(
    "LocalStack needs Python 3.13 (with 3.12 it fails at each call to S3); install it, or set PYTHON to its path",
  );
}

const onPath = (env: Env, name: string): string[] =>
  (env["PATH"] ?? "").split(delimiter).flatMap((dir) => (existsSync(join(dir, name)) ? [join(dir, name)] : []));

const TEST = "import sys, ssl, ctypes, venv; sys.exit(sys.version_info[:2] != (3, 13))";

/** True if that path is a Python 3.13 with what LocalStack needs of it. */
export const isPython313 = (path: string): boolean =>
  path !== "" && spawnSync(path, ["-c", TEST], { stdio: "ignore" }).status === 0;
