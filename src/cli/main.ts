#!/usr/bin/env node
/**
 * The entry point of the `cairn` binary. It checks the Node version and the system before it loads anything, so that an
 * old Node prints an error instead of a stack trace. Its compiled form therefore uses only what Node 14 can parse.
 */
import { createRequire } from "node:module";
import { NODE_MIN, isNodeTooOld } from "../doctor/node-version.ts";

const { version } = createRequire(import.meta.url)("../../package.json") as { readonly version: string };
const [first] = process.argv.slice(2);

if (isNodeTooOld(process.versions.node)) {
  process.stderr.write(
    `error NodeTooOld: cairn ${version} needs Node ${NODE_MIN} or newer, and this is ${process.version}\n` +
      "why: it uses the SQLite and the TypeScript support of Node\n" +
      "next: nvm install 24\n",
  );
  process.exitCode = 2;
} else if (first === "--version" && process.argv.length === 3) {
  process.stdout.on("error", sayLost);
  process.stdout.write(`${version}\n`);
} else if (process.platform === "win32") {
  process.stderr.write(
    `error SystemUnsupported: cairn ${version} runs on Linux and macOS, and this is Windows\n` +
      "why: it kills a stuck worker with all that it started, for which Windows has no process groups\n" +
      "next: wsl --install, and then use cairn inside of WSL 2\n",
  );
  process.exitCode = 2;
} else {
  void run();
}

async function run(): Promise<void> {
  const { enableCompileCache } = await import("node:module");
  // Halves the startup time: Node caches its compiled form of each source file, and checks that the file is unchanged.
  enableCompileCache();
  hideSqliteWarning();
  const { runProcess } = await import("./process.ts");
  await runProcess(version);
}

/** The answer could not be written. That its reader has gone is no error. */
function sayLost(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") return;
  process.stderr.write(
    `error OutputLost: the output of this command could not be written: ${error.message}\n` +
      "why: only its answer is lost\n" +
      "next: df -h\n",
  );
  process.exitCode = 5;
}

/** Node 22 warns at each start that its SQLite is experimental. Users can do nothing about that. */
function hideSqliteWarning(): void {
  const emit = process.emitWarning.bind(process) as (...words: readonly unknown[]) => void;
  process.emitWarning = (...words: readonly unknown[]): void => {
    if (!String(words[0]).startsWith("SQLite is an experimental feature")) emit(...words);
  };
}
