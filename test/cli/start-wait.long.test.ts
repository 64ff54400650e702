/** `cairn start AGENT --wait` in a store that no other process drives: what it starts and loads, and what it waits for. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { runCommand } from "../../src/cli/program.ts";
import { workerAhead } from "../../src/compose/supervise.ts";
import { WORLDS } from "../../src/compose/worlds.ts";
import type { SupervisorEvent } from "../../src/ports/supervisor-events.ts";
import type { OpenedWorld, WorldEntry, WorldProvider } from "../../src/ports/world-provider.ts";
import { temporaryDir } from "../process/fixtures/store.ts";
import { createShell } from "../support/processes/cli-in-process.ts";
import { watchStarted } from "../support/processes/started.ts";

/** Longer than any test: no poll sees the end of the run. */
const POLL_MS = 24 * 60 * 60_000;

/** The same worlds, whose runs are polled once a day. `events` gets what a supervisor reports. */
function polledDaily(events: SupervisorEvent[]): readonly WorldEntry[] {
  const watched = (opened: OpenedWorld): OpenedWorld => {
    const { supervision } = opened;
    if (supervision === null) return opened;
    const start: typeof supervision.start = (options) =>
      supervision.start({
        ...options,
        onEvent: (event) => {
          events.push(event);
          options.onEvent(event);
        },
      });
    return { ...opened, pollMs: POLL_MS, supervision: { ...supervision, start } };
  };
  return WORLDS.map((entry) => ({ ...entry, load: async () => changed(await entry.load(), watched) }));
}

const AGENT = join(import.meta.dirname, "../process/fixtures/noted-agent.ts");

test("ends with its run and not at a next poll, and imports the agent once in the command and once in one worker", async () => {
  const dir = temporaryDir();
  const noted = join(dir, "imports");
  vi.stubEnv("NOTED_IMPORTS", noted);
  onTestFinished(() => void vi.unstubAllEnvs());
  const events: SupervisorEvent[] = [];
  const words = ["start", AGENT, "--wait", "--store", join(dir, "store")];
  const workers = workersStarted(() => existsSync(noted));
  const { shell, said } = createShell({ dir, person: null, env: process.env }, words);
  const exit = await runCommand({ ...shell, worlds: polledDaily(events) }, "0");
  expect({ exit, err: said.err }).toEqual({ exit: 0, err: "" });
  expect(said.out).toContain("Hello.");
  const imports = readFileSync(noted, "utf8").trim().split("\n");
  expect(imports).toHaveLength(2);
  expect(imports[0]).toBe(`${process.pid}`);
  expect(imports[1]).not.toBe(imports[0]);
  // That worker was started before the command loaded the agent, and is the only one.
  expect(workers().map(({ child, seen }) => ({ pid: `${child.pid}`, seen }))).toEqual([
    { pid: imports[1], seen: false },
  ]);
  // The beat came before any housekeeping, so a worker was started for it alone.
  const kinds = events.map(({ kind }) => kind);
  expect(kinds.indexOf("workerSpawned")).toBeLessThan(kinds.indexOf("attemptStarted"));
  expect(kinds.slice(0, kinds.indexOf("attemptStarted")).filter((kind) => kind === "workerSpawned")).toHaveLength(1);
});

/** The workers that the test has started from now on, each with what `look` saw then. */
function workersStarted<T>(look: () => T): () => readonly { readonly child: ChildProcess; readonly seen: T }[] {
  const all: { readonly child: ChildProcess; readonly seen: T }[] = [];
  onTestFinished(watchStarted((child) => all.push({ child, seen: look() })));
  return () => all.filter(({ child }) => child.spawnargs.some((word) => word.includes("compose/workers/")));
}

test("ends the worker that it started ahead if there is no such agent, and leaves no store", async () => {
  const dir = temporaryDir();
  const workers = workersStarted(() => null);
  const { shell, said } = createShell({ dir, person: null, env: process.env }, [
    ...["start", "nonesuch", "--wait", "--store", join(dir, "store")],
  ]);
  expect(await runCommand(shell, "0")).not.toBe(0);
  expect(said.err).toContain("nonesuch");
  const [{ child } = {}, ...others] = workers();
  expect(others).toEqual([]);
  if (child !== undefined && child.signalCode === null) await once(child, "exit");
  expect({ signalCode: child?.signalCode, hasStore: existsSync(join(dir, "store")) }).toEqual({
    signalCode: "SIGKILL",
    hasStore: false,
  });
});

test("a worker that was started ahead ends with the command that started it", async () => {
  const workers = workersStarted(() => null);
  workerAhead(createShell({ dir: temporaryDir(), person: null, env: process.env }, []).shell);
  const [{ child } = {}] = workers();
  if (child === undefined) throw new Error("no worker was started");
  // The end of a process closes its channels.
  child.disconnect();
  expect(await once(child, "exit")).toEqual([0, null]);
});

test("starts no worker for a store that another process drives, or where nobody waits for the run", async () => {
  const dir = temporaryDir();
  const at = ["--store", join(dir, "store")];
  const shellOf = (...words: readonly string[]) =>
    createShell({ dir, person: null, env: process.env }, [...words, ...at]).shell;
  const workers = workersStarted(() => null);
  expect(await runCommand(shellOf("start", AGENT), "0")).toBe(0);
  expect(workers()).toEqual([]);
  const driven = WORLDS.map((entry) => ({ ...entry, load: async () => drivenBy(process.pid, await entry.load()) }));
  expect(await runCommand({ ...shellOf("start", "nonesuch", "--wait"), worlds: driven }, "0")).not.toBe(0);
  expect(workers()).toEqual([]);
});

/** The same world, which that process drives. */
const drivenBy = (pid: number, provider: WorldProvider): WorldProvider =>
  changed(provider, (opened) =>
    opened.supervision === null ? opened : { ...opened, supervision: { ...opened.supervision, current: () => pid } },
  );

/** The same world, which opens another way. */
const changed = (provider: WorldProvider, change: (opened: OpenedWorld) => OpenedWorld): WorldProvider => ({
  ...provider,
  configure: (places) => {
    const configured = provider.configure(places);
    if (configured.kind !== "configured") return configured;
    const { world } = configured;
    return { ...configured, world: { ...world, open: async (options) => change(await world.open(options)) } };
  },
});
