/**
 * Installs the platform of SST: its components and their packages, which `sst install` writes to `.sst`. They come from
 * npm only. Without them a description cannot be checked, captured or deployed.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";

const ROOT = join(import.meta.dirname, "..");
const PLATFORM = join(ROOT, ".sst", "platform");

/**
 * Does nothing if the platform of the wanted SST version is installed. The installer is spawned synchronously, before
 * the promise is returned.
 */
export async function installPlatform(say: (line: string) => void): Promise<void> {
  const wanted = wantedVersion();
  if (installedVersion() === wanted) return;
  say(`installing the platform of SST ${wanted} from npm into .sst (about a minute) ...`);
  await install();
  const installed = installedVersion();
  if (installed === wanted) return;
  throw new Error(`sst install left ${installed ?? "nothing"} in .sst/platform, and package.json asks for ${wanted}`);
}

function wantedVersion(): string {
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  return devDependencies["sst"] ?? "";
}

/** The installed version; null if none is installed completely. SST writes the version first and the packages last. */
function installedVersion(): string | null {
  const isWhole = existsSync(join(PLATFORM, "node_modules", "@pulumi", "aws", "index.js"));
  return isWhole ? readFileSync(join(PLATFORM, "version"), "utf8").trim() : null;
}

async function install(): Promise<void> {
  const child = spawn(join(ROOT, "node_modules", ".bin", "sst"), ["install", "--stage", "ci"], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    // Skips the download of engines and a runtime, which only a deployment needs, and SST's own telemetry.
    env: { ...process.env, SST_SKIP_DEPENDENCY_CHECK: "1", SST_NO_BUN: "1", SST_TELEMETRY_DISABLED: "1" },
  });
  const status = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  const [code, ...said] = await Promise.all([status, text(child.stdout), text(child.stderr)]);
  if (code !== 0) throw new Error(`sst install failed:\n${said.join("").trim().slice(-4_000)}`);
}
