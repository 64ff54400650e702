/**
 * `cairn dev`: runs `cairn serve` in a process of its own, and replaces that process when code changes. A process that
 * has imported a module keeps it, so only a new process has the new code.
 *
 * Before it replaces the process, another process imports every agent. If one cannot be loaded, the earlier code goes
 * on. The replaced process lets its beats end, so a change interrupts no call. Its runs continue with the new code as
 * after any deployment (`docs/upgrades.md`).
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { setTimeout as elapse } from "node:timers/promises";
import { EXIT } from "../../compose/user-error.ts";
import { settingsOf } from "../../compose/settings.ts";
import { type Shell, printLines } from "../shell.ts";
import { NO_WARNINGS } from "../../compose/supervise.ts";
import { readSchedules } from "../../compose/schedules.ts";
import type { ServeFlags } from "./serve.ts";
import { type Sources, changedIn, sourcesUnder } from "../sources.ts";
import { RELOAD, STARTED_BY_DEV } from "./work.ts";

const LOOK_EVERY_MS = 300;
/** Times in a row that the server may be killed before any code changes. */
const DEATHS_MAX = 5;

interface Gone {
  readonly code: number | null;
}

interface Server {
  readonly child: ChildProcess;
  readonly gone: Promise<Gone>;
}

type Happening =
  | { readonly kind: "stopped" }
  | { readonly kind: "changed"; readonly sources: Sources; readonly file: string }
  | ({ readonly kind: "gone" } & Gone);

export async function dev(shell: Shell, flags: ServeFlags): Promise<number> {
  shell.outliveOutput();
  const stop = shell.stopSignal();
  let sources = sourcesUnder(shell.cwd);
  let server: Server | null = startServer(shell, flags);
  let deaths = 0;
  for (let isFirst = true; ;) {
    const happening = await nextOf({ shell, stop, sources, server });
    if (happening.kind === "stopped") {
      server?.child.kill("SIGTERM");
      await server?.gone;
      return EXIT.done;
    }
    if (happening.kind === "gone") {
      const { code } = happening;
      deaths += 1;
      // What it printed says what is wrong with the first command.
      if (code !== null && isFirst) return code;
      const isKilled = code === null && deaths <= DEATHS_MAX;
      tell(shell, { kind: "serverGone", code }, isKilled ? "the server was killed and starts again" : WAITS);
      server = isKilled ? startServer(shell, flags) : null;
      continue;
    }
    isFirst = false;
    deaths = 0;
    ({ sources } = happening);
    const { file } = happening;
    const broken = await brokenAgents(shell, { flags, stop });
    for (const each of broken)
      tell(shell, { kind: "agentBroken", ...each }, `${shell.terminal.paintOut("red", "broken")} ${each.why}`);
    if (broken.length > 0) {
      tell(shell, { kind: "notReloaded" }, server === null ? WAITS : "the earlier code goes on until this is fixed");
      continue;
    }
    tell(shell, { kind: "reloading", file }, `${file} changed: the server restarts when its beats are done`);
    server?.child.kill(RELOAD);
    if (await isStopped(stop, server)) continue;
    server = startServer(shell, flags);
  }
}

/** Waits until the server is gone; true if the user stops before. */
async function isStopped(stop: AbortSignal, server: Server | null): Promise<boolean> {
  const over = new AbortController();
  const heard = stop.aborted ? null : once(stop, "abort", { signal: over.signal }).catch(() => {});
  await Promise.race([server?.gone, heard]);
  over.abort();
  return stop.aborted;
}

const WAITS = "the server is down; it starts again when code changes";

/** What `--json` prints besides the events of the server. */
type DevEvent =
  | { readonly kind: "serverGone"; readonly code: number | null }
  | { readonly kind: "agentBroken"; readonly file: string; readonly why: string }
  | { readonly kind: "notReloaded" }
  | { readonly kind: "reloading"; readonly file: string };

function tell(shell: Shell, event: DevEvent, line: string): void {
  if (shell.json) printLines(shell, [event]);
  else shell.terminal.out(line);
}

/** Waits until the code changes, the server ends, or the user stops. */
async function nextOf({
  shell,
  stop,
  sources,
  server,
}: {
  readonly shell: Shell;
  readonly stop: AbortSignal;
  readonly sources: Sources;
  readonly server: Server | null;
}): Promise<Happening> {
  let gone: Gone | null = null;
  void server?.gone.then((end) => (gone = end));
  for (;;) {
    await elapse(LOOK_EVERY_MS, undefined, { signal: stop }).catch(() => {});
    if (stop.aborted) return { kind: "stopped" };
    if (gone !== null) return { kind: "gone", ...(gone as Gone) };
    const now = sourcesUnder(shell.cwd);
    const file = changedIn(sources, now);
    if (file !== null) return { kind: "changed", sources: now, file };
  }
}

/** Agent files that cannot be imported. A process of its own imports them, so their code is always the newest. */
async function brokenAgents(shell: Shell, { flags, stop }: { readonly flags: ServeFlags; readonly stop: AbortSignal }) {
  const settings = await settingsOf(shell, flags);
  return (await readSchedules(shell, { settings, stop })).broken;
}

/**
 * Starts `cairn serve`. It has a process group of its own, so that ctrl-c reaches it once, through this process. Over
 * the channel it learns of the death of this process. Its output passes through this process: a process that ends
 * closes its stdout, and may be one socket with its parent's.
 */
function startServer({ cwd, env, json, terminal }: Shell, flags: ServeFlags): Server {
  const main = fileURLToPath(import.meta.resolve("#cli/main"));
  const words = Object.entries({ ...flags, json: undefined }).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [`--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, String(value)],
  );
  const isColoured = terminal.paintOut("bold", "x") !== "x";
  const child = spawn(process.execPath, [NO_WARNINGS, main, "serve", ...words, ...(json ? ["--json"] : [])], {
    cwd,
    env: { ...env, [STARTED_BY_DEV]: "1", ...(isColoured && { FORCE_COLOR: "1" }) },
    detached: true,
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  if (child.stdout !== null) createInterface({ input: child.stdout }).on("line", terminal.out);
  return { child, gone: once(child, "exit").then(([code]) => ({ code: code as number | null })) };
}
