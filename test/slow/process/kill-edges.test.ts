/**
 * Real processes, killed with SIGKILL from outside at every edge of the protocol: before and after the claim, commit A,
 * the tool's effect, the snapshot's PUT and commit B of every beat of travel. Whatever the edge, the run ends with the
 * same result, every effect happened once, and at most one beat was done again.
 */
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { expect, test } from "vitest";
import { travel } from "../../../agents/travel/agent.ts";
import { countsOf, questionsOf } from "../../../agents/travel/services.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import type { FaultPoint } from "../../../src/ports/fault-point.ts";
import { agentWithFaultPoints, worldWithFaultPoints } from "../../../src/testing/fault-points.ts";
import { ledger, show } from "../../../src/operations/views.ts";
import { startRun } from "../../../src/operations/start.ts";
import { STRIDE, sampled } from "../../support/gate/stride.ts";
import { LIMITS } from "../../support/gate/limits.ts";
import { assertSafety, requireEvent, waitForCount, waitUntil } from "../../support/gate/safety.ts";
import { beginRun, createLocalHarness, drive, runnerOf } from "../../support/harness/drive.ts";
import {
  type ProcessHarness,
  killIfThere,
  killPausedProcesses,
  pausedProcesses,
  startSupervisorProcess,
  createProcessHarness,
} from "../../support/processes/supervisor-process.ts";

const inputOf = (traveller: string) => ({ from: "Hamburg", to: "Lisbon", date: "2027-03-14", nights: 3, traveller });
const agent = travel as Agent;

/** Every edge that an uninterrupted run passes, and what it results in. */
async function uninterrupted(
  traveller: string,
): Promise<{ readonly edges: readonly FaultPoint[]; readonly result: unknown }> {
  const { dir, world } = createLocalHarness();
  process.env["TRAVEL_SERVICES"] = join(dir, "services");
  process.env["TRAVEL_PACE"] = "0";
  const edges: FaultPoint[] = [];
  const note = async (edge: FaultPoint): Promise<void> => void edges.push(edge);
  const payload = await beginRun(world, agent, inputOf(traveller));
  const runner = runnerOf(worldWithFaultPoints(world, note), agentWithFaultPoints(agent, note));
  expect(await drive(runner, payload)).toMatchObject({ route: "done" });
  return { edges, result: (await show(world, payload.run))?.result };
}

/** Nothing here waits for a lease, and on a loaded machine a short beat would die by itself and shift every epoch. */
const CALM = { CAIRN_BEAT_SECONDS: String(LIMITS.longBeatMs / 1_000) };

async function openRuns({ world }: ProcessHarness): Promise<number> {
  return (await world.table.alive({ limit: 1_000, after: null, now: Date.now() })).rows.length;
}

const start = async ({ world }: ProcessHarness, traveller: string): Promise<string> => {
  const started = await startRun(world, { agent, input: inputOf(traveller), tenant: "local", idempotencyKey: null });
  if (started.kind !== "started") throw new Error(started.kind);
  return started.row.run;
};

/** How often the other sides were asked for each key, and that each key has one booking. */
function requestsByKey({ dir }: ProcessHarness): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const service of ["airline", "hotel", "card", "mail"]) {
    const db = new DatabaseSync(join(dir, "services", `${service}.sqlite`), { readOnly: true });
    const rows = db.prepare("SELECT key, requests FROM bookings").all() as { key: string; requests: number }[];
    for (const { key, requests } of rows) found.set(key, requests);
    db.close();
  }
  return found;
}

