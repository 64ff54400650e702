#!/usr/bin/env node
/**
 * The entry point of the `cairn` binary. It is the only part of the CLI that touches the real process; commands get a
 * `Shell`.
 *
 * It checks the Node version before it imports anything else, so that an old Node prints an error instead of a stack
 * trace.
 *
 * stdout belongs to the command. Output of an agent's module during its import goes to stderr, so that it cannot
 * corrupt a JSON document.
 */
import { readFileSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { hostname, userInfo } from "node:os";
import { text as textOf } from "node:stream/consumers";
import type { Shell } from "./shell.ts";
import type { Output } from "./terminal/terminal.ts";

const NODE_MAJOR_MIN = 24;
const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const major = Number(process.versions.node.split(".")[0]);
if (major < NODE_MAJOR_MIN) {
  process.stderr.write(
    `error NodeTooOld: cairn needs Node ${NODE_MAJOR_MIN}, and this is ${process.version}\n` +
      "why: npm installs the right Node beside cairn, and npx uses that one\n" +
      `next: npx cairn ${process.argv.slice(2).join(" ")}\n`,
  );
  process.exit(2);
}

// Halves the startup time: Node caches its compiled form of each source file, and checks that the file is unchanged.
enableCompileCache();
const stdout = ownStdout();
const stderr: Output = { stream: process.stderr, write: (text) => void process.stderr.write(text) };
const { createTerminal } = await import("./terminal/terminal.ts");
const { runCommand } = await import("./program.ts");
const { WORLDS } = await import("./worlds.ts");
const argv = process.argv.slice(2);
const shell: Shell = {
  argv,
  env: process.env,
  cwd: process.cwd(),
  worlds: WORLDS,
  json: argv.includes("--json"),
  terminal: createTerminal({ stdout, stderr }),
  user,
  host: hostname,
  readStdin,
  ask: process.stdin.isTTY && process.stdout.isTTY && !argv.includes("--json") ? ask : null,
  stopSignal,
};
const code = await runCommand(shell, version());
// An agent's module may keep the event loop alive, so the process exits here, after stdout is flushed.
process.stdout.end(() => process.exit(code));

/** Reserves stdout for the command, and exits quietly when its reader has closed the pipe (`cairn list | head -1`). */
function ownStdout(): Output {
  const { stdout: stream } = process;
  const write = stream.write.bind(stream);
  stream.write = process.stderr.write.bind(process.stderr);
  for (const each of [stream, process.stderr]) {
    each.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit(0);
      throw error;
    });
  }
  return { stream, write: (text) => void write(text) };
}

function readStdin(): Promise<string> {
  if (process.stdin.isTTY) stderr.write("type the input as JSON, then end it with ctrl-d\n");
  return textOf(process.stdin);
}

/** Asks on stderr, because stdout is for results. At end of input the answer is empty. */
async function ask(question: string): Promise<string> {
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  try {
    return await Promise.race([lines.question(question), closed]);
  } finally {
    lines.close();
  }
}

function version(): string {
  const file = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { readonly version: string }).version;
}

function user(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a numeric user ID that has no name.
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}

/** The first signal asks the command to stop cleanly. The second signal ends the process at once. */
function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of STOP_SIGNALS) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(1);
      stop.abort(signal);
    });
  }
  return stop.signal;
}
