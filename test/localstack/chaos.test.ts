/**
 * Like `cairn chaos`, but it kills the processes of the functions: trips are booked while a SIGKILL hits one of
 * them again and again, whatever it does then. Every trip is booked once and has the same result as without kills.
 */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { travel } from "../../agents/travel/agent.ts";
import { bookingsIn } from "../../agents/travel/services.ts";
import { seededRandom } from "../../src/adapters/memory/clock.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { hasEnded } from "../../src/protocol/row.ts";
import { LIMITS } from "../support/gate/limits.ts";
import { ended, laneOf, rowOf, started, until } from "./lane.ts";
import { requireEvent } from "../support/gate/safety.ts";
import { seedFor } from "../support/gate/draws.ts";

const lane = laneOf("lane");
const TRIPS = 6;
const KILLS_MAX = 12;
/** One process dies for so many claims of the runs together. */
const CLAIMS_PER_KILL = 2;
const SOLD = ["airline", "hotel", "card", "mail"] as const;

const trip = (traveller: string) => ({ from: "Hamburg", to: "Lisbon", date: "2027-03-14", nights: 3, traveller });
const start = (traveller: string) => started(lane, { agent: travel as Agent, input: trip(traveller) });

/** The processes that run beats for the test deployment. */
const beatProcesses = (): readonly number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => environOf(pid).includes(`AWS_LAMBDA_FUNCTION_NAME=${lane.stack.table}-beat`))
    .map(Number);

/** Empty if the process is gone or belongs to another user. */
function environOf(pid: string): readonly string[] {
  try {
    return readFileSync(join("/proc", pid, "environ"), "utf8").split("\0");
  } catch {
    return [];
  }
}

/** Sends the signal, and says whether the process was there. */
function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** Kills one of them, if there is any, and says whether there was. */
function killOne(draw: () => number): boolean {
  const pids = beatProcesses();
  const pid = pids[draw() % Math.max(1, pids.length)];
  return pid !== undefined && signal(pid, "SIGKILL");
}

/**
 * Stops all of them and looks which runs they hold. If they hold any, all are killed, so each of these runs is taken over;
 * if not, all go on. So at least this kill meets a beat at work, whatever the others meet.
 */
async function killHolders(runs: readonly string[]): Promise<readonly string[]> {
  const pids = beatProcesses().filter((pid) => signal(pid, "SIGSTOP"));
  const held: string[] = [];
  for (const run of runs) if ((await rowOf(lane, run)).owner !== null) held.push(run);
  for (const pid of pids) signal(pid, held.length > 0 ? "SIGKILL" : "SIGCONT");
  return held;
}

test("trips survive random kills of their functions' processes, and each is booked once", async () => {
  const calm = await ended(lane, (await start("An undisturbed traveller")).run);
  const travellers = Array.from({ length: TRIPS }, (_, index) => `Victim ${index}`);
  const rows = await Promise.all(travellers.map(start));
  const random = seededRandom(seedFor("chaos"));
  const draw = (): number => Number.parseInt(random.hex().slice(0, 8), 16);
  const runsOf = rows.map(({ run }) => run);
  const held = await until(async () => {
    const found = await killHolders(runsOf);
    if (found.length === 0) throw new Error("no process holds a run yet");
    return found;
  });
  let [kills, claimsAtKill] = [1, 0];
  await until(async () => {
    const now = await Promise.all(rows.map(({ run }) => rowOf(lane, run)));
    const claims = now.reduce((sum, { epoch }) => sum + epoch, 0);
    if (kills < KILLS_MAX && claims >= claimsAtKill + CLAIMS_PER_KILL && killOne(draw)) {
      kills += 1;
      claimsAtKill = claims;
    }
    expect(now.filter((row) => !hasEnded(row))).toEqual([]);
  }, LIMITS.sceneMs);
  const runs = await Promise.all(rows.map(({ run }) => ended(lane, run)));
  expect(runs.map(({ status }) => status)).toEqual(travellers.map(() => "completed"));
  const cost = ({ result }: (typeof runs)[number]) => (result as { readonly totalUsd: number }).totalUsd;
  expect(runs.map(cost)).toEqual(travellers.map(() => cost(calm)));
  const takenOver = await Promise.all(held.map(async (run) => (await rowOf(lane, run)).takeovers > 0));
  // A write that was under way when its process was stopped may have given a run back.
  requireEvent("the first kill met a beat at work", takenOver.includes(true));
  requireEvent("three kills met a process", kills > 2);
  for (const service of SOLD) {
    const booked = bookingsIn(inject("stacks").services, service).map(({ traveller }) => traveller);
    for (const traveller of travellers) {
      expect({ service, traveller, booked: booked.filter((each) => each === traveller).length }).toEqual({
        service,
        traveller,
        booked: 1,
      });
    }
  }
});
