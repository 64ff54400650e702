/**
 * The process of the command line. It is the only part of the CLI that touches the real process; commands get a
 * `Shell`.
 *
 * stdout belongs to the command. Output of an agent's module during its import goes to stderr, so that it cannot
 * corrupt a JSON document.
 */
import { hostname, userInfo } from "node:os";
import { text as textOf } from "node:stream/consumers";
import { runCommand } from "./program.ts";
import type { Shell } from "./shell.ts";
import { type Output, createTerminal } from "./terminal/terminal.ts";
import { WORLDS } from "./worlds.ts";

const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Runs the command that the user typed, then ends the process. */
export async function runProcess(version: string): Promise<void> {
  const argv = process.argv.slice(2);
  const shell: Shell = {
    argv,
    env: process.env,
    cwd: process.cwd(),
    worlds: WORLDS,
    json: argv.includes("--json"),
    terminal: createTerminal({ stdout: ownStdout(), stderr: STDERR }),
    user,
    host: hostname,
    readStdin,
    ask: process.stdin.isTTY && process.stdout.isTTY && !argv.includes("--json") ? ask : null,
    stopSignal,
  };
  const code = await runCommand(shell, version);
  // An agent's module may keep the event loop alive, so the process exits here, after stdout is flushed.
  process.stdout.end(() => process.exit(code));
}

const STDERR: Output = { stream: process.stderr, write: (text) => void process.stderr.write(text) };

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
  if (process.stdin.isTTY) STDERR.write("type the input as JSON, then end it with ctrl-d\n");
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

function user(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a numeric user ID that has no name.
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}

/**
 * The first signal asks the command to stop cleanly. The second one ends the process at once, unless the first was a
 * SIGHUP: after that `cairn work` lets its beats end in their own time, and the second one asks it to stop.
 */
function stopSignal(): AbortSignal {
  const stop = new AbortController();
  let isLast = false;
  for (const signal of STOP_SIGNALS) {
    process.on(signal, () => {
      if (stop.signal.aborted && (stop.signal.reason !== "SIGHUP" || isLast)) process.exit(1);
      isLast = stop.signal.aborted;
      stop.abort(signal);
    });
  }
  // A parent with a channel to this process (`cairn dev`) is gone.
  process.once("disconnect", () => stop.abort("disconnect"));
  return stop.signal;
}
