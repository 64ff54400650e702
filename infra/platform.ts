/**
 * Installs the platform of SST: its components and their packages, which `sst install` writes to `.sst`. They come from
 * npm only. Without them a description cannot be checked, captured or deployed.
 *
 * An installation is kept in a folder of the user's cache, by the version of SST and the providers that it was made for.
 * The next checkout copies it, and downloads nothing.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { constants, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

const ROOT = join(import.meta.dirname, "..");
const SST = join(ROOT, ".sst");
const PLATFORM = join(SST, "platform");

/**
 * Does nothing if the platform of the wanted SST version is installed. The installer is spawned synchronously, before
 * the promise is returned.
 */
export async function installPlatform(say: (line: string) => void): Promise<void> {
  const wanted = wantedVersion();
  if (installedVersion() === wanted) return;
  const kept = keptFolder(wanted);
  if (existsSync(kept)) {
    say(`copying the platform of SST ${wanted} from ${kept} ...`);
    rmSync(PLATFORM, { recursive: true, force: true });
    copy(kept, SST);
    if (installedVersion() === wanted) return;
  }
  say(`installing the platform of SST ${wanted} from npm into .sst (about a minute) ...`);
  await install();
  const installed = installedVersion();
  if (installed === wanted) return keep(kept, say);
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

/** Where an installation of this version is kept. `sst.config.ts` names the providers, whose types are part of it. */
function keptFolder(version: string): string {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const digest = createHash("sha256")
    .update(readFileSync(join(ROOT, "sst.config.ts")))
    .digest("hex");
  return join(cache, "cairn", `sst-platform-${version}-${digest.slice(0, 16)}`);
}

/** Files are cloned where the file system can do that. */
const copy = (from: string, to: string): void =>
  cpSync(from, to, { recursive: true, mode: constants.COPYFILE_FICLONE, verbatimSymlinks: true });

/** Whole or not at all: another process may look for it meanwhile. A cache that cannot be written is no failure. */
function keep(kept: string, say: (line: string) => void): void {
  try {
    mkdirSync(join(kept, ".."), { recursive: true });
    const part = mkdtempSync(`${kept}-`);
    copy(PLATFORM, join(part, "platform"));
    const versions = "provider-lock.json";
    if (existsSync(join(SST, versions))) cpSync(join(SST, versions), join(part, versions));
    rmSync(kept, { recursive: true, force: true });
    renameSync(part, kept);
  } catch (error) {
    say(`the platform is not kept for the next checkout: ${(error as Error).message}`);
  }
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
