/**
 * The process of the command line. It is the only part of the CLI that touches the real process; commands get a
 * `Shell`.
 *
 * stdout belongs to the command. Output of an agent's module during its import goes to stderr, so that it cannot
 * corrupt a JSON document.
 * It also says which output could not be written.
 */
import { hostname, userInfo } from "node:os";
import { buffer as bytesOf } from "node:stream/consumers";
import { setTimeout as elapse } from "node:timers/promises";
import { runCommand } from "./program.ts";
import type { Shell } from "./shell.ts";
import { EXIT, UserError } from "../compose/user-error.ts";
import { errorDocument, renderError } from "./errors.ts";
import { type GuardedOutput, type Stream, guardOutput, type LostOutput, reasonOfLoss } from "./terminal/output.ts";
import { type Terminal, createTerminal } from "./terminal/terminal.ts";
import { isRegularFile, wholeWrites } from "./terminal/whole-writes.ts";
import { WORLDS } from "../compose/worlds.ts";
import type { LostLines } from "../ports/supervision.ts";

const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Runs the command that the user typed, then ends the process. */
export async function runProcess(version: string): Promise<void> {
  const argv = process.argv.slice(2);
  const json = argv.includes("--json");
  const [stdout, stderr] = ownStreams();
  const terminal = createTerminal({ stdout, stderr });
  let isOutlived = false;
  const shell: Shell = {
    argv,
    env: process.env,
    cwd: process.cwd(),
    worlds: WORLDS,
    json,
    terminal,
    user,
    host: hostname,
    readStdin: () => readStdin(stderr),
    ask: process.stdin.isTTY && process.stdout.isTTY && !json ? ask : null,
    stopSignal,
    outliveOutput: () => {
      isOutlived = true;
      stdout.outlive((lost) => sayLost(lost, json));
      stderr.outlive((lost) => sayLost(lost, false));
    },
    lostOutput: () => lostLines([stdout.lostInAll(), stderr.lostInAll()]),
  };
  process.on("uncaughtException", (thrown: unknown) => void endUncaught(thrown, { argv, json, stdout, terminal }));
  const code = await runCommand(shell, version);
  // An agent's module may keep the event loop alive, so the process exits here, after its output is written. A command
  // that outlives its output does not wait long for a reader that takes nothing.
  await Promise.race([stdout.settled(), ...(isOutlived ? [elapse(FLUSH_MS)] : [])]);
  const lost = stdout.lost();
  if (lost === null || (!isOutlived && lost.code === "EPIPE")) process.exit(code);
  terminal.err(isOutlived ? sayLost(lost, false) : renderError(outputLost(lost), terminal.paintErr));
  await Promise.race([stderr.settled(), elapse(FLUSH_MS)]);
  process.exit(code === EXIT.done && !isOutlived ? EXIT.store : code);
}

const FLUSH_MS = 2_000;

interface Ending {
  readonly argv: readonly string[];
  readonly json: boolean;
  readonly stdout: GuardedOutput;
  readonly terminal: Terminal;
}

/**
 * Ends the process for an error that nothing caught. Node would print the line of the source where it was thrown, and a
 * line of the package has tens of thousands of characters.
 */
async function endUncaught(thrown: unknown, { argv, json, stdout, terminal }: Ending): Promise<never> {
  const { uncaughtError } = await import("./thrown-errors.ts");
  const said = uncaughtError(thrown, argv);
  if (json) terminal.out(JSON.stringify(errorDocument(said)));
  else terminal.err(renderError(said, terminal.paintErr));
  await Promise.race([stdout.settled(), elapse(FLUSH_MS)]);
  process.exit(said.trouble.exit);
}

/** stdout is reserved for the command, and everything else that writes to it writes to stderr. */
function ownStreams(): readonly [stdout: GuardedOutput, stderr: GuardedOutput] {
  const { stdout, stderr } = process;
  const [toStdout, toStderr] = [stdout.write.bind(stdout), stderr.write.bind(stderr)];
  const writeOf = (fd: number, write: typeof toStdout): Stream["write"] =>
    isRegularFile(fd) ? wholeWrites(fd) : (text, then) => write(text, then);
  stdout.write = toStderr;
  // What the reader of a pipe did not wait for is no error, and nothing that acts is left undone.
  const onGone = (): void => stopped.abort("SIGPIPE");
  return [
    guardOutput({ stream: stdout, write: writeOf(1, toStdout), onGone }),
    guardOutput({ stream: stderr, write: writeOf(2, toStderr), onGone: () => {} }),
  ];
}

function readStdin(stderr: GuardedOutput): Promise<Uint8Array> {
  if (process.stdin.isTTY) stderr.write("type the input as JSON, then end it with ctrl-d\n");
  return bytesOf(process.stdin);
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

/** Its reason is the name of a signal, `disconnect`, or SIGPIPE: the reader of stdout has gone. */
const stopped = new AbortController();

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
  const onGone = (): void => stop.abort(stopped.signal.reason);
  if (stopped.signal.aborted) onGone();
  else stopped.signal.addEventListener("abort", onGone, { once: true });
  return stop.signal;
}

/** For a command that answers. What it did is done. */
export const outputLost = (lost: LostOutput): UserError =>
  new UserError({
    code: "OutputLost",
    exit: EXIT.store,
    what: `the output of this command could not be written: ${reasonOfLoss(lost)}`,
    why: "what the command did is done; only its answer is lost",
    next: "df -h",
  });

/** For the output of a command that goes on, once it can be written again. */
export function sayLost(lost: LostOutput, json: boolean): string {
  const { lines, code } = lost;
  if (json) return JSON.stringify({ at: Date.now(), kind: "outputLost", lines, code });
  return `${lines} ${lines === 1 ? "line" : "lines"} of output could not be written: ${reasonOfLoss(lost)}`;
}

/** What several streams have lost; null: nothing. The reason is that of the first. */
export function lostLines(streams: readonly (LostOutput | null)[]): LostLines | null {
  const losses = streams.filter((each) => each !== null);
  const [first] = losses;
  if (first === undefined) return null;
  return { lines: losses.reduce((sum, { lines }) => sum + lines, 0), why: reasonOfLoss(first) };
}
