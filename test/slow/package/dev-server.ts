/** `npx cairn dev` in a user's project, on a Node of choice, and requests to it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter, dirname } from "node:path";
import { vi } from "vitest";
import { LIMITS } from "../../support/gate/limits.ts";
import { freePort } from "../../support/processes/cli-process.ts";

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface DevServer {
  readonly url: string;
  /** A POST if there is a body. */
  ask(path: string, body?: object): Promise<Answer>;
  /**
   * Waits until the run has that status, also while the server restarts. That of a conversation which waits for its user
   * is `waiting for a message`.
   */
  reaches(run: string, status: string): Promise<void>;
  /** Ends all of its processes. SIGKILL reaches the watcher only, whose death ends the others. */
  end(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
}

/** The environment of a user whose `node` is that file. */
export function envWith(node: string): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...env } = process.env;
  return { ...env, PATH: [dirname(node), env["PATH"]].join(delimiter) };
}

const JSON_BODY = { method: "POST", headers: { "content-type": "application/json" } };

/** Starts it, and waits until it answers. */
export async function startDev(project: string, env: NodeJS.ProcessEnv): Promise<DevServer> {
  const port = await freePort();
  const words = ["cairn", "dev", "--port", String(port)];
  const child = spawn("npx", words, { cwd: project, detached: true, stdio: "ignore", env });
  const url = `http://127.0.0.1:${port}`;
  const ask = async (path: string, body?: object): Promise<Answer> => {
    const sent = body === undefined ? {} : { ...JSON_BODY, body: JSON.stringify(body) };
    const answer = await fetch(`${url}${path}`, sent);
    return { status: answer.status, body: (await answer.json()) as Answer["body"] };
  };
  const statusOf = async (path: string): Promise<unknown> =>
    ask(path).then(
      ({ body }) => statusIn(body),
      () => "down",
    );
  const until = (path: string, status: string): Promise<unknown> =>
    vi.waitUntil(async () => (await statusOf(path)) === status, { timeout: LIMITS.runMs, interval: 250 });
  await until("/healthz", "ok");
  return {
    url,
    ask,
    reaches: async (run, status) => void (await until(`/runs/${run}`, status)),
    end: async (signal) => {
      await ended(child, signal);
      await until("/healthz", "down");
    },
  };
}

function statusIn({ status, waits = [] }: Answer["body"]): unknown {
  const isUser = (waits as readonly { readonly tool: string }[]).some(({ tool }) => tool === "cairn_next_message");
  return isUser ? "waiting for a message" : status;
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const exit = once(child, "exit");
  process.kill(-(child.pid ?? 0), signal);
  await exit;
}
