/**
 * `npm run chromium`: makes sure that this machine has a Chromium for the browser tests, and prints its path. It is
 * Debian's package, because Playwright's own builds come from a server of their own. `CAIRN_CHROMIUM` names another one.
 *
 * It is the headless shell, which Playwright too takes where no window is asked for: the same engine, without the
 * processes of a window, which take more of the processor than the pages.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const PACKAGE = "chromium-headless-shell";

/** Where distributions put it. */
const PLACES = [
  `/usr/bin/${PACKAGE}`,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
] as const;

/** The path of a Chromium on this machine; null if there is none. */
export function findChromium(): string | null {
  const named = process.env["CAIRN_CHROMIUM"];
  if (named === undefined) return PLACES.find((place) => existsSync(place)) ?? null;
  if (existsSync(named)) return named;
  throw new Error(`CAIRN_CHROMIUM is ${named}, and there is no such file: correct the path, or unset the variable`);
}

/** Returns the path of Chromium, which it installs if there is none. Throws if it cannot: that needs Debian and root. */
export function installChromium(): string {
  const found = findChromium();
  if (found !== null) return found;
  apt("update");
  apt("install", "--yes", "--no-install-recommends", PACKAGE);
  const installed = findChromium();
  if (installed === null) throw new Error(`apt-get installed ${PACKAGE}, but its program is in no known place`);
  return installed;
}

function apt(...words: readonly string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const { status, stdout, stderr, error } = spawnSync("apt-get", words, { encoding: "utf8", env });
  if (status === 0) return;
  const why = error?.message ?? `${stdout}${stderr}`.slice(-2_000);
  throw new Error(
    `the browser tests need Chromium, and apt-get ${words[0]} failed: ${why}\n` +
      "Install Chromium, and set CAIRN_CHROMIUM to its path.",
  );
}

if (import.meta.main) console.log(installChromium());
