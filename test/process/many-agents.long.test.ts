/** More agents than workers, and a supervisor that was stopped for longer than a beat, as real processes. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { openStore } from "../../src/adapters/local/store/database.ts";
import { withKernel } from "../../src/features/compose.ts";
import { localWorld } from "../../src/adapters/local/world.ts";
import { startRun } from "../../src/operations/start.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { LIMITS } from "../support/gate/limits.ts";
import { scriptedAgent } from "../support/harness/harness.ts";
import { createCliFolder, parseJsonLines, spawnCairn } from "../support/processes/cli-process.ts";
import {
  createSupervisorHarness,
  eventsOf,
  startSupervisorProcess,
  stopBetweenWrites,
  waitUntil,
} from "./fixtures/supervisor-harness.ts";

const AGENTS = 12;
const RUNS_PER_AGENT = 3;
const WORKERS = 4;

/** Twelve agents, each of whose runs makes three calls. */
const CROWD = `
import { defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";

const crowd = (name) => defineAgent({
  name,
  version: "1",
  model: scriptedModel({ name: "crowd", reply: ({ calls }) => calls.length < 3 ? { calls: [{ tool: "note", args: { n: calls.length } }] } : { text: "done" } }),
  instructions: "Note three things.",
  task: z.object({ n: z.int() }),
  tools: { note: tool({ effect: "none", input: z.object({ n: z.int() }), run: ({ input }) => input.n }) },
});
${Array.from({ length: AGENTS }, (_, index) => `export const agent${index} = crowd("agent-${index}");`).join("\n")}
`;

/** Starts three runs of each agent, as `cairn start` does, without a process for each. */
async function startRuns(dir: string): Promise<void> {
  const store = openStore({ dir, create: true });
  const world = withKernel(localWorld({ store, limits: limitsFor(60_000), telemetry: { record: () => {} } }));
  for (let agent = 0; agent < AGENTS; agent += 1) {
    const crowd = { ...scriptedAgent({}), name: `agent-${agent}`, task: z.object({ n: z.int() }) };
    for (let n = 0; n < RUNS_PER_AGENT; n += 1) {
      const started = await startRun(world, { agent: crowd, input: { n }, tenant: "local", idempotencyKey: null });
      expect(started.kind).toBe("started");
    }
  }
  store.close();
}

it("completes 36 runs of twelve agents with four workers, and ends no worker before it served", async () => {
  const at = createCliFolder();
  writeFileSync(join(at.dir, "clerk.ts"), CROWD);
  await startRuns(at.store);
  const supervisor = spawnCairn(at, ["work", "--json", "--workers", String(WORKERS)]);
  const events = () => parseJsonLines(supervisor.out().slice(0, supervisor.out().lastIndexOf("\n")));
  const isOver = (): boolean => supervisor.child.exitCode !== null;
  const ended = (): number => new Set(events().flatMap((each) => (each["state"] === "End" ? [each["run"]] : []))).size;
  await expect.poll(() => isOver() || ended() === AGENTS * RUNS_PER_AGENT, { timeout: LIMITS.sceneMs }).toBe(true);
  expect(supervisor.err()).not.toContain("WorkersUnbootable");
  expect(ended()).toBe(AGENTS * RUNS_PER_AGENT);
  const spawned = events().filter(({ kind }) => kind === "workerSpawned").length;
  const attempts = events().filter(({ kind }) => kind === "attemptStarted").length;
  expect(spawned).toBeLessThanOrEqual(attempts);
  console.log(`${spawned} processes for ${AGENTS * RUNS_PER_AGENT} runs of ${AGENTS} agents`);
});

it("takes over no run when the supervisor goes on after it was stopped for three beats", async () => {
  const beatMs = Math.ceil(LIMITS.shortBeatMs / 3);
  const of = createSupervisorHarness();
  for (const run of ["runsOn-a", "runsOn-b"]) await of.start(run);
  const supervisor = await startSupervisorProcess(of, { beatMs, mode: "goesOn" });
  const beats = (): number => of.noted("runsOn-a").length + of.noted("runsOn-b").length;
  await waitUntil("both runs go on by themselves", () => eventsOf(of.events, "attemptAnswered").length > 4);
  await stopBetweenWrites(of.store, supervisor);
  const [stopped, before] = [performance.now(), beats()];
  // The workers say at each beat that they go on, and the messages wait in the pipe.
  await waitUntil("three beats are over", () => performance.now() - stopped > 3 * beatMs && beats() > before + 4);
  supervisor.kill("SIGCONT");
  const atOnce = beats();
  await waitUntil("the runs still go on", () => beats() > atOnce + 20);
  expect(eventsOf(of.events, "workerGone")).toEqual([]);
  expect(eventsOf(of.events, "attemptFailed")).toEqual([]);
  of.go();
  for (const run of ["runsOn-a", "runsOn-b"]) await of.ended(run);
  expect(new Set(of.log().flatMap(({ retry }) => (retry === undefined ? [] : [retry])))).toEqual(new Set([0]));
});
