/** `cairn start AGENT --wait` in a store that no other process drives: what it starts and loads, and what it waits for. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { runCommand } from "../../src/cli/program.ts";
import { WORLDS } from "../../src/compose/worlds.ts";
import type { SupervisorEvent } from "../../src/ports/supervisor-events.ts";
import type { OpenedWorld, WorldEntry, WorldProvider } from "../../src/ports/world-provider.ts";
import { temporaryDir } from "../process/fixtures/store.ts";
import { createShell } from "../support/processes/cli-in-process.ts";

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
  const daily = (provider: WorldProvider): WorldProvider => ({
    ...provider,
    configure: (places) => {
      const configured = provider.configure(places);
      if (configured.kind !== "configured") return configured;
      const { world } = configured;
      return { ...configured, world: { ...world, open: async (options) => watched(await world.open(options)) } };
    },
  });
  return WORLDS.map((entry) => ({ ...entry, load: async () => daily(await entry.load()) }));
}

const AGENT = join(import.meta.dirname, "../process/fixtures/noted-agent.ts");

test("ends with its run and not at a next poll, and imports the agent once in the command and once in one worker", async () => {
  const dir = temporaryDir();
  const noted = join(dir, "imports");
  vi.stubEnv("NOTED_IMPORTS", noted);
  onTestFinished(() => void vi.unstubAllEnvs());
  const events: SupervisorEvent[] = [];
  const words = ["start", AGENT, "--wait", "--store", join(dir, "store")];
  const { shell, said } = createShell({ dir, person: null, env: process.env }, words);
  const exit = await runCommand({ ...shell, worlds: polledDaily(events) }, "0");
  expect([exit, said.err]).toEqual([0, ""]);
  expect(said.out).toContain("Hello.");
  const imports = readFileSync(noted, "utf8").trim().split("\n");
  expect(imports).toHaveLength(2);
  expect(imports[0]).toBe(`${process.pid}`);
  expect(imports[1]).not.toBe(imports[0]);
  // The beat came before any housekeeping, so a worker was started for it alone.
  const kinds = events.map(({ kind }) => kind);
  expect(kinds.indexOf("workerSpawned")).toBeLessThan(kinds.indexOf("attemptStarted"));
  expect(kinds.slice(0, kinds.indexOf("attemptStarted")).filter((kind) => kind === "workerSpawned")).toHaveLength(1);
});
