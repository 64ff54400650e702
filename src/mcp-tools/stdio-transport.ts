/**
 * An MCP server as a child process. The SDK has such a transport, but its child keeps the worker alive while no call is at
 * work, and outlives a worker that exits. This one does neither. A worker that is killed closes the pipes, and a server
 * ends when its input ends.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { JSONRPCMessage, Transport, deserializeMessage, serializeMessage } from "@modelcontextprotocol/client";
import { LINE_BYTES_MAX, LineBuffer } from "./line-buffer.ts";
import { hasExited, signalTree } from "./process-tree.ts";

interface Sdk {
  readonly deserializeMessage: typeof deserializeMessage;
  readonly serializeMessage: typeof serializeMessage;
}

export interface ServerProcess {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  /** The whole environment: secrets of the worker must not reach the process. */
  readonly env: Readonly<Record<string, string>>;
}

/** How long a server may take to end after its input has ended, and once more after SIGTERM. */
const GRACE_MS = 2_000;
/** How much of the error output is kept, from its end. */
const WORDS_MAX = 500;

/** The processes that have to end with this one. */
const running = new Set<ChildProcessWithoutNullStreams>();

function endAll(): void {
  for (const child of running) child.kill("SIGTERM");
}

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #sdk: Sdk;
  readonly #server: ServerProcess;
  readonly #buffer = new LineBuffer();
  #child: ChildProcessWithoutNullStreams | null = null;
  #errors = "";
  #how: string | null = null;
  /** Why this end has ended the process; null: it has not. */
  #cut: string | null = null;

  constructor(sdk: Sdk, server: ServerProcess) {
    this.#sdk = sdk;
    this.#server = server;
  }

  start(): Promise<void> {
    const { command, args, cwd, env } = this.#server;
    const child = spawn(command, args, { cwd, env, stdio: "pipe" });
    this.#child = child;
    if (running.size === 0) process.once("exit", endAll);
    running.add(child);
    child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    child.stderr.on("data", (chunk: Buffer) => {
      this.#errors = `${this.#errors}${chunk.toString()}`.slice(-WORDS_MAX);
    });
    // Writing to a process that has ended fails; its end is told by `close`.
    child.stdin.on("error", (error) => this.onerror?.(error));
    child.once("close", (code, signal) => {
      running.delete(child);
      if (running.size === 0) process.off("exit", endAll);
      this.#how = this.#cut ?? `its process ended with ${signal ?? `code ${code}`}`;
      this.onclose?.();
    });
    return new Promise((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) => reject(new Error(`${command} cannot be started: ${error.message}`)));
    });
  }

  #read(chunk: Buffer): void {
    // What follows a message that is too long cannot be read.
    if (this.#cut !== null) return;
    const { lines, isTooLong } = this.#buffer.append(chunk);
    for (const line of lines) this.#receive(line);
    if (!isTooLong) return;
    const why = `it sent a message that is too long: more than ${LINE_BYTES_MAX} bytes`;
    this.#cut = `its process was ended, because ${why}`;
    this.onerror?.(new Error(why));
    void this.close();
  }

  /** Skips a line that is no message: some servers write their log there. */
  #receive(line: string): void {
    try {
      this.onmessage?.(this.#sdk.deserializeMessage(line));
    } catch (error) {
      if (!(error instanceof SyntaxError)) this.onerror?.(error as Error);
    }
  }

  send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child;
    if (child === null || !child.stdin.writable) return Promise.reject(new Error("its process has ended"));
    return new Promise((resolve, reject) => {
      child.stdin.write(this.#sdk.serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  /** How the process ended, with the end of its error output; null while it runs. */
  lastWords(): string | null {
    if (this.#how === null) return null;
    const said = this.#errors.trim();
    return said === "" ? this.#how : `${this.#how}; it wrote: ${said}`;
  }

  keepAlive(keeps: boolean): void {
    const child = this.#child;
    if (child === null) return;
    // The pipes of a child are sockets, which Node declares as plain streams.
    const held = [child, child.stdin, child.stdout, child.stderr] as readonly Partial<Held>[];
    for (const each of held)
      if (keeps) each.ref?.();
      else each.unref?.();
  }

  /** Ends within three times the grace, whatever the process does. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child === null || this.#how !== null) return;
    const { stdin, stdout, stderr } = child;
    stdin.end();
    // Processes that it has started may hold the pipes after its end, and `close` waits for the pipes.
    const letGo = (): void => [stdin, stdout, stderr].forEach((pipe) => pipe.destroy());
    if (hasExited(child)) letGo();
    else child.once("exit", letGo);
    await new Promise<void>((resolve) => {
      const steps = [() => signalTree(child, "SIGTERM"), () => signalTree(child, "SIGKILL"), resolve];
      const timers = steps.map((step, index) => setTimeout(step, (index + 1) * GRACE_MS).unref());
      child.once("close", () => {
        timers.forEach((timer) => clearTimeout(timer));
        resolve();
      });
    });
  }
}

interface Held {
  ref(): void;
  unref(): void;
}
