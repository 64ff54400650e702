/**
 * `npm run functions`: bundles the functions as they are deployed, and prints how large each is and how long a process
 * takes to import it, as the median of several. Exits 1 where one is larger or slower than a cold start may be.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundleFunctions } from "../infra/bundle.ts";
import { loadConfig } from "../src/agent/config.ts";

const ROOT = join(import.meta.dirname, "..");
const TIMES = 7;
const KILOBYTES_MAX = 900;
const IMPORT_MS_MAX = 150;

/** What a function finds in its environment; nothing of it is reached while it is imported. */
const ENV = {
  AWS_REGION: "us-east-1",
  AWS_LAMBDA_FUNCTION_NAME: "measured",
  CAIRN_TABLE: "measured",
  CAIRN_BUCKET: "measured",
  CAIRN_MACHINE: "arn:aws:states:us-east-1:000000000000:stateMachine:measured",
  CAIRN_BEAT_SECONDS: "60",
};

/** Of a fresh process, from before to after the import. */
function importMs(file: string): number {
  const code = `const at = performance.now(); await import(${JSON.stringify(pathToFileURL(file).href)}); console.log(performance.now() - at); process.exit();`;
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
    env: { ...process.env, ...ENV },
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr.slice(-1_000));
  return Number(stdout);
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;

const folder = mkdtempSync(join(tmpdir(), "cairn-functions-"));
try {
  const config = await loadConfig(ROOT);
  for (const { name, startBytes, files, folder: own } of await bundleFunctions({
    folder,
    agentFiles: config?.agents ?? [],
    prices: config?.prices ?? {},
  })) {
    const kilobytes = startBytes / 1_024;
    const times = Array.from({ length: TIMES }, () => importMs(join(own, "index.mjs")));
    const ms = median(times);
    const tooMuch = kilobytes > KILOBYTES_MAX || ms > IMPORT_MS_MAX;
    if (tooMuch) process.exitCode = 1;
    const more = files.length > 1 ? `, ${files.length} files` : "";
    console.log(
      `${name.padEnd(8)} ${kilobytes.toFixed(0).padStart(4)} KB at start${more}, import ${ms.toFixed(0)} ms${tooMuch ? "  TOO MUCH" : ""}`,
    );
  }
} finally {
  rmSync(folder, { recursive: true });
}