test(
  "a kill at each fault point gives the same result, one effect per key, and at most one more beat",
  { timeout: 2 * LIMITS.sceneMs },
  async () => {
    const { edges: all } = await uninterrupted("Ada");
    const kinds = Map.groupBy(all, ({ when, name }) => `${when} ${name}`);
    expect(kinds.size).toBe(10);
    expect(all.length).toBeGreaterThanOrEqual(60);
    const edges = [...kinds.values()].flatMap((kind) => kind.filter((_, index) => index % STRIDE === 0));

    const harness = createProcessHarness(CALM);
    const edgeOf = new Map<string, FaultPoint>();
    const travellerOf = new Map<string, string>();
    for (const [index, edge] of edges.entries()) {
      const run = await start(harness, `Ada ${index}`);
      edgeOf.set(run, edge);
      travellerOf.set(run, `Ada ${index}`);
    }
    const holds = [...edgeOf].map(([run, { when, name, at }]) => `${run}=${when}:${name}:${at}`);
    startSupervisorProcess(harness, {
      env: { CAIRN_HOLD: holds.join(","), TRAVEL_SERVICES: join(harness.dir, "services") },
      workers: 3,
    });

    const killed = new Set<string>();
    const killAndCount = async (): Promise<number> => {
      killPausedProcesses(harness.dir, killed);
      return openRuns(harness);
    };
    await waitUntil(async () => expect(await killAndCount()).toBe(0), LIMITS.sceneMs);
    expect(killed.size).toBe(edges.length);

    const requests = requestsByKey(harness);
    for (const [run, edge] of edgeOf) {
      const where = `killed ${edge.when} ${edge.name} ${edge.at}`;
      const shown = await show(harness.world, run);
      expect(shown?.result, where).toEqual((await uninterrupted(travellerOf.get(run) ?? "")).result);
      expect(shown?.takeovers, where).toBeLessThanOrEqual(1);
      const calls = (await ledger(harness.world, run)) ?? [];
      expect(
        calls.map(({ tool, status }) => `${tool} ${status}`),
        where,
      ).toEqual(Object.keys(agent.tools).map((tool) => `${tool} succeeded`));
      const asked = calls.filter(({ effect }) => effect === "keyed").map(({ key }) => requests.get(key ?? "") ?? 0);
      expect(asked, where).toHaveLength(4);
      expect(Math.min(...asked), where).toBe(1);
      expect(
        asked.reduce((sum, each) => sum + each),
        where,
      ).toBeLessThanOrEqual(5);
    }
    assertSafety("each trip is booked once", () =>
      expect(countsOf(join(harness.dir, "services")).airline.bookings).toBe(edges.length),
    );
    const questions = questionsOf(join(harness.dir, "services"));
    const steps = Object.keys(agent.tools).length + 1;
    expect(questions).toHaveLength(edges.length);
    // Each run asks for at most one reply twice.
    expect(questions.filter(({ times }) => times < steps || times > steps + 1)).toEqual([]);
  },
);

const KILLS = sampled(3, 8);
/** How many runs there are at least until the last kill. */
const RUNS = 3;

test(
  "repeated kills at any moment, of one process or another, book each trip once",
  { timeout: 2 * LIMITS.sceneMs },
  async () => {
    const { result } = await uninterrupted("Ada");
    const harness = createProcessHarness({
      ...CALM,
      TRAVEL_PACE: "0.1",
      CAIRN_LIMITS: JSON.stringify({ rescueMs: 50 }),
    });
    const held = await start(harness, "Ada");
    const runs: string[] = [held];
    const { events } = startSupervisorProcess(harness, {
      env: { CAIRN_HOLD: `${held}=after:claim:0`, TRAVEL_SERVICES: join(harness.dir, "services") },
      workers: 2,
    });
    // The first kill meets a beat at work, whatever the others meet: its process pauses after the claim.
    const first = await waitUntil(() => {
      const paused = pausedProcesses(harness.dir).get(held);
      if (paused === undefined) throw new Error("no process pauses yet");
      return paused;
    });
    const pids = new Set([first]);
    let kills = 0;
    let planned = 1;
    const kill = (pid: number): void => {
      if (killIfThere(pid)) kills += 1;
      else planned -= 1;
    };
    kill(first);
    /** There are open runs until the last kill, however long the kills take. */
    const isOver = async (): Promise<boolean> => {
      const open = await openRuns(harness);
      if (kills === KILLS) return open === 0;
      for (let more = open; more < RUNS; more += 1) runs.push(await start(harness, "Ada"));
      const busy = events.flatMap(({ kind, pid }) => (kind === "attemptStarted" && pid !== undefined ? [pid] : []));
      const next = busy.find((pid) => !pids.has(pid));
      if (next === undefined || planned === KILLS) return false;
      pids.add(next);
      planned += 1;
      // The moment depends on the pid and on the machine; which moment it is does not matter.
      setTimeout(() => kill(next), (next * 37) % 100);
      return false;
    };
    await waitUntil(async () => expect(await isOver()).toBe(true), LIMITS.sceneMs);
    const ofKind = (kind: string) => events.filter((event) => event.kind === kind);
    const byKill = () => ofKind("workerGone").filter(({ how }) => how === "SIGKILL").length;
    await waitForCount("the end of a worker by SIGKILL", KILLS, byKill);
    requireEvent("a kill met a beat at work", ofKind("attemptFailed").length > 0);
    for (const run of runs) expect((await show(harness.world, run))?.result).toEqual(result);
    const { airline, hotel, card } = countsOf(join(harness.dir, "services"));
    assertSafety("each trip is booked once", () =>
      expect({ airline: airline.bookings, hotel: hotel.bookings, card: card.bookings }).toEqual({
        airline: runs.length,
        hotel: runs.length,
        card: runs.length,
      }),
    );
  },
);
