/** The real server for `load.ts`: `cairn serve` as a process of its own, in a folder and a store of its own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as elapse } from "node:timers/promises";

const CLI = join(import.meta.dirname, "..", "src", "cli", "main.ts");
const AGENT = join(import.meta.dirname, "many-agent.ts");
const READY_MS = 60_000;

export interface LoadServer {
  /** Such as `http://127.0.0.1:41234`. */
  readonly url: string;
  /** Stops the server and its workers, and removes the store. */
  readonly close: () => Promise<void>;
}

/** Serves the agent `long`, whose runs make `beats` calls, and whose model takes `replyMs` for each reply. */
export async function startLoadServer(of: { readonly beats: number; readonly replyMs: number }): Promise<LoadServer> {
  const dir = mkdtempSync(join(tmpdir(), "cairn-load-"));
  writeFileSync(join(dir, "cairn.config.ts"), `export const config = { agents: [${JSON.stringify(AGENT)}] };\n`);
  const port = await freePort();
  const env = { ...process.env, BENCH_BEATS: String(of.beats), BENCH_REPLY_MS: String(of.replyMs) };
  const words = [CLI, "serve", "--port", String(port), "--store", join(dir, "store")];
  const child = spawn(process.execPath, words, { cwd: dir, env, stdio: ["ignore", "ignore", "inherit"] });
  const ended = once(child, "exit");
  const close = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  };
  const url = `http://127.0.0.1:${port}`;
  for (const begun = performance.now(); !(await answers(url)); await elapse(50)) {
    if (child.exitCode === null && performance.now() - begun < READY_MS) continue;
    await close();
    throw new Error("the server did not start: see above");
  }
  return { url, close };
}

const answers = (url: string): Promise<boolean> =>
  fetch(`${url}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
